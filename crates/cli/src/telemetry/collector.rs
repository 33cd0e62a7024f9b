//! How a batch of spans travels to the collector: one POST over HTTP/1.1, with TLS by ring.
//!
//! Guarantees: an answer is read to 64 KiB at most; an error says its causes. Does not: bound the
//! time or retry; the exporter does.

use std::fmt::Write as _;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Request, Response};
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry_http::{HttpClient, HttpError};
use rustls::{ClientConfig, RootCertStore};

use crate::exit::Failure;

/// The most that is read of an answer.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Connections to a collector.
#[derive(Clone, Debug)]
pub(super) struct Collector {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Collector {
    /// Connects to nothing yet.
    ///
    /// # Errors
    /// The system has no roots, and TLS is wanted.
    pub(super) fn new(is_tls: bool) -> Result<Self, Failure> {
        let refused = |why: String| {
            Failure::could_not_run(format!("no TLS to the collector: {why}"))
                .help("install the system's certificates, or name a file by SSL_CERT_FILE")
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| refused(error.to_string()))?;
        let builder = if is_tls {
            builder.with_native_roots().map_err(|error| refused(error.to_string()))?
        } else {
            builder.with_root_certificates(RootCertStore::empty())
        };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(builder.with_no_client_auth())
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Self { client: Client::builder(TokioExecutor::new()).build(connector) })
    }

    async fn post(self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answer =
            self.client.request(request.map(Full::new)).await.map_err(|error| whole(&error))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?;
        Ok(Response::from_parts(head, body.to_bytes()))
    }
}

/// As `async_trait` writes it: a crate less to build for one function.
impl HttpClient for Collector {
    fn send_bytes<'a, 'out>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'out>>
    where
        'a: 'out,
        Self: 'out,
    {
        Box::pin(self.clone().post(request))
    }
}

/// An error with its causes: the outermost says no more than "client error (Connect)".
fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        // Writing into a string cannot fail.
        let _ = write!(text, ": {inner}");
        cause = inner.source();
    }
    text
}
