//! One connection to a destination.
//!
//! Guarantees: opening it sends no byte of a command; dropping it closes it, whatever goes on
//! there; it speaks HTTP/1.1 only, follows no redirect, and sends nothing twice.
//! Does not: choose between connections; see `pool`.

use std::error::Error;
use std::fmt::Write as _;
use std::future::poll_fn;

use bytes::Bytes;
use counterfoil_core::domain::Span;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use rustls::{AlertDescription, ClientConfig};
use tokio::task::AbortHandle;
use tower_service::Service;

use super::proxy::Route;
use super::turns::Turns;
use super::url::Url;

/// How much of an answer is held before it is taken; its head must fit. Small, so that what is read
/// at a time is soon looked through.
const BUFFER_BYTES: usize = 64 * 1024;

/// A request as it is sent: its body is whole, so its length is known.
pub(super) type Sent = Request<Full<Bytes>>;

/// What became of a request that was given to a connection.
pub(super) enum Given {
    /// An answer began.
    Answered(Response<Incoming>),
    /// None of it was written; here it is again.
    Unwritten(Box<Sent>),
    /// It was written, and the receiver's TLS never read it: it does not take our certificate.
    Unread(String),
    /// Some of it may have been written, and read.
    Broken(String),
}

/// Opens connections to one destination.
pub(super) struct Connector {
    origin: Uri,
    road: Road,
    shown: String,
}

/// What leads to the destination.
enum Road {
    Direct(HttpsConnector<HttpConnector>),
    Forward(HttpConnector, Uri),
    Tunnel(HttpsConnector<Tunnel<HttpConnector>>),
}

impl Connector {
    pub(super) fn new(url: &Url, route: &Route, tls: ClientConfig, request_timeout: Span) -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        // Shared out over a name's addresses, so that a dead one leaves time for the next.
        http.set_connect_timeout(Some(request_timeout.to_std()));
        let road = match route {
            Route::Direct => Road::Direct(secured(http, tls)),
            Route::Forward(through) => Road::Forward(http, through.uri.clone()),
            Route::Tunnel(through) => {
                let tunnel = Tunnel::new(through.uri.clone(), http);
                let tunnel = match &through.authorization {
                    Some(authorization) => tunnel.with_auth(authorization.clone()),
                    None => tunnel,
                };
                Road::Tunnel(secured(tunnel, tls))
            }
        };
        let mut shown = url.origin.authority().map_or("", |host| host.as_str()).to_owned();
        if let Some(proxy) = route.shown() {
            shown.push_str(" through the proxy ");
            shown.push_str(proxy);
        }
        Self { origin: url.origin.clone(), road, shown }
    }

    /// Looks the host up, connects, and finishes TLS.
    ///
    /// # Errors
    /// Why there is no connection. Nothing of a command was sent.
    pub(super) async fn open(&self) -> Result<Connection, String> {
        let opening = async {
            match &self.road {
                Road::Direct(https) => {
                    begin(called(https.clone(), self.origin.clone()).await?).await
                }
                Road::Forward(http, proxy) => {
                    begin(called(http.clone(), proxy.clone()).await?).await
                }
                Road::Tunnel(https) => {
                    begin(called(https.clone(), self.origin.clone()).await?).await
                }
            }
        };
        opening.await.map_err(|why| format!("no connection to {}: {why}", self.shown()))
    }

    /// Host and port, and the proxy, for people.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }
}

fn secured<T>(connector: T, tls: ClientConfig) -> HttpsConnector<T> {
    let https = HttpsConnectorBuilder::new().with_tls_config(tls);
    https.https_or_http().enable_http1().wrap_connector(connector)
}

async fn called<C>(mut connector: C, to: Uri) -> Result<C::Response, String>
where
    C: Service<Uri>,
    C::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let said = |error: C::Error| said_by(&*error.into());
    poll_fn(|context| connector.poll_ready(context)).await.map_err(said)?;
    connector.call(to).await.map_err(said)
}

async fn begin<T>(stream: T) -> Result<Connection, String>
where
    T: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
{
    let begun =
        http1::Builder::new().max_buf_size(BUFFER_BYTES).handshake(Turns::new(stream)).await;
    let (sender, driver) = begun.map_err(|error| said_by(&error))?;
    // What ends the driver is told to the sender too.
    let driver = tokio::spawn(async move { drop(driver.await) });
    Ok(Connection { sender, driver: driver.abort_handle(), has_answered: false })
}

/// An open connection.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: AbortHandle,
    /// Something of the receiver's has come over it.
    has_answered: bool,
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
            Ok(response) => {
                self.has_answered = true;
                Given::Answered(response)
            }
            Err(mut error) => match error.take_message() {
                Some(request) => Given::Unwritten(Box::new(request)),
                None if !self.has_answered && is_stranger(error.error()) => {
                    Given::Unread(said_by(error.error()))
                }
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

/// Whether the receiver's TLS says that it does not take our certificate, or wants one. In TLS 1.3
/// (RFC 8446, sections 2 and 4.4) a client has finished before its certificate is judged, so this
/// comes after the request was written; but a server reads nothing of a request before it has
/// judged the certificate, and we offer no authentication later. On a connection that has never
/// answered it is therefore the end of the handshake, and nothing was processed.
fn is_stranger(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let io = error.downcast_ref::<std::io::Error>();
        let inner = io.and_then(std::io::Error::get_ref);
        let tls = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>());
        if let Some(rustls::Error::AlertReceived(alert)) = tls {
            return matches!(
                alert,
                AlertDescription::CertificateRequired
                    | AlertDescription::BadCertificate
                    | AlertDescription::UnsupportedCertificate
                    | AlertDescription::CertificateRevoked
                    | AlertDescription::CertificateExpired
                    | AlertDescription::CertificateUnknown
                    | AlertDescription::UnknownCA
                    | AlertDescription::AccessDenied
            );
        }
        cause = error.source();
    }
    false
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_alert_about_the_certificate_says_that_nothing_was_read() {
        let of = |alert| {
            let error = std::io::Error::other(rustls::Error::AlertReceived(alert));
            is_stranger(&error)
        };
        for alert in [
            AlertDescription::CertificateRequired,
            AlertDescription::UnknownCA,
            AlertDescription::CertificateExpired,
        ] {
            assert!(of(alert), "{alert:?}");
        }
        for alert in [
            AlertDescription::InternalError,
            AlertDescription::CloseNotify,
            AlertDescription::HandshakeFailure,
            AlertDescription::DecryptError,
        ] {
            assert!(!of(alert), "{alert:?}");
        }
        assert!(!is_stranger(&std::io::Error::from(std::io::ErrorKind::ConnectionReset)));
    }
}
