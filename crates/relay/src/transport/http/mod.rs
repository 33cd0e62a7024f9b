//! The HTTP transport: one request, one answer, one outcome.
//!
//! Guarantees: one `send` is one request on the wire at most; a failure before the gate is
//! NotSent, a failure after it Unknown, except where the whole request came back unwritten: only
//! then another, new connection is tried, and that is still the first send. Redirects are never
//! followed, the body is the stored one with its `Content-Length`, and everything ends within
//! `request_timeout`. Does not, in this version: speak HTTP/2 (so the rows of the answer table
//! about REFUSED_STREAM and GOAWAY do not occur), ask by key, use a proxy, take certificates of
//! its own, or read an outcome from a body.
//!
//! The files: `options` is what an operator gives, `url` takes the url apart; `headers`, with
//! `key`, `cloud_events` and `signature`, writes a request; `connection` and `pool` carry it;
//! `body`, `retry_after` and `answer` read what comes back.

mod answer;
mod body;
mod cloud_events;
mod connection;
mod headers;
mod key;
mod options;
mod pool;
mod refused;
mod retry_after;
mod signature;
mod url;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use counterfoil_core::domain::{Completion, OutboxRow, Outcome, Span};
use counterfoil_core::port::{Attempt, BoxFuture, Transport};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{Method, Request, Response, Uri};
use tokio::time::{Instant, timeout, timeout_at};

use self::connection::{Connection, Connector, Given, Sent};
use self::headers::Headers;
pub use self::options::{HttpOptions, RESULT_BYTES_LIMIT, RESULT_BYTES_MAX};
use self::pool::Pool;
pub use self::refused::HttpRefused;
use self::url::Url;

/// A process that was frozen past the deadline wakes to its timer first, though the answer may have
/// come in time and lie in the socket. So long it may still be taken.
const LAST_LOOK: Duration = Duration::from_millis(20);

/// Sends commands to one destination over HTTP/1.1.
pub struct HttpTransport {
    method: Method,
    path: Uri,
    headers: Headers,
    pool: Pool,
    fresh_connections: bool,
    request_timeout: Span,
    completion: Completion,
    result_bytes_max: usize,
}

impl HttpTransport {
    /// A transport with these options. Connects to nothing yet.
    ///
    /// # Errors
    /// [`HttpRefused`] names the option, the rule and the way out.
    pub fn new(options: HttpOptions) -> Result<Self, HttpRefused> {
        options::check(&options)?;
        let url = Url::new(&options.url)?;
        let connector = Connector::new(&url, options.request_timeout)?;
        let fresh_connections = options.fresh_connections;
        let idle_max = if fresh_connections { 0 } else { options.idle_connections_max };
        Ok(Self {
            method: options::method(&options.method)?,
            path: url.path,
            pool: Pool::new(connector, idle_max),
            fresh_connections,
            request_timeout: options.request_timeout,
            completion: options.completion,
            result_bytes_max: options.result_bytes_max,
            headers: Headers::new(options, url.host)?,
        })
    }

    async fn exchange(&self, attempt: &Attempt) -> Outcome {
        let deadline = Instant::now() + self.request_timeout.to_std();
        let request = match self.request(attempt) {
            Ok(request) => request,
            Err(refused) => return refused,
        };
        let connection = match self.connect(deadline, self.fresh_connections).await {
            Ok(connection) => connection,
            Err(reason) => return Outcome::not_sent(reason),
        };
        if let Err(withdrawn) = attempt.gate.begin() {
            self.pool.give_back(connection, pool::IDLE_MAX);
            return Outcome::not_sent(withdrawn.to_string());
        }
        match self.first_send(connection, request, deadline).await {
            Ok((connection, response)) => self.read(attempt, connection, response, deadline).await,
            Err(outcome) => outcome,
        }
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
        *request.uri_mut() = self.path.clone();
        *request.headers_mut() = headers;
        Ok(request)
    }

    async fn connect(&self, deadline: Instant, fresh: bool) -> Result<Connection, String> {
        let connecting =
            async { if fresh { self.pool.fresh().await } else { self.pool.take().await } };
        timeout_at(deadline, connecting).await.unwrap_or_else(|_| {
            let shown = self.pool.shown();
            Err(format!("no connection to {shown} within {}", self.shown_timeout()))
        })
    }

    /// Gives the request to the connection; where it comes back with nothing of it written, to one
    /// new connection. A second return is NotSent.
    async fn first_send(
        &self,
        mut connection: Connection,
        request: Sent,
        deadline: Instant,
    ) -> Result<(Connection, Response<Incoming>), Outcome> {
        let request = match self.give(&mut connection, request, deadline).await {
            Given::Answered(response) => return Ok((connection, response)),
            Given::Broken(reason) => return Err(Outcome::unknown(reason)),
            Given::Unwritten(request) => *request,
        };
        let mut connection = self.connect(deadline, true).await.map_err(Outcome::not_sent)?;
        match self.give(&mut connection, request, deadline).await {
            Given::Answered(response) => Ok((connection, response)),
            Given::Broken(reason) => Err(Outcome::unknown(reason)),
            Given::Unwritten(_) => {
                let shown = self.pool.shown();
                let why = "closed two connections before anything was written";
                Err(Outcome::not_sent(format!("{shown} {why}")))
            }
        }
    }

    async fn give(&self, connection: &mut Connection, request: Sent, deadline: Instant) -> Given {
        let mut giving = pin!(connection.give(request));
        let in_time = match timeout_at(deadline, &mut giving).await {
            Ok(given) => Ok(given),
            Err(_) => timeout(LAST_LOOK, giving).await,
        };
        in_time
            .unwrap_or_else(|_| Given::Broken(format!("no answer within {}", self.shown_timeout())))
    }

    async fn read(
        &self,
        attempt: &Attempt,
        connection: Connection,
        response: Response<Incoming>,
        deadline: Instant,
    ) -> Outcome {
        let (head, incoming) = response.into_parts();
        let wanted = answer::wanted(head.status, &head.headers, self.result_bytes_max);
        let last_look = deadline.max(Instant::now() + LAST_LOOK);
        let body = body::read(incoming, wanted, last_look).await;
        if body.end == body::End::Whole && !head.status.is_informational() {
            self.pool.give_back(connection, pool::idle_for(head.version, &head.headers));
        }
        answer::outcome_of(head.status, &head.headers, body, self.completion, attempt.now)
    }

    fn shown_timeout(&self) -> String {
        format!("{} s", self.request_timeout.to_std().as_secs_f64())
    }
}

impl Transport for HttpTransport {
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        Box::pin(self.exchange(attempt))
    }

    fn request_timeout(&self) -> Option<Span> {
        Some(self.request_timeout)
    }
}

impl std::fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpTransport")
            .field("to", &self.pool.shown())
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

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::mpsc;

    use counterfoil_core::domain::{CommandId, Destination, Kind, Micros, Token};
    use counterfoil_core::port::{Gate, SystemClock};

    use super::*;

    /// Accepts connections and answers one request on each; tells of each request that came.
    fn receiver() -> (String, mpsc::Receiver<usize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let mut bytes = [0; 4096];
                while stream.read(&mut bytes).is_ok_and(|length| length > 0) {
                    tell.send(number).unwrap();
                    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
                }
            }
        });
        (url, told)
    }

    fn attempt() -> Attempt {
        let command = OutboxRow {
            n: 1,
            command_id: CommandId::new("a").unwrap(),
            stream: None,
            seq: None,
            idx: None,
            destination: Destination::new("d").unwrap(),
            kind: Kind::new("k").unwrap(),
            ordering_key: None,
            body: b"{}".into(),
            content_type: "application/json".into(),
            headers: None,
            core_digest: None,
            not_before: None,
            expires_at: None,
            recorded_at: Micros::new(0),
        };
        Attempt {
            command: Arc::new(command),
            number: 1,
            token: Token::new(1),
            source: "urn:test".into(),
            now: Micros::new(0),
            gate: Arc::new(Gate::new(Arc::new(SystemClock), Micros::new(i64::MAX))),
        }
    }

    /// The one case in which a second connection is tried after the gate.
    #[tokio::test]
    async fn a_request_that_came_back_unwritten_is_sent_once_on_a_new_connection() {
        let (url, told) = receiver();
        let transport = HttpTransport::new(HttpOptions::new(url)).unwrap();
        let deadline = Instant::now() + std::time::Duration::from_secs(10);
        let connection = transport.connect(deadline, true).await.unwrap();
        connection.end().await;
        let request = transport.request(&attempt()).unwrap();
        let sent = transport.first_send(connection, request, deadline).await;
        let (_connection, response) = sent.map_err(|outcome| outcome.reason().to_owned()).unwrap();
        assert_eq!(response.status(), 204);
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [1], "on the second connection, once");
    }

    #[tokio::test]
    async fn a_request_that_came_back_unwritten_is_not_sent_where_nobody_listens_any_more() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let transport = HttpTransport::new(HttpOptions::new(url)).unwrap();
        let deadline = Instant::now() + std::time::Duration::from_secs(10);
        let connection = transport.connect(deadline, true).await.unwrap();
        drop(listener);
        connection.end().await;
        let request = transport.request(&attempt()).unwrap();
        let Err(outcome) = transport.first_send(connection, request, deadline).await else {
            panic!("answered by nobody");
        };
        assert_eq!(outcome.name(), "not_sent", "{outcome:?}");
    }
}
