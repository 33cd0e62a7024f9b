//! TLS towards the server.
//!
//! Guarantees: rustls with ring, as libpq's modes say: `prefer` and `require` encrypt and trust
//! any certificate, `verify-ca` asks for one of a trusted authority, `verify-full` for the host's
//! name, too. Does not: install a provider for the process; look at lists of revoked certificates.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::OpenError;

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

/// TLS towards a server that a [`Config`](tokio_postgres::Config) names, in place of a URL.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Tls {
    /// How its certificate is judged. Default: not at all.
    pub verify: Verify,
    /// The authorities that are trusted: a file of PEM certificates. Default: the system's.
    pub roots: Option<PathBuf>,
}

impl Tls {
    /// As the words of a URL say it.
    pub(crate) fn trust(&self) -> Trust {
        let mode = match self.verify {
            Verify::Nothing => Mode::Require,
            Verify::Authority => Mode::VerifyCa,
            Verify::Full => Mode::VerifyFull,
        };
        let roots = self.roots.as_ref().filter(|_| mode != Mode::Require);
        let roots = roots.map(|file| file.display().to_string());
        Trust { mode: Some(mode), roots, ..Trust::default() }
    }
}

/// `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Never.
    Disable,
    /// Where the server can; the default.
    Prefer,
    /// Always, whoever answers.
    Require,
    /// Of a trusted authority.
    VerifyCa,
    /// And made for this host.
    VerifyFull,
}

/// Whom a connection trusts, and as whom it presents itself; files of PEM.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    pub(crate) mode: Option<Mode>,
    /// `system`: this machine's.
    pub(crate) roots: Option<String>,
    pub(crate) cert: Option<String>,
    pub(crate) key: Option<String>,
}

/// How connections are encrypted, where server and URL want it.
pub(crate) fn connector(trust: &Trust) -> Result<MakeRustlsConnect, OpenError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| OpenError::Tls(error.to_string()))?;
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier { whom: whom(trust)?, provider }));
    let mut config = match (&trust.cert, &trust.key) {
        (None, None) => builder.with_no_client_auth(),
        (Some(cert), Some(key)) => {
            let chain = certificates("sslcert", cert)?;
            let parsed = PrivateKeyDer::from_pem_file(key).map_err(|error| match error {
                rustls::pki_types::pem::Error::NoItemsFound => {
                    let why = "holds no private key that is not encrypted (PEM: PKCS#8, PKCS#1 \
                               or SEC1)";
                    refused("sslkey", key, why)
                }
                error => refused("sslkey", key, format!("cannot be read: {error}")),
            })?;
            builder.with_client_auth_cert(chain, parsed).map_err(|error| {
                refused("sslkey", key, format!("does not go with sslcert {cert:?}: {error}"))
            })?
        }
        (Some(file), None) => {
            let why = "needs its private key: give sslkey, too (it may be the same file)";
            return Err(refused("sslcert", file, why));
        }
        (None, Some(file)) => {
            let why = "needs the certificate that it belongs to: give sslcert, too";
            return Err(refused("sslkey", file, why));
        }
    };
    // Asked for by servers from 17 on; others do not look at it.
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(MakeRustlsConnect::new(config))
}

fn whom(trust: &Trust) -> Result<Whom, OpenError> {
    let checks_name = match (trust.mode, &trust.roots) {
        (Some(Mode::VerifyFull), _) => true,
        (Some(Mode::VerifyCa), Some(system)) if system == "system" => {
            let why = "trusts whoever has any certificate of any authority: write \
                       sslmode=verify-full, or name a file";
            return Err(refused("sslrootcert", system, why));
        }
        // As libpq does: roots that are named are asked for.
        (Some(Mode::VerifyCa), _) | (Some(Mode::Require), Some(_)) => false,
        (Some(Mode::Disable | Mode::Require), _) | (_, None) => return Ok(Whom::Any),
        (Some(Mode::Prefer) | None, Some(file)) => {
            let why = "says whom to trust, and sslmode=prefer trusts anybody: write \
                       sslmode=verify-full, or leave it out";
            return Err(refused("sslrootcert", file, why));
        }
    };
    let named = match trust.roots.as_deref() {
        None | Some("system") => Vec::new(),
        Some(file) => certificates("sslrootcert", file)?,
    };
    let mut roots = RootCertStore::empty();
    for root in &named {
        let file = trust.roots.as_deref().unwrap_or_default();
        roots.add(root.clone()).map_err(|error| {
            refused("sslrootcert", file, format!("names no authority: {error}"))
        })?;
    }
    if named.is_empty() {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let why = "this machine has no root certificates: install them (ca-certificates), or \
                       name a file by sslrootcert";
            return Err(OpenError::Tls(why.into()));
        }
    }
    Ok(Whom::Known { roots, named, checks_name })
}

fn certificates(what: &'static str, file: &str) -> Result<Vec<CertificateDer<'static>>, OpenError> {
    let unread = |error| refused(what, file, format!("cannot be read: {error}"));
    let found: Vec<_> = CertificateDer::pem_file_iter(Path::new(file))
        .map_err(unread)?
        .collect::<Result<_, _>>()
        .map_err(unread)?;
    if found.is_empty() {
        return Err(refused(what, file, "holds no certificate (PEM: BEGIN CERTIFICATE)"));
    }
    Ok(found)
}

fn refused(what: &'static str, file: &str, why: impl std::fmt::Display) -> OpenError {
    OpenError::Tls(format!("{what} {file:?} {why}"))
}

/// Who may answer.
#[derive(Debug)]
enum Whom {
    Any,
    Known {
        roots: RootCertStore,
        /// A server's own certificate may be named in place of its authority's, as people do with
        /// one that signed itself.
        named: Vec<CertificateDer<'static>>,
        checks_name: bool,
    },
}

#[derive(Debug)]
struct Verifier {
    whom: Whom,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Whom::Known { roots, named, checks_name } = &self.whom else {
            return Ok(ServerCertVerified::assertion());
        };
        let parsed = ParsedCertificate::try_from(certificate)?;
        if !named.iter().any(|named| named.as_ref() == certificate.as_ref()) {
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(
                &parsed,
                roots,
                intermediates,
                now,
                algorithms,
            )?;
        }
        if *checks_name {
            verify_server_name(&parsed, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if matches!(self.whom, Whom::Any) {
            // Whoever answers may have any certificate, an old one that cannot be parsed, too.
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if matches!(self.whom, Whom::Any) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
