//! One connection to a destination.
//!
//! Guarantees: opening it sends no byte of a command; dropping it closes it, whatever goes on
//! there; it speaks HTTP/1.1 only, follows no redirect, asks no proxy, and sends nothing twice.
//! Does not: choose between connections; see `pool`.

use std::error::Error;
use std::fmt::Write as _;
use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use counterfoil_core::domain::Span;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response, Uri};
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::{ClientConfig, RootCertStore};
use tokio::task::AbortHandle;
use tower_service::Service as _;

use super::refused::HttpRefused;
use super::url::Url;

/// A request as it is sent: its body is whole, so its length is known.
pub(super) type Sent = Request<Full<Bytes>>;

/// What became of a request that was given to a connection.
pub(super) enum Given {
    /// An answer began.
    Answered(Response<Incoming>),
    /// None of it was written; here it is again.
    Unwritten(Box<Sent>),
    /// Some of it may have been written.
    Broken(String),
}

/// Opens connections to one destination.
pub(super) struct Connector {
    origin: Uri,
    https: HttpsConnector<HttpConnector>,
}

impl Connector {
    pub(super) fn new(url: &Url, request_timeout: Span) -> Result<Self, HttpRefused> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        // Shared out over a name's addresses, so that a dead one leaves time for the next.
        http.set_connect_timeout(Some(request_timeout.to_std()));
        let tls = tls(url).map_err(|why| HttpRefused::Tls {
            host: url.origin.host().unwrap_or_default().into(),
            why,
        })?;
        let https = HttpsConnectorBuilder::new().with_tls_config(tls);
        let https = https.https_or_http().enable_http1().wrap_connector(http);
        Ok(Self { origin: url.origin.clone(), https })
    }

    /// Looks the host up, connects, and finishes TLS.
    ///
    /// # Errors
    /// Why there is no connection. Nothing of a command was sent.
    pub(super) async fn open(&self) -> Result<Connection, String> {
        let no_connection = |why: String| format!("no connection to {}: {why}", self.shown());
        let mut https = self.https.clone();
        let ready = poll_fn(|context| https.poll_ready(context)).await;
        ready.map_err(|error| no_connection(said_by(&*error)))?;
        let stream = https.call(self.origin.clone()).await;
        let stream = stream.map_err(|error| no_connection(said_by(&*error)))?;
        let (sender, driver) = http1::Builder::new()
            .handshake(stream)
            .await
            .map_err(|error| no_connection(said_by(&error)))?;
        // What ends the driver is told to the sender too.
        let driver = tokio::spawn(async move { drop(driver.await) });
        Ok(Connection { sender, driver: driver.abort_handle() })
    }

    /// Scheme, host and port, for people.
    pub(super) fn shown(&self) -> &str {
        self.origin.authority().map_or("", |authority| authority.as_str())
    }
}

/// Always `ring`'s provider, never a process-wide default: that is the program's to choose.
fn tls(url: &Url) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = if url.is_tls {
        builder.with_native_roots().map_err(|error| {
            format!(
                "{error}; install the system's certificates (ca-certificates), \
                 or name a file by SSL_CERT_FILE"
            )
        })?
    } else {
        builder.with_root_certificates(RootCertStore::empty())
    };
    Ok(builder.with_no_client_auth())
}

/// An open connection.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: AbortHandle,
}

impl Connection {
    /// Whether it is open and nothing is under way on it.
    pub(super) fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    /// Waits until it is ready; `false` if it is closed.
    pub(super) async fn ready(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }

    /// Gives it a request. A request comes back only from hyper's queue, before its first byte was
    /// written to the socket's buffer: hyper keeps what it has begun to write.
    pub(super) async fn give(&mut self, request: Sent) -> Given {
        match self.sender.try_send_request(request).await {
            Ok(response) => Given::Answered(response),
            Err(mut error) => match error.take_message() {
                Some(request) => Given::Unwritten(Box::new(request)),
                None => Given::Broken(said_by(error.error())),
            },
        }
    }
}

#[cfg(test)]
impl Connection {
    /// Ends what drives it, as if the other side had closed it.
    pub(super) async fn end(&self) {
        self.driver.abort();
        while !self.driver.is_finished() {
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// An error and its causes in one line, each said once.
pub(super) fn said_by(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            // Writing to a string cannot fail.
            let _ = write!(text, ": {said}");
        }
        cause = error.source();
    }
    text
}
