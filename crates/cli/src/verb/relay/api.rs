//! The HTTP API beside a relay: one process, a listener of its own.
//!
//! Guarantees: it listens before the relay begins, and ends when the relay has; a port that is
//! taken ends the verb before anything is sent. Does not: outlive the relay.

use std::io::Write;
use std::net::SocketAddr;

use counterfoil_console::{Api, ApiError, ApiOptions};
use counterfoil_core::domain::Span;
use counterfoil_sqlite::SqliteStore;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::config::ApiSettings;
use crate::exit::Failure;

/// An API that is being served.
pub(super) struct Serving {
    task: JoinHandle<Result<(), ApiError>>,
    end: oneshot::Sender<()>,
}

/// Binds the address, says so on stderr, and serves from now on.
///
/// # Errors
/// The address cannot be listened at, or the API refuses its options.
pub(super) async fn start(
    store: &SqliteStore,
    settings: ApiSettings,
    served: Vec<String>,
    drain: Span,
) -> Result<Serving, Failure> {
    let mut options = ApiOptions::default();
    options.tokens = settings.tokens;
    options.served = Some(served);
    options.drain = drain.to_std();
    let api = Api::new(store.clone(), options).map_err(Failure::could_not_run)?;
    let refused = |error| no_address(settings.listen, &error);
    let listener = TcpListener::bind(settings.listen).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let (end, ended) = oneshot::channel();
    let task = tokio::spawn(api.serve(listener, async move {
        // A sender that was dropped ends it too.
        let _ = ended.await;
    }));
    // Whoever started it reads this, whatever the log level.
    let _ = writeln!(std::io::stderr(), "listening on http://{address}");
    Ok(Serving { task, end })
}

impl Serving {
    /// Answers what is there, and ends.
    ///
    /// # Errors
    /// It had ended by itself, and why.
    pub(super) async fn end(self) -> Result<(), Failure> {
        drop(self.end);
        match self.task.await {
            Ok(served) => served.map_err(Failure::could_not_run),
            Err(error) => Err(Failure::could_not_run(format!("the API failed: {error}"))),
        }
    }
}

fn no_address(listen: SocketAddr, error: &std::io::Error) -> Failure {
    let failure = Failure::could_not_run(format!("[api] cannot listen at {listen}: {error}"));
    failure.help(match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "another program has this port, perhaps another relay: stop it, or give [api] listen \
             another one (0: any); only one relay of a machine needs [api]"
        }
        std::io::ErrorKind::PermissionDenied => {
            "ports below 1024 need rights: give [api] listen a higher one"
        }
        _ => "give [api] listen ADDRESS:PORT of this machine, such as 127.0.0.1:7070",
    })
}
