//! How much of what strangers say a saga keeps in its own events.
//!
//! Guarantees: an event of a saga, and its end, fit where they are written, however long a start, a
//! signal, a result or a reason is. Does not: bound the commands, which the saga's author makes.

use std::io::{self, Write};

use counterfoil_core::domain::command::BODY_BYTES_LIMIT;
use serde_json::{Map, Value};

use crate::limits::DECIDED_BYTES_MAX;

/// What an event has beside the value that it holds: the names of its fields, a label, a name.
const BESIDE_BYTES: usize = 4 * 1024;
/// The most bytes that a value in an event may have as JSON: a little less than 16 MiB.
pub(super) const VALUE_BYTES_MAX: usize = BODY_BYTES_LIMIT - BESIDE_BYTES;
/// The most bytes that the results in the end may have as JSON.
const RESULTS_BYTES_MAX: usize = DECIDED_BYTES_MAX - 64 * 1024;

/// The bytes of `value` as JSON, where an event cannot hold so many.
pub(super) fn too_long(value: &Value) -> Option<usize> {
    Some(length(value)).filter(|bytes| *bytes > VALUE_BYTES_MAX)
}

/// What fits into the end of all results: the longest are left out, as `null`, until it does. They
/// stand in the events of their steps.
pub(super) fn results(mut results: Map<String, Value>) -> Value {
    let mut lengths: Vec<_> =
        results.iter().map(|(label, value)| (length(value), label.clone())).collect();
    lengths.sort_unstable();
    let labels: usize = results.keys().map(|label| 6 * label.len() + 8).sum();
    let mut total = labels + lengths.iter().map(|(bytes, _)| bytes).sum::<usize>();
    while total > RESULTS_BYTES_MAX
        && let Some((bytes, label)) = lengths.pop()
    {
        total -= bytes;
        results.insert(label, Value::Null);
    }
    Value::Object(results)
}

/// The bytes of a value as JSON.
fn length(value: &Value) -> usize {
    let mut counted = Counted(0);
    // A value is always JSON, and counting never fails.
    let _written = serde_json::to_writer(&mut counted, value);
    counted.0
}

struct Counted(usize);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_longest_results_are_left_out_of_the_end() {
        let long = |bytes: usize| Value::String("x".repeat(bytes));
        let all = |given: Value| match given {
            Value::Object(map) => results(map),
            other => other,
        };
        let small = json!({"a": 1, "b": "two"});
        assert_eq!(all(small.clone()), small);
        let ended = all(json!({"a": 1, "b": long(600_000), "c": long(500_000), "d": long(9)}));
        assert_eq!((&ended["b"], &ended["c"]), (&Value::Null, &long(500_000)));
        assert_eq!((&ended["a"], &ended["d"]), (&json!(1), &long(9)));
    }

    #[test]
    fn a_value_is_measured_as_it_is_written() {
        assert_eq!(length(&json!({"a": ["\n", null]})), r#"{"a":["\n",null]}"#.len());
        assert_eq!(too_long(&json!(1)), None);
        let escaped = Value::String("\u{1}".repeat(VALUE_BYTES_MAX / 6 + 1));
        assert!(too_long(&escaped).is_some());
    }
}
