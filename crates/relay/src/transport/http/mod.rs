//! The HTTP transport: one request, one answer, one outcome.
//!
//! Guarantees: one `send` is one request on the wire at most; a failure before the gate is
//! NotSent, a failure after it Unknown, except where the whole request came back unwritten: only
//! then another, new connection is tried, and that is still the first send. Redirects are never
//! followed, the body is the stored one with its `Content-Length`, and everything ends within
//! `request_timeout`. Does not: speak HTTP/2, so the rows of the answer table about
//! REFUSED_STREAM and GOAWAY do not occur.
//!
//! The files: `options` is what an operator gives, checked by `habits`, `url` and `ask_url`;
//! `headers`, with `key`, `cloud_events` and `signature`, writes a request; `line` carries it, with
//! `pool` and `connection`, over `proxy` and `trust`; `body`, `retry_after`, `word`, `table` and
//! `judging` read what comes back, for `answer` (to a send) and `asking` (to a question).

mod answer;
mod ask_url;
mod asking;
mod body;
mod cloud_events;
mod connection;
mod excerpt;
mod habits;
mod headers;
mod judging;
mod key;
mod line;
mod options;
mod pool;
mod proxy;
mod refused;
mod retry_after;
mod signature;
mod table;
mod trust;
mod turns;
mod url;
mod word;

use std::sync::Arc;

use bytes::Bytes;
use counterfoil_core::domain::{Answer, OutboxRow, Outcome, Span};
use counterfoil_core::port::{Attempt, BoxFuture, Question, Transport};
use http_body_util::Full;
use hyper::{Method, Request, Uri};

use self::answer::Reading;
use self::asking::Asker;
use self::connection::Sent;
use self::headers::Headers;
use self::line::{Failed, Line};
pub use self::options::{
    AskOptions, HttpOptions, Proxy, RESULT_BYTES_LIMIT, RESULT_BYTES_MAX, TlsOptions,
};
use self::proxy::Route;
pub use self::refused::HttpRefused;
use self::url::Url;

/// Sends commands to one destination over HTTP/1.1.
pub struct HttpTransport {
    method: Method,
    target: Uri,
    headers: Headers,
    line: Line,
    asker: Option<Asker>,
    reading: Reading,
    request_timeout: Span,
}

impl HttpTransport {
    /// A transport with these options. Connects to nothing yet; reads certificate files and, with
    /// [`Proxy::Env`], the environment.
    ///
    /// # Errors
    /// [`HttpRefused`] names the option, the rule and the way out.
    pub fn new(options: HttpOptions) -> Result<Self, HttpRefused> {
        options::check(&options)?;
        habits::check(&options)?;
        let url = Url::new("url", &options.url)?;
        let route = Route::new(&options.proxy, &url)?;
        let forwarder = route.forwarder();
        let target = url::target(&url.origin, url.path.clone(), forwarder.is_some());
        let asker = match &options.ask {
            Some(ask) => Some(Asker::new(ask, &options)?),
            None => None,
        };
        options::check_tls(&options, url.is_tls || asker.as_ref().is_some_and(Asker::is_tls))?;
        Ok(Self {
            method: options::method(&options.method)?,
            target: target.ok_or_else(|| HttpRefused::Url {
                what: "url",
                url: url::shown(&options.url),
                why: "is no URL that a proxy could be given",
            })?,
            headers: Headers::new(&options, &url, forwarder)?,
            line: Line::new(&url, &route, &options)?,
            asker,
            request_timeout: options.request_timeout,
            reading: Reading {
                habits: options.habits,
                completion: options.completion,
                result_bytes_max: options.result_bytes_max,
            },
        })
    }

    async fn exchange(&self, attempt: &Attempt) -> Outcome {
        let deadline = self.line.deadline();
        let request = match self.request(attempt) {
            Ok(request) => request,
            Err(refused) => return refused,
        };
        let connection = match self.line.connect(deadline).await {
            Ok(connection) => connection,
            Err(reason) => return Outcome::not_sent(reason),
        };
        if let Err(withdrawn) = attempt.gate.begin() {
            self.line.give_back(connection);
            return Outcome::not_sent(withdrawn.to_string());
        }
        let answered = match self.line.send(connection, request, deadline).await {
            Ok(answered) => answered,
            Err(Failed::NotSent(reason)) => return Outcome::not_sent(reason),
            Err(Failed::Unknown(reason)) => return Outcome::unknown(reason),
        };
        let wanted = self.reading.wanted(answered.1.status(), answered.1.headers());
        let (head, body) = self.line.read(answered, wanted, deadline).await;
        self.reading.outcome(head.status, &head.headers, body, attempt.now)
    }

    fn request(&self, attempt: &Attempt) -> Result<Sent, Outcome> {
        let headers = self.headers.of(attempt).map_err(|_| {
            let id = &attempt.command.command_id;
            let why = "has a control character where no header can carry one (content type?)";
            Outcome::not_sent(format!("command {id} {why}"))
        })?;
        let body = Bytes::from_owner(StoredBody(Arc::clone(&attempt.command)));
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.target.clone();
        *request.headers_mut() = headers;
        Ok(request)
    }
}

impl Transport for HttpTransport {
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        Box::pin(self.exchange(attempt))
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(async {
            match &self.asker {
                Some(asker) => asker.ask(question, &self.reading).await,
                None => Answer::Unclear { reason: "the destination has no ask.url".into() },
            }
        })
    }

    fn request_timeout(&self) -> Option<Span> {
        Some(self.request_timeout)
    }
}

impl std::fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpTransport")
            .field("to", &self.line.shown())
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// The body of a command that is shared, not copied, by its request.
struct StoredBody(Arc<OutboxRow>);

impl AsRef<[u8]> for StoredBody {
    fn as_ref(&self) -> &[u8] {
        &self.0.body
    }
}
