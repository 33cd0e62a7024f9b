//! The `webhook-` headers: a request signed as Standard Webhooks v1 says.
//!
//! Guarantees: each secret signs `id.timestamp.body`, the id as it stands in `webhook-id`; several
//! signatures stand side by side, so that a secret can be replaced without a gap. Does not: print
//! a secret, in errors neither.

use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use base64::{Engine as _, alphabet};
use counterfoil_core::domain::Micros;
use hmac::{Hmac, KeyInit as _, Mac as _};
use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue, InvalidHeaderValue};
use sha2::Sha256;

use super::key;
use super::refused::HttpRefused;

static ID: HeaderName = HeaderName::from_static("webhook-id");
static TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
static SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

const PREFIX: &str = "whsec_";
/// What Standard Webhooks asks of a secret at least; shorter ones are taken with a warning.
const SECRET_BYTES_MIN: usize = 24;

/// Secrets are copied by hand, so padding may be there or not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Signs with every secret of one destination; with none it writes no header.
pub(super) struct Signer {
    keys: Vec<Hmac<Sha256>>,
}

impl Signer {
    /// Takes secrets of the form `whsec_<base64>`.
    pub(super) fn new(secrets: &[String]) -> Result<Self, HttpRefused> {
        let keys = secrets.iter().zip(1..).map(|(secret, place)| key_of(secret, place));
        Ok(Self { keys: keys.collect::<Result<_, _>>()? })
    }

    /// Adds the three headers.
    pub(super) fn sign(
        &self,
        headers: &mut HeaderMap,
        id: &str,
        now: Micros,
        body: &[u8],
    ) -> Result<(), InvalidHeaderValue> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let id = key::of_webhook(id);
        let timestamp = now.get().div_euclid(1_000_000);
        let signatures = self.signatures(&id, timestamp, body);
        headers.insert(&ID, HeaderValue::from_maybe_shared(bytes::Bytes::from(id))?);
        headers.insert(&TIMESTAMP, HeaderValue::from(timestamp));
        headers.insert(&SIGNATURE, HeaderValue::try_from(signatures)?);
        Ok(())
    }

    fn signatures(&self, id: &[u8], timestamp: i64, body: &[u8]) -> String {
        let prefix = format!(".{timestamp}.");
        let mut signatures = String::new();
        for key in &self.keys {
            let mut mac = key.clone();
            mac.update(id);
            mac.update(prefix.as_bytes());
            mac.update(body);
            signatures.push_str(if signatures.is_empty() { "v1," } else { " v1," });
            STANDARD.encode_string(mac.finalize().into_bytes(), &mut signatures);
        }
        signatures
    }
}

fn key_of(secret: &str, place: usize) -> Result<Hmac<Sha256>, HttpRefused> {
    let refused = |why| HttpRefused::Secret { place, why };
    let encoded = secret.strip_prefix(PREFIX).ok_or(refused("does not begin with whsec_"))?;
    let key = BASE64.decode(encoded).map_err(|_| refused("is no base64 after whsec_"))?;
    if key.is_empty() {
        return Err(refused("is empty after whsec_"));
    }
    if key.len() < SECRET_BYTES_MIN {
        tracing::warn!(secret = place, "a signing secret has less than 24 bytes; use a longer one");
    }
    Hmac::new_from_slice(&key).map_err(|_| refused("has a length that HMAC does not take"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Computed with Python: base64.b64encode(hmac.new(base64.b64decode(SECRET[6:]),
    //   b"order%2Epaid:A-1.1764421200." + BODY, hashlib.sha256).digest())
    const ONE: &str = "whsec_Q291bnRlcmZvaWwgc2lnbnMgd2l0aCB0aGlzIGtleSE=";
    const TWO: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
    const BODY: &[u8] = b"{\"order_id\":\"A-1\"}\x00\xff";

    #[test]
    fn known_answers() {
        let signer = Signer::new(&[ONE.into(), TWO.into()]).unwrap();
        let mut headers = HeaderMap::new();
        let now = Micros::new(1_764_421_200_999_999);
        signer.sign(&mut headers, "order.paid:A-1", now, BODY).unwrap();
        assert_eq!(headers["webhook-id"], "order%2Epaid:A-1");
        assert_eq!(headers["webhook-timestamp"], "1764421200");
        let one = "v1,LOXWl3NpmwL55xvTqxSC8JVPCJLfGGlPxubSGMn7n0U=";
        let two = "v1,1XWHBg8cDS6ZuUBU3BqcKSUtMq2IrCB0wy4r0tCZauw=";
        assert_eq!(headers["webhook-signature"], format!("{one} {two}"));
    }

    #[test]
    fn without_secrets_there_is_no_header() {
        let mut headers = HeaderMap::new();
        Signer::new(&[]).unwrap().sign(&mut headers, "a", Micros::new(0), b"").unwrap();
        assert!(headers.is_empty());
    }

    #[test]
    fn bad_secrets_are_refused_by_place_and_never_shown() {
        for secret in ["hunter2hunter2", "whsec_!!hunter2", "whsec_"] {
            let Err(refused) = Signer::new(&[ONE.into(), secret.into()]) else {
                panic!("{secret} was taken");
            };
            let text = refused.to_string();
            assert!(text.contains("secret 2") && !text.contains("hunter2"), "{text}");
        }
    }
}
