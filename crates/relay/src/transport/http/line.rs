//! The way to one host: connections, deadlines, one request at a time over each.
//!
//! Guarantees: a request that came back unwritten goes to one new connection, and to no third; any
//! other failure is told apart as processed by nobody, or as not known. Does not: read answers.

use std::pin::pin;
use std::time::Duration;

use counterfoil_core::domain::Span;
use hyper::Response;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout, timeout_at};

use super::body::{self, Body, End, Wanted};
use super::connection::{Connection, Connector, Given, Sent};
use super::options::HttpOptions;
use super::pool::{self, Pool};
use super::proxy::Route;
use super::refused::HttpRefused;
use super::trust;
use super::url::Url;

/// A process that was frozen past the deadline wakes to its timer first, though the answer may have
/// come in time and lie in the socket. So long it may still be taken.
const LAST_LOOK: Duration = Duration::from_millis(20);

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Failed {
    /// Provably nobody processed it.
    NotSent(String),
    /// Somebody may have.
    Unknown(String),
}

/// An answer whose body is yet to be read.
pub(super) type Answered = (Connection, Response<Incoming>);

/// The way to one host.
pub(super) struct Line {
    pool: Pool,
    fresh: bool,
    request_timeout: Span,
}

impl Line {
    pub(super) fn new(
        url: &Url,
        route: &Route,
        options: &HttpOptions,
    ) -> Result<Self, HttpRefused> {
        let tls = trust::config(url, &options.tls)?;
        let connector = Connector::new(url, route, tls, options.request_timeout);
        let idle_max = if options.fresh_connections { 0 } else { options.idle_connections_max };
        Ok(Self {
            pool: Pool::new(connector, idle_max),
            fresh: options.fresh_connections,
            request_timeout: options.request_timeout,
        })
    }

    /// When what begins now has to end.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.request_timeout.to_std()
    }

    /// A connection, as the options say: an idle one, or always a new one.
    ///
    /// # Errors
    /// Why there is none. Nothing of a request was sent.
    pub(super) async fn connect(&self, deadline: Instant) -> Result<Connection, String> {
        self.connection(deadline, self.fresh).await
    }

    async fn connection(&self, deadline: Instant, fresh: bool) -> Result<Connection, String> {
        let connecting =
            async { if fresh { self.pool.fresh().await } else { self.pool.take().await } };
        timeout_at(deadline, connecting).await.unwrap_or_else(|_| {
            let shown = self.pool.shown();
            Err(format!("no connection to {shown} within {}", self.shown_timeout()))
        })
    }

    /// Takes back a connection that was not used.
    pub(super) fn give_back(&self, connection: Connection) {
        self.pool.give_back(connection, pool::IDLE_MAX);
    }

    /// Gives the request to the connection; where it comes back with nothing of it written, to one
    /// new connection. A second return is `NotSent`.
    pub(super) async fn send(
        &self,
        mut connection: Connection,
        request: Sent,
        deadline: Instant,
    ) -> Result<Answered, Failed> {
        let request = match self.give(&mut connection, request, deadline).await {
            Given::Answered(response) => return Ok((connection, response)),
            Given::Broken(reason) => return Err(Failed::Unknown(reason)),
            Given::Unread(reason) => return Err(self.unread(&reason)),
            Given::Unwritten(request) => *request,
        };
        let again = self.connection(deadline, true).await;
        let mut connection = again.map_err(Failed::NotSent)?;
        match self.give(&mut connection, request, deadline).await {
            Given::Answered(response) => Ok((connection, response)),
            Given::Broken(reason) => Err(Failed::Unknown(reason)),
            Given::Unread(reason) => Err(self.unread(&reason)),
            Given::Unwritten(_) => {
                let shown = self.pool.shown();
                let why = "closed two connections before anything was written";
                Err(Failed::NotSent(format!("{shown} {why}")))
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

    fn unread(&self, reason: &str) -> Failed {
        Failed::NotSent(format!("{} ended the handshake of TLS: {reason}", self.pool.shown()))
    }

    /// Reads the body of an answer, and keeps the connection if it can be used again.
    pub(super) async fn read(
        &self,
        (connection, response): Answered,
        wanted: Wanted,
        deadline: Instant,
    ) -> (hyper::http::response::Parts, Body) {
        let (head, incoming) = response.into_parts();
        let last_look = deadline.max(Instant::now() + LAST_LOOK);
        let body = body::read(incoming, wanted, last_look).await;
        if body.end == End::Whole && !head.status.is_informational() {
            self.pool.give_back(connection, pool::idle_for(head.version, &head.headers));
        }
        (head, body)
    }

    fn shown_timeout(&self) -> String {
        format!("{} s", self.request_timeout.to_std().as_secs_f64())
    }

    /// Whom it leads to, for people.
    pub(super) fn shown(&self) -> &str {
        self.pool.shown()
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
