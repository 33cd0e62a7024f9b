//! Private authorities and client certificates, against a server that asks for them.

use std::io::Write as _;
use std::path::PathBuf;

use counterfoil_core::domain::Outcome;
use counterfoil_core::port::Transport as _;
use counterfoil_relay::transport::http::{AskOptions, HttpOptions, HttpRefused, HttpTransport};
use tokio_rustls::rustls::version::{TLS12, TLS13};

use super::receiver::{ask, attempt, send};
use super::tls_server::{TlsServer, certificate};

/// Options that trust the server's authority, and no other.
fn options(url: String) -> HttpOptions {
    let mut options = HttpOptions::new(url);
    options.tls.ca = Some(certificate("ca.pem"));
    options
}

fn with_certificate(url: String) -> HttpOptions {
    let mut options = options(url);
    options.tls.cert = Some(certificate("client.pem"));
    options.tls.key = Some(certificate("client.key"));
    options
}

#[tokio::test]
async fn a_private_authority_is_trusted_instead_of_the_systems() {
    let server = TlsServer::start().await;
    let outcome = send(&HttpTransport::new(options(server.url())).unwrap(), "a").await;
    assert_eq!(outcome.name(), "completed", "{outcome:?}");
    let mut stranger = options(server.url());
    stranger.tls.ca = Some(certificate("stranger.pem"));
    let attempt = attempt("a");
    let outcome = HttpTransport::new(stranger).unwrap().send(&attempt).await;
    assert_eq!(outcome.name(), "not_sent", "{outcome:?}");
    assert!(outcome.reason().contains("certificate"), "{outcome:?}");
    assert!(!attempt.gate.has_begun() && server.requests() == 1);
}

#[tokio::test]
async fn a_client_presents_its_certificate_when_it_sends_and_when_it_asks() {
    for version in [&TLS12, &TLS13] {
        let server = TlsServer::for_clients_of("clients.pem", &[version]).await;
        let mut options = with_certificate(server.url());
        options.ask = Some(AskOptions::new(format!("{}/{{command_id}}", server.url())));
        let transport = HttpTransport::new(options).unwrap();
        let outcome = send(&transport, "a").await;
        assert_eq!(outcome.name(), "completed", "{outcome:?}");
        assert_eq!(ask(&transport, "a").await.name(), "done");
        assert_eq!(server.requests(), 2);
    }
}

/// Story: in TLS 1.3 a client has finished, and sends, before the server judges its certificate.
/// That a stranger's request was never read must show as not sent, or each one would be in doubt.
#[tokio::test]
async fn who_has_no_certificate_or_a_strangers_is_not_sent() {
    for version in [&TLS12, &TLS13] {
        let server = TlsServer::for_clients_of("clients.pem", &[version]).await;
        let none = options(server.url());
        let strange = TlsServer::for_clients_of("stranger.pem", &[version]).await;
        for options in [none, with_certificate(strange.url())] {
            let mut named = Vec::new();
            // The close may overtake the reason on its way, which leaves the outcome unknown.
            for _ in 0..20 {
                let outcome = send(&HttpTransport::new(options.clone()).unwrap(), "a").await;
                named.push(outcome.name());
                if let Outcome::NotSent { misconfigured, .. } = outcome {
                    assert!(!misconfigured);
                    break;
                }
            }
            assert_eq!(named.last(), Some(&"not_sent"), "{version:?}: {named:?}");
        }
        assert_eq!(server.requests() + strange.requests(), 0);
    }
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

#[test]
fn a_file_that_cannot_be_used_is_refused_by_name_and_reason() {
    let refused = |change: &dyn Fn(&mut HttpOptions)| {
        let mut options = with_certificate("https://localhost:1/".into());
        change(&mut options);
        let refused = HttpTransport::new(options).unwrap_err();
        assert_eq!(refused.code(), "CF0609", "{refused}");
        refused.to_string()
    };
    let empty = file("");
    let broken = file("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n");
    let no_certificate = file("-----BEGIN CERTIFICATE-----\naGFsbG8=\n-----END CERTIFICATE-----\n");
    let encrypted = file(
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\naGFsbG8=\n-----END ENCRYPTED PRIVATE KEY-----\n",
    );
    let missing = PathBuf::from("no/such/file.pem");
    let said = refused(&|options| options.tls.ca = Some(missing.clone()));
    assert!(said.contains("tls.ca") && said.contains("no/such/file.pem"), "{said}");
    let said = refused(&|options| options.tls.ca = Some(empty.path().into()));
    assert!(said.contains("holds no certificate"), "{said}");
    let said = refused(&|options| options.tls.ca = Some(broken.path().into()));
    assert!(said.contains("cannot be read"), "{said}");
    let said = refused(&|options| options.tls.ca = Some(no_certificate.path().into()));
    assert!(said.contains("names no authority"), "{said}");
    let said = refused(&|options| options.tls.cert = Some(empty.path().into()));
    assert!(said.contains("tls.cert") && said.contains("holds no certificate"), "{said}");
    let said = refused(&|options| options.tls.key = Some(encrypted.path().into()));
    assert!(said.contains("tls.key") && said.contains("not encrypted"), "{said}");
    let said = refused(&|options| options.tls.key = Some(certificate("server.key")));
    assert!(said.contains("does not go with tls.cert"), "{said}");
    let said = refused(&|options| options.tls.cert = None);
    assert!(said.contains("tls.key") && said.contains("give tls.cert too"), "{said}");
    let said = refused(&|options| options.tls.key = None);
    assert!(said.contains("tls.cert") && said.contains("give tls.key too"), "{said}");
}

#[test]
fn certificates_for_a_url_without_tls_are_refused() {
    let refused = HttpTransport::new(with_certificate("http://localhost:1/".into())).unwrap_err();
    assert!(matches!(refused, HttpRefused::Value { what: "tls", .. }), "{refused}");
    let mut asked = with_certificate("http://localhost:1/".into());
    asked.ask = Some(AskOptions::new("https://localhost:1/{key}"));
    assert!(HttpTransport::new(asked).is_ok(), "the question needs them");
}
