//! TLS towards the server.
//!
//! Guarantees: rustls with ring; the server's certificate is judged as `Verify` says. Does not:
//! install a provider for the process, or show a certificate of our own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::failure::Failure;

/// How the server's certificate is judged where a connection is encrypted; as libpq's `sslmode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verify {
    /// Not at all, as `prefer` and `require` have it: nobody can listen, but somebody in the middle
    /// can pretend to be the server.
    #[default]
    Nothing,
    /// An authority that is trusted must have signed it, as `verify-ca` has it.
    Authority,
    /// And it must bear the name by which the server is called, as `verify-full` has it.
    Full,
}

/// TLS towards the server.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Tls {
    /// How its certificate is judged. Default: not at all.
    pub verify: Verify,
    /// The authorities that are trusted: a file of PEM certificates. Default: the system's.
    pub roots: Option<PathBuf>,
}

/// How connections are encrypted, where server and URL want it.
pub(crate) fn connector(tls: &Tls) -> Result<MakeRustlsConnect, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Judge::new(tls, &provider)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::broken(format!("TLS: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// Judges a server's certificate.
#[derive(Debug)]
struct Judge {
    /// `None`: any will do.
    chain: Option<Arc<WebPkiServerVerifier>>,
    any_name: bool,
    provider: Arc<CryptoProvider>,
}

impl Judge {
    fn new(tls: &Tls, provider: &Arc<CryptoProvider>) -> Result<Self, Failure> {
        let chain = match tls.verify {
            Verify::Nothing => None,
            Verify::Authority | Verify::Full => Some(chain(tls.roots.as_deref(), provider)?),
        };
        let any_name = tls.verify == Verify::Authority;
        Ok(Self { chain, any_name, provider: Arc::clone(provider) })
    }
}

fn chain(
    roots: Option<&Path>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, Failure> {
    let roots = Arc::new(trusted(roots)?);
    WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider))
        .build()
        .map_err(|error| Failure::broken(format!("TLS: {error}")))
}

/// The authorities of a file, or the system's.
fn trusted(file: Option<&Path>) -> Result<RootCertStore, Failure> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        // Some that cannot be read are no harm while others can.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return if roots.is_empty() {
            Err(Failure::broken(
                "TLS: this system has no certificates of authorities: install them \
                 (ca-certificates), or name a file of them",
            ))
        } else {
            Ok(roots)
        };
    };
    let bad = |why: &str| Failure::broken(format!("TLS: the file {}: {why}", file.display()));
    let found: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| bad(&format!("cannot be read: {error}")))?;
    for certificate in found {
        roots.add(certificate).map_err(|error| bad(&format!("names no authority: {error}")))?;
    }
    if roots.is_empty() {
        return Err(bad("holds no certificate (PEM: BEGIN CERTIFICATE)"));
    }
    Ok(roots)
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        let judged =
            chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match judged {
            // The chain is looked at before the name.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.any_name => Ok(ServerCertVerified::assertion()),
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
