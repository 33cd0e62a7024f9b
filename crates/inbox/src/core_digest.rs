//! The digest of a body's core fields, so that a new timestamp or trace id is no new intent.
//!
//! Guarantees: the same values in the same order give the digest that a sender's `core(…)` gives,
//! whatever else stands in the body. Does not: take a missing field for null: a misspelt pointer
//! would make every body the same intent.

use counterfoil_core::domain::Digest;
use serde_json::Value;

/// Why a body has no core.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CoreRefused {
    /// The body is no JSON.
    #[error("the body is no JSON ({0}): take the digest of its bytes instead")]
    NotJson(serde_json::Error),
    /// No field was named.
    #[error("no core field is named, so every body would be the same intent: name at least one")]
    NoField,
    /// A field is not there.
    #[error(
        "the body has no field {pointer}: correct the JSON pointer (RFC 6901), or let the sender \
         write null where it has no value"
    )]
    Missing {
        /// The JSON pointer.
        pointer: String,
    },
    /// A number that JSON cannot carry.
    #[error("a core field cannot be written canonically: {0}")]
    Canonical(serde_json::Error),
}

/// The digest of the fields at these JSON pointers, in the order given.
///
/// # Errors
/// [`CoreRefused`]: answer 400, the body is not what the receiver takes.
///
/// # Example
/// ```
/// use counterfoil_inbox::core_digest;
/// let core = ["/order_id", "/item/sku"];
/// let one = core_digest(br#"{"order_id":7,"item":{"sku":"a"},"at":"09:00"}"#, &core)?;
/// let two = core_digest(br#"{"at":"09:01","item":{"sku":"a"},"order_id":7}"#, &core)?;
/// assert_eq!(one, two);
/// # Ok::<(), counterfoil_inbox::CoreRefused>(())
/// ```
pub fn core_digest(body: &[u8], pointers: &[&str]) -> Result<Digest, CoreRefused> {
    if pointers.is_empty() {
        return Err(CoreRefused::NoField);
    }
    let body: Value = serde_json::from_slice(body).map_err(CoreRefused::NotJson)?;
    let field = |pointer: &&str| {
        let missing = || CoreRefused::Missing { pointer: (*pointer).into() };
        body.pointer(pointer).cloned().ok_or_else(missing)
    };
    let values: Vec<Value> = pointers.iter().map(field).collect::<Result<_, _>>()?;
    Digest::of_core(&values).map_err(CoreRefused::Canonical)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_the_sender_s_digest_and_order_counts() {
        let body = br#"{"b":[2,{"z":1,"a":1.0}],"a":"x","at":1}"#;
        let core = Digest::of_core(&[json!("x"), json!({"a": 1, "z": 1})]).unwrap();
        assert_eq!(core_digest(body, &["/a", "/b/1"]).unwrap(), core);
        assert_ne!(core_digest(body, &["/b/1", "/a"]).unwrap(), core);
    }

    #[test]
    fn a_missing_field_is_refused_and_null_is_a_value() {
        let of = |body: &[u8], pointers: &[&str]| core_digest(body, pointers);
        assert!(matches!(of(b"{}", &["/a"]), Err(CoreRefused::Missing { .. })));
        assert!(matches!(of(b"{}", &[]), Err(CoreRefused::NoField)));
        assert!(matches!(of(b"{", &["/a"]), Err(CoreRefused::NotJson(_))));
        assert!(of(br#"{"a":null}"#, &["/a"]).is_ok());
    }
}
