//! The reference receiver: takes commands over HTTP, does one job a key, and answers repeats.
//!
//! Guarantees: key, job, call and outcome of a request commit together and durably before it is
//! answered; a client that is slow, garbled or greedy gets its status and holds up nobody else.
//! Does not: terminate TLS, nor do anything but write jobs down: it is there to be tested against,
//! to drill with, and to be read.
//!
//! | request | answer |
//! |---|---|
//! | POST, any path, new key | 200, result `{"job":n}`, `Counterfoil-Outcome: completed` |
//! | the same again | 200 with the stored result, or the stored refusal, `…: rejected` |
//! | the same key, other body | 422, `…: conflict` |
//! | a key that a twin holds | 409 with `Retry-After` |
//! | a key that stands without an outcome | 409 with `Retry-After`, `…: unknown` |
//! | GET `/commands/{key}` | as a repeat; 404 with `"error":"no_such_key"` |
//! | GET `/livez` | 200 |
//!
//! With [`Options::report_to`] a command that names a receipt URL below that prefix is answered
//! 202, `…: accepted`, and its receipt posted there; a repeat is answered so too, and its stored
//! receipt posted again. With [`Keys::Ignore`] it behaves like a service without keys.
//!
//! Every refusal is a problem of RFC 9457 with a stable code. In the receiver's database, `jobs`
//! holds the effects and `calls` one row for each request that was taken on, beside
//! `counterfoil_inbox`.

mod caller;
mod connection;
mod judge;
mod options;
mod receipt;
mod reporter;
mod reporting;
mod request;
mod writer;

use std::future::Future;
use std::sync::Arc;
use std::thread::JoinHandle;

use counterfoil_core::port::Book;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

pub use caller::{Callers, UNNAMED};
pub use options::{Faults, Hold, Keys, Options};
pub use reporting::{Reporting, ReportingRefused};

use request::Desk;
use writer::Writer;

/// Requests that wait for the writer.
const QUEUE_MAX: usize = 1024;

/// A reference receiver that is ready to serve.
pub struct Receiver {
    desk: Arc<Desk>,
    writer: JoinHandle<()>,
}

/// Why a receiver cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiverError {
    /// The operating system gives no thread.
    #[error("the receiver's writer thread cannot be started: {0}")]
    NoThread(std::io::Error),
    /// The listener has no address.
    #[error("the receiver's listener failed: {0}")]
    Listener(std::io::Error),
    /// It knows several senders, and may report for all of them.
    #[error(
        "this receiver knows several senders, and one could have it report commands of another: \
         say with Reporting::only_of whose commands are reported"
    )]
    ReportsOfSeveral,
    /// The writer ended before the receiver was stopped.
    #[error("the receiver's writer thread failed: see its message before this one")]
    WriterFailed,
}

impl Receiver {
    /// A receiver that writes this book, from a thread of its own.
    ///
    /// # Errors
    /// [`ReceiverError::NoThread`], [`ReceiverError::ReportsOfSeveral`].
    pub fn open<B: Book>(book: B, options: Options) -> Result<Self, ReceiverError> {
        let is_open = |reporting: &Reporting| !reporting.names_source();
        if options.callers.are_several() && options.report_to.as_ref().is_some_and(is_open) {
            return Err(ReceiverError::ReportsOfSeveral);
        }
        let (sender, asked) = mpsc::channel(QUEUE_MAX);
        let writer = Writer::new(book, asked, &options);
        let thread = std::thread::Builder::new().name("receiver-writer".into());
        let writer = thread.spawn(|| writer.run()).map_err(ReceiverError::NoThread)?;
        Ok(Self { desk: Arc::new(Desk::new(options, sender)), writer })
    }

    /// Serves until `stop`, then takes no more, answers what is there within `drain`, and returns
    /// when the book is closed.
    ///
    /// Dropping the future closes every connection; what is committed stays committed.
    ///
    /// # Errors
    /// [`ReceiverError::Listener`], [`ReceiverError::WriterFailed`].
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), ReceiverError> {
        let address = listener.local_addr().map_err(ReceiverError::Listener)?;
        tracing::info!(%address, "receiver listens");
        // Dropped with this future, it posts no further.
        let mut posting = JoinSet::new();
        if let Some(receipts) = self.desk.posting() {
            posting.spawn(receipts.run());
        }
        tokio::select! {
            () = connection::accept(&self.desk, listener, stop) => {}
            () = self.desk.purge_often() => {}
        }
        let Self { desk, writer } = self;
        let drain = desk.options().drain;
        // The last sender goes with it, which ends the writer and, when all is posted, the posts.
        drop(desk);
        if timeout(drain, posting.join_next()).await.is_err() {
            tracing::warn!("receipts were left at the end of the drain: repeats bring them back");
        }
        let joined = tokio::task::spawn_blocking(|| writer.join()).await;
        match joined {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(ReceiverError::WriterFailed),
        }
    }
}
