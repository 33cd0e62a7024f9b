//! TLS towards the server.
//!
//! Guarantees: rustls with ring, and the roots of this machine. Does not: install a provider for
//! the process.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::failure::Failure;

/// How connections are encrypted, where server and URL want it.
pub(crate) fn connector() -> Result<MakeRustlsConnect, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::broken(format!("TLS: {error}")))?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
