//! What a request is to the reference receiver, and what it is answered.
//!
//! Guarantees: whatever comes in is answered with a status of the contract's table and a reason;
//! a body is taken byte for byte; the bodies held in memory at once are bounded. Does not: route:
//! a POST to any path delivers, as a destination's URL says.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{ALLOW, CONNECTION, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use counterfoil_core::domain::{CommandId, Digest};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Body as _;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::timeout;

use super::options::Options;
use super::reporter::{Place, Posting, Reporter};
use super::writer::{Asked, Delivered, Failed, Question, Told};
use crate::http::{IdempotencyKey, Problem, decode};
use crate::source::Source;

/// Bodies held in memory at once, over all connections, in KiB.
const BODIES_KIB: usize = 256 * 1024;
/// What a request costs beside its body, in KiB.
const REQUEST_KIB: usize = 4;
/// The least time between two removals of expired keys.
const PURGE_EVERY_MIN: Duration = Duration::from_millis(1);
/// Where keys can be asked about.
const COMMANDS: &str = "/commands/";

/// What all connections share.
pub(super) struct Desk {
    options: Options,
    writer: mpsc::Sender<Asked>,
    room: Arc<Semaphore>,
    reporter: Option<Reporter>,
}

impl Desk {
    pub(super) fn new(options: Options, writer: mpsc::Sender<Asked>) -> Self {
        let reporter = Reporter::new(&options);
        Self { options, writer, room: Arc::new(Semaphore::new(BODIES_KIB)), reporter }
    }

    pub(super) const fn options(&self) -> &Options {
        &self.options
    }

    /// Returns when the writer has ended.
    pub(super) async fn writer_ended(&self) {
        self.writer.closed().await;
    }

    /// The half of the reporter that posts; once, and `None` if there is none.
    pub(super) fn posting(&self) -> Option<Posting> {
        self.reporter.as_ref().and_then(Reporter::posting)
    }

    /// Has the writer remove expired keys now and then; never returns.
    pub(super) async fn purge_often(&self) {
        let every = self.options.purge_every.max(PURGE_EVERY_MIN);
        loop {
            tokio::time::sleep(every).await;
            // A writer that has no room for it has more urgent work.
            let _ = self.writer.try_send(Asked::Purge);
        }
    }

    /// Answers a request.
    pub(super) async fn answer(&self, request: Request<Body>) -> Response {
        let answered = match *request.method() {
            Method::POST => self.deliver(request).await,
            Method::GET if request.uri().path() == "/livez" => Ok("ok\n".into_response()),
            Method::GET if self.options.is_askable => {
                self.look(request.uri().path(), request.headers()).await
            }
            Method::GET => Err(not_found()),
            _ => Err(not_allowed()),
        };
        answered.unwrap_or_else(IntoResponse::into_response)
    }

    async fn deliver(&self, request: Request<Body>) -> Result<Response, Problem> {
        let (parts, body) = request.into_parts();
        let source = self.options.callers.source(&parts.headers)?;
        let IdempotencyKey(key) = IdempotencyKey::of(&parts.headers)?;
        let max = self.options.body_bytes_max;
        let len = body.size_hint().exact().map_or(max, |len| usize::try_from(len).unwrap_or(max));
        if body.size_hint().lower() > max as u64 {
            return Err(too_long(max));
        }
        // The room is held until the answer is there.
        let kib = u32::try_from(len / 1024 + REQUEST_KIB).unwrap_or(u32::MAX);
        let room = timeout(self.options.read_timeout, self.room.acquire_many(kib)).await;
        let _room = room.ok().and_then(Result::ok).ok_or_else(overloaded)?;
        let body = read(body, max, self.options.read_timeout).await?;
        let place = self.place(&parts.headers, &source, &key).await?;
        let delivered = delivered(&parts, source, key.clone(), body);
        let told = self.ask(Question::Take(delivered)).await?;
        self.hold(&told, &key).await;
        let reply = told.reply.ok_or_else(no_such_key)?;
        let reply = match place {
            Some(place) => place.settle(reply),
            None => reply,
        };
        Ok(reply.into_response())
    }

    /// A place for the receipt, where the sender wants one that may be sent.
    async fn place(
        &self,
        headers: &HeaderMap,
        source: &Source,
        key: &CommandId,
    ) -> Result<Option<Place<'_>>, Problem> {
        let Some(reporter) = &self.reporter else { return Ok(None) };
        let Some(to) = reporter.reporting().wanted(source, headers) else { return Ok(None) };
        // The key may have a form of its own; `ce-id` is always the command's id.
        let id = text(headers, "ce-id").and_then(|id| decode(id.as_bytes()).ok());
        let id = id.and_then(|id| CommandId::from_bytes(&id).ok());
        let id = id.unwrap_or_else(|| key.clone());
        let place = reporter.place(to, id, self.options.read_timeout).await;
        // 429 says that nothing was done, which is so before the writer has got it.
        place.map(Some).ok_or_else(overloaded)
    }

    async fn look(&self, path: &str, headers: &HeaderMap) -> Result<Response, Problem> {
        let Some(key) = path.strip_prefix(COMMANDS).filter(|key| !key.contains('/')) else {
            return Err(not_found());
        };
        let source = self.options.callers.source(headers)?;
        let key = decode(key.as_bytes()).ok().and_then(|key| CommandId::from_bytes(&key).ok());
        let told = self.ask(Question::Look(source, key.ok_or_else(malformed_path)?)).await?;
        told.reply.map(IntoResponse::into_response).ok_or_else(no_such_key)
    }

    async fn ask(&self, question: Question) -> Result<Told, Problem> {
        let (answer, answered) = oneshot::channel();
        // 429 says that nothing was done, as long as the writer has not got it.
        let asked = Asked::Request(question, answer);
        let sent = self.writer.send_timeout(asked, self.options.read_timeout).await;
        sent.map_err(|_| overloaded())?;
        match answered.await {
            Ok(Ok(told)) => Ok(told),
            Ok(Err(Failed::NothingDone(why))) => Err(failed("it took nothing on", &why)),
            Ok(Err(Failed::NotKnown(why))) => {
                Err(failed("it is not known whether its commit took effect", &why))
            }
            Err(_) => Err(failed("it is not known what it did", "its writer has ended")),
        }
    }

    async fn hold(&self, told: &Told, key: &CommandId) {
        if let (Some(effect), Some(hold)) = (told.effect, &self.options.faults.hold)
            && hold.effects.contains(&effect)
        {
            (hold.announce)(key.as_str());
            tokio::time::sleep(hold.lasts).await;
        }
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn delivered(parts: &Parts, source: Source, key: CommandId, body: Vec<u8>) -> Delivered {
    let text = |name| text(&parts.headers, name);
    let number = |name| text(name).and_then(|value| value.parse().ok());
    let kind = text("ce-type").and_then(|kind| decode(kind.as_bytes()).ok());
    Delivered {
        source,
        key,
        kind: kind.and_then(|kind| String::from_utf8(kind).ok()),
        attempt: number("counterfoil-attempt"),
        token: number("counterfoil-token"),
        digest: Digest::of(&body),
        body,
    }
}

async fn read(body: Body, max: usize, within: Duration) -> Result<Vec<u8>, Problem> {
    match timeout(within, Limited::new(body, max).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes().to_vec()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long(max)),
        Ok(Err(error)) => {
            let detail = format!("the body broke off or is no HTTP: {error}; send it again whole");
            Err(Problem::new(StatusCode::BAD_REQUEST, "CF0716", "the body broke off", detail))
        }
        Err(_) => {
            let detail = format!("the body did not come within {} s", within.as_secs());
            let title = "the body came too slowly";
            let status = StatusCode::REQUEST_TIMEOUT;
            Err(Problem::new(status, "CF0712", title, detail).header(CONNECTION, "close"))
        }
    }
}

fn too_long(max: usize) -> Problem {
    let detail =
        format!("at most {max} bytes are taken: store the content elsewhere and send a reference");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "CF0705", "the body is too long", detail)
}

fn overloaded() -> Problem {
    let detail = "more requests are waiting than this receiver can hold; nothing was done: send \
                  the same request again later";
    let title = "too many requests";
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "CF0711", title, detail).header(RETRY_AFTER, "1")
}

fn failed(what: &str, why: &str) -> Problem {
    let detail = format!("the receiver's database failed and {what} ({why}): send the same again");
    let title = "the receiver's database failed";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "CF0715", title, detail).header(RETRY_AFTER, "1")
}

fn no_such_key() -> Problem {
    let detail = "this receiver holds no such key of this source";
    let title = "no such key";
    Problem::new(StatusCode::NOT_FOUND, "CF0713", title, detail).error("no_such_key")
}

fn malformed_path() -> Problem {
    let detail = "the path is /commands/ and the key, its UTF-8 percent-encoded";
    Problem::new(StatusCode::BAD_REQUEST, "CF0704", "the key in the path is malformed", detail)
}

fn not_found() -> Problem {
    let detail = "POST a command to any path, or GET /commands/{key}, or GET /livez";
    Problem::new(StatusCode::NOT_FOUND, "CF0714", "nothing is here", detail)
}

fn not_allowed() -> Problem {
    let detail = "this receiver knows POST and GET";
    let title = "method not allowed";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "CF0714", title, detail).header(ALLOW, "GET, POST")
}
