//! Posts receipts to the senders of commands, after their requests were answered.
//!
//! Guarantees: the queue, the posts at once, the tries of each and the time of a try are bounded;
//! a request finds its place in the queue before its command is taken on, so that no receipt is
//! lost to a full one. Does not: outlive the process: a receipt that is lost, by a crash or after
//! the last try, comes back with the sender's repeat. Redirects are not followed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Request, StatusCode, Uri};
use counterfoil_core::domain::CommandId;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::options::Options;
use super::receipt::Receipt;
use super::reporting::Reporting;
use crate::http::Reply;

/// Receipts that wait to be posted, and requests whose receipt may be next.
const QUEUE_MAX: usize = 1024;
/// Posts at once.
const POSTS_MAX: usize = 16;
/// Tries of one receipt.
const TRIES: u32 = 5;
/// How long one try may take, from the first byte of the connection to the last of the answer.
const TRY_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after the first try; each further one is three times as long: 8 s together.
const PAUSE: Duration = Duration::from_millis(200);
/// Bytes of an answer that are read, so that its connection can serve again.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Hands receipts to the one who posts them.
pub(super) struct Reporter {
    reporting: Reporting,
    queue: mpsc::Sender<Receipt>,
    to_drop: AtomicU64,
    posting: Mutex<Option<Posting>>,
}

/// A place in the queue, for the receipt of one request.
pub(super) struct Place<'a> {
    permit: mpsc::Permit<'a, Receipt>,
    to_drop: &'a AtomicU64,
    to: Uri,
    command_id: CommandId,
}

impl Reporter {
    /// What the options say; `None` if they say nothing of reports.
    pub(super) fn new(options: &Options) -> Option<Self> {
        let reporting = options.report_to.clone()?;
        let (queue, receipts) = mpsc::channel(QUEUE_MAX);
        let posting = Posting { reporting: reporting.clone(), receipts };
        let to_drop = AtomicU64::new(options.faults.drop_receipts);
        Some(Self { reporting, queue, to_drop, posting: Mutex::new(Some(posting)) })
    }

    /// The half that posts; once.
    pub(super) fn posting(&self) -> Option<Posting> {
        self.posting.lock().ok()?.take()
    }

    pub(super) const fn reporting(&self) -> &Reporting {
        &self.reporting
    }

    /// A place for one receipt; `None` if none came free in time.
    ///
    /// Dropped while it waits, it takes none.
    pub(super) async fn place(
        &self,
        to: Uri,
        command_id: CommandId,
        within: Duration,
    ) -> Option<Place<'_>> {
        let permit = timeout(within, self.queue.reserve()).await.ok()?.ok()?;
        Some(Place { permit, to_drop: &self.to_drop, to, command_id })
    }
}

impl Place<'_> {
    /// Sends the receipt of an outcome and answers that it will come; any other reply stays as it
    /// is.
    pub(super) fn settle(self, reply: Reply) -> Reply {
        let Some(receipt) = Receipt::of(&reply, &self.command_id, &self.to) else { return reply };
        let fewer = |left: u64| left.checked_sub(1);
        if self.to_drop.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_ok() {
            tracing::info!(command = %receipt.command_id, "a receipt is lost on purpose");
        } else {
            self.permit.send(receipt);
        }
        Reply::Accepted
    }
}

type Http = Client<HttpConnector, Full<Bytes>>;

/// Posts what is in the queue.
pub(super) struct Posting {
    reporting: Reporting,
    receipts: mpsc::Receiver<Receipt>,
}

impl Posting {
    /// Posts until nobody reports any more and the queue is empty. Dropped, it posts no further.
    pub(super) async fn run(mut self) {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let mut client = Client::builder(TokioExecutor::new());
        let http: Http = client.pool_timer(TokioTimer::new()).build(connector);
        let mut posts = JoinSet::new();
        loop {
            tokio::select! {
                Some(_) = posts.join_next() => {}
                receipt = self.receipts.recv(), if posts.len() < POSTS_MAX => match receipt {
                    Some(receipt) => {
                        posts.spawn(post(http.clone(), self.reporting.clone(), receipt));
                    }
                    None => break,
                },
            }
        }
        while posts.join_next().await.is_some() {}
    }
}

async fn post(http: Http, reporting: Reporting, receipt: Receipt) {
    let command = &receipt.command_id;
    let mut pause = PAUSE;
    for left in (0..TRIES).rev() {
        let tried = timeout(TRY_TIMEOUT, once(&http, &reporting, &receipt)).await;
        let why = match tried {
            Ok(Ok(status)) if status.is_success() => return,
            Ok(Ok(status)) if is_final(status) => {
                tracing::warn!(%command, %status, "the sender's API refused a receipt");
                return;
            }
            Ok(Ok(status)) => format!("it answered {status}"),
            Ok(Err(why)) => why,
            Err(_) => format!("it gave no answer within {} s", TRY_TIMEOUT.as_secs()),
        };
        tracing::warn!(%command, why, tries_left = left, "a receipt was not taken");
        if left > 0 {
            tokio::time::sleep(pause).await;
            pause *= 3;
        }
    }
}

/// Whether the same again would hear the same: all 4xx but those that say "later".
fn is_final(status: StatusCode) -> bool {
    let later = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];
    !status.is_server_error() && !later.contains(&status)
}

async fn once(http: &Http, reporting: &Reporting, receipt: &Receipt) -> Result<StatusCode, String> {
    let body = Full::new(Bytes::from(receipt.json()));
    let request = Request::post(receipt.to.clone()).body(body);
    let mut request = request.map_err(|error| error.to_string())?;
    let json = HeaderValue::from_static("application/json");
    request.headers_mut().insert(CONTENT_TYPE, json);
    reporting.authorize(request.headers_mut());
    let answered = http.request(request).await.map_err(|error| full(&error))?;
    let status = answered.status();
    // What it says beside the status changes nothing.
    let _ = Limited::new(answered.into_body(), ANSWER_BYTES_MAX).collect().await;
    Ok(status)
}

/// hyper-util's own text is only "client error (Connect)"; the cause says what happened.
fn full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
