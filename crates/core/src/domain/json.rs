//! JSON bodies written one way: keys sorted, no spaces, numbers as they are.
//!
//! Guarantees: the same value gives the same bytes, whatever order a map was filled in. Does not:
//! change numbers, as RFC 8785 would: a 64-bit id stays a 64-bit id.

use serde::Serialize;
use serde_json::{Map, Value};

/// Writes `value` as JSON with sorted keys.
///
/// # Errors
/// What serde reports: a map key that is no string, a type that refuses.
pub fn to_sorted_vec(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&sorted(serde_json::to_value(value)?))
}

/// Sorted by hand: another crate of the build may switch on serde_json's `preserve_order`.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        Value::Object(map) => {
            let mut entries: Vec<_> = map.into_iter().collect();
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            let entries = entries.into_iter().map(|(key, value)| (key, sorted(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        plain => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_and_numbers_kept() {
        let value = serde_json::json!({"b": [{"d": 1, "c": u64::MAX}], "a": "订单"});
        let bytes = to_sorted_vec(&value).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text, r#"{"a":"订单","b":[{"c":18446744073709551615,"d":1}]}"#);
    }
}
