//! Whom a destination's TLS trusts, and as whom it presents itself.
//!
//! Guarantees: always `ring`'s provider, never a process-wide default, which is the program's to
//! choose; a file that cannot be used is refused by its name, with the reason, and nothing of a key
//! is shown. Does not: read a file again when it changes; a relay is restarted for that.

use std::path::Path;
use std::sync::Arc;

use hyper_rustls::ConfigBuilderExt as _;
use rustls::client::WantsClientCert;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore};

use super::options::TlsOptions;
use super::refused::HttpRefused;
use super::url::Url;

/// The TLS of connections to `url`.
///
/// # Errors
/// [`HttpRefused::TlsFile`], or [`HttpRefused::Tls`] where the system has no roots.
pub(super) fn config(url: &Url, options: &TlsOptions) -> Result<ClientConfig, HttpRefused> {
    let no_tls = |why: String| {
        let host = url.origin.host().unwrap_or_default().into();
        HttpRefused::Tls { host, why }
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| no_tls(error.to_string()))?;
    let builder = match &options.ca {
        Some(file) => builder.with_root_certificates(roots(file)?),
        None if url.is_tls => builder.with_native_roots().map_err(|error| {
            no_tls(format!(
                "{error}; install the system's certificates (ca-certificates), \
                 or name a file by tls.ca or SSL_CERT_FILE"
            ))
        })?,
        None => builder.with_root_certificates(RootCertStore::empty()),
    };
    authenticated(builder, options)
}

fn authenticated(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    options: &TlsOptions,
) -> Result<ClientConfig, HttpRefused> {
    let (certificate, key) = match (&options.cert, &options.key) {
        (None, None) => return Ok(builder.with_no_client_auth()),
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(file), None) => {
            let why = "needs its private key: give tls.key too (it may be the same file)";
            return Err(refused("tls.cert", file, why));
        }
        (None, Some(file)) => {
            let why = "needs the certificate that it belongs to: give tls.cert too";
            return Err(refused("tls.key", file, why));
        }
    };
    let chain = certificates("tls.cert", certificate)?;
    let parsed = PrivateKeyDer::from_pem_file(key).map_err(|error| match error {
        rustls::pki_types::pem::Error::NoItemsFound => refused(
            "tls.key",
            key,
            "holds no private key that is not encrypted (PEM: PKCS#8, PKCS#1 or SEC1)",
        ),
        error => refused("tls.key", key, format!("cannot be read: {error}")),
    })?;
    builder.with_client_auth_cert(chain, parsed).map_err(|error| {
        refused("tls.key", key, format!("does not go with tls.cert {certificate:?}: {error}"))
    })
}

fn roots(file: &Path) -> Result<RootCertStore, HttpRefused> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("tls.ca", file)? {
        roots
            .add(certificate)
            .map_err(|error| refused("tls.ca", file, format!("names no authority: {error}")))?;
    }
    Ok(roots)
}

fn certificates(
    what: &'static str,
    file: &Path,
) -> Result<Vec<CertificateDer<'static>>, HttpRefused> {
    let unread = |error| refused(what, file, format!("cannot be read: {error}"));
    let found: Vec<_> = CertificateDer::pem_file_iter(file)
        .map_err(unread)?
        .collect::<Result<_, _>>()
        .map_err(unread)?;
    if found.is_empty() {
        return Err(refused(what, file, "holds no certificate (PEM: BEGIN CERTIFICATE)"));
    }
    Ok(found)
}

fn refused(what: &'static str, file: &Path, why: impl Into<String>) -> HttpRefused {
    HttpRefused::TlsFile { what, file: file.into(), why: why.into() }
}
