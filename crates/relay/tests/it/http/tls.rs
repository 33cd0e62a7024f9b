//! HTTPS against a server with certificates of its own.
//!
//! Guarantees: the transport runs in a process of its own, since the system's roots are chosen by
//! environment variables, which a test must not change for its neighbours.

use std::path::PathBuf;

use counterfoil_relay::transport::http::{HttpOptions, HttpTransport};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use super::receiver::{Receiver, send};
use super::tls_server::{TlsServer, certificate};

const URL: &str = "COUNTERFOIL_TEST_HTTPS_URL";

/// What a transport to `url` in another process says, with these roots.
async fn said(url: &str, roots: PathBuf) -> String {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "http::tls::as_a_process_of_its_own", "--nocapture"])
        .env(URL, url)
        .env("SSL_CERT_FILE", roots)
        .env_remove("SSL_CERT_DIR")
        .output();
    String::from_utf8(child.await.unwrap().stdout).unwrap()
}

/// The other process of the tests below; without its variable it has nothing to do.
#[tokio::test]
async fn as_a_process_of_its_own() {
    let Ok(url) = std::env::var(URL) else { return };
    match HttpTransport::new(HttpOptions::new(url)) {
        Ok(transport) => println!("outcome: {:?}", send(&transport, "a").await),
        Err(refused) => println!("refused: {} {refused}", refused.code()),
    }
}

#[tokio::test]
async fn a_trusted_certificate_is_sent_to() {
    let port = TlsServer::start().await.port;
    for host in ["localhost", "127.0.0.1"] {
        let said = said(&format!("https://{host}:{port}/"), certificate("ca.pem")).await;
        assert!(said.contains("outcome: Completed") && said.contains("HTTP 200"), "{said}");
    }
}

#[tokio::test]
async fn a_strangers_certificate_is_not_sent_to() {
    let url = TlsServer::start().await.url();
    let said = said(&url, certificate("stranger.pem")).await;
    assert!(said.contains("outcome: NotSent") && said.contains("certificate"), "{said}");
}

#[tokio::test]
async fn a_plain_server_behind_https_is_not_sent_to() {
    let receiver = Receiver::start(|mut peer| async move {
        let mut hello = [0; 16];
        drop(peer.stream.read(&mut hello).await);
        peer.write("HTTP/1.1 400 Bad Request\r\n\r\n").await;
    })
    .await;
    let said = said(&format!("https://{}/", receiver.address), certificate("ca.pem")).await;
    assert!(said.contains("outcome: NotSent"), "{said}");
}

#[tokio::test]
async fn without_roots_https_is_refused_at_the_start() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    let said = said("https://localhost:1/", empty.path().into()).await;
    assert!(said.contains("refused: CF0607") && said.contains("ca-certificates"), "{said}");
}
