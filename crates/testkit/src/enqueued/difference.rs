//! How far apart two texts are, and where two JSON bodies differ.
//!
//! Guarantees: pure; a list of differences has a bound. Does not: compare members that are not
//! wanted.

use serde_json::Value;

/// The most differences of a body that are told.
const TOLD_MAX: usize = 8;
/// Longer texts are compared by this many characters only.
const CHARS_MAX: usize = 128;

/// Where `is` lacks what is `wanted`, by path.
pub(super) fn in_body(path: &str, is: &Value, wanted: &Value, found: &mut Vec<String>) {
    if found.len() >= TOLD_MAX {
        return;
    }
    if let (Value::Object(is), Value::Object(wanted)) = (is, wanted) {
        for (name, wanted) in wanted {
            let path = format!("{path}.{name}");
            match is.get(name) {
                Some(is) => in_body(&path, is, wanted, found),
                None => found.push(format!("{path} is missing, not {wanted}")),
            }
        }
    } else if is != wanted {
        found.push(format!("{path} is {is}, not {wanted}"));
    }
}

/// How many characters must be put in, taken out or replaced to make one text the other.
pub(super) fn edits(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(CHARS_MAX).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().take(CHARS_MAX).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("A-001", "A-01"), 1);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("same", "same"), 0);
    }

    #[test]
    fn only_what_is_wanted_is_compared() {
        let mut found = Vec::new();
        let is = json!({"a": 1, "b": {"c": [1, 2], "d": 4}});
        in_body("body", &is, &json!({"b": {"c": [1, 2]}}), &mut found);
        assert!(found.is_empty(), "{found:?}");
        in_body("body", &is, &json!({"a": 2, "b": {"c": [1]}, "e": 1}), &mut found);
        let told = ["body.a is 1, not 2", "body.b.c is [1,2], not [1]", "body.e is missing, not 1"];
        assert_eq!(found, told);
    }
}
