//! A server behind real TLS, with the certificates in `certificates/`.
//!
//! Guarantees: counts the requests that came through, which are those it would have processed.
//! The certificates were made for these tests alone; their authorities' keys were thrown away.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};

use super::receiver::answer;

pub(crate) fn certificate(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "it", "http", "certificates", name].iter().collect()
}

fn certificates(name: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_file_iter(certificate(name)).unwrap().map(Result::unwrap).collect()
}

/// A server that runs until its runtime ends.
pub(crate) struct TlsServer {
    pub(crate) port: u16,
    requests: Arc<AtomicUsize>,
}

impl TlsServer {
    /// Anybody may come.
    pub(crate) async fn start() -> Self {
        Self::with(None, tokio_rustls::rustls::ALL_VERSIONS).await
    }

    /// Only those whose certificate is by the authority in this file may come.
    pub(crate) async fn for_clients_of(
        authority: &str,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Self {
        Self::with(Some(authority), versions).await
    }

    async fn with(authority: Option<&str>, versions: &[&'static SupportedProtocolVersion]) -> Self {
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .unwrap();
        let config = match authority {
            None => config.with_no_client_auth(),
            Some(name) => {
                let mut roots = RootCertStore::empty();
                certificates(name).into_iter().for_each(|one| roots.add(one).unwrap());
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                config.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let key = PrivateKeyDer::from_pem_file(certificate("server.key")).unwrap();
        let config = config.with_single_cert(certificates("server.pem"), key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::<AtomicUsize>::default();
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(acceptor.clone(), stream, Arc::clone(&seen)));
            }
        });
        Self { port, requests }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://localhost:{}/commands", self.port)
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

/// Answers each request of a connection; a question ends with its head, a command with `}`.
async fn serve(acceptor: TlsAcceptor, stream: tokio::net::TcpStream, seen: Arc<AtomicUsize>) {
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    loop {
        let mut bytes = Vec::new();
        while !(bytes.ends_with(b"}") || bytes.starts_with(b"GET") && bytes.ends_with(b"\r\n\r\n"))
        {
            match stream.read_buf(&mut bytes).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
        seen.fetch_add(1, Ordering::SeqCst);
        let answer = answer("200 OK", "", "over tls");
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}
