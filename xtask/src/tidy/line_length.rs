//! No line of Rust or SQL is wider than 100 columns.
//!
//! Guarantees: counts characters, not bytes.
//! Does not: look at documents, whose tables and links cannot be broken; or count the message in
//! SQLite's `RAISE`, which must be one literal for libraries before 3.47.

use super::finding::Finding;
use super::source::Tree;

const RULE: &str = "line-length";
const COLUMNS_MAX: usize = 100;

/// Finds wide lines.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs").chain(tree.ending(".sql")) {
        for (number, line) in file.lines() {
            let columns = without_message(line).chars().count();
            if columns > COLUMNS_MAX {
                let says = format!("{columns} columns, {COLUMNS_MAX} are the most; break it");
                findings.push(Finding::broken(RULE, (&file.path, number), says));
            }
        }
    }
    findings
}

/// The line with the text of a `RAISE` message left out.
fn without_message(line: &str) -> String {
    let Some((before, message)) = line.split_once("RAISE(").and_then(|(before, rest)| {
        let (verb, rest) = rest.split_once('\'')?;
        Some((format!("{before}RAISE({verb}"), rest))
    }) else {
        return line.to_owned();
    };
    // A doubled quote stands for one inside the message.
    let mut quotes = message.match_indices('\'').map(|(at, _)| at).peekable();
    while let Some(at) = quotes.next() {
        if quotes.next_if_eq(&(at + 1)).is_none() {
            return before + &message[at + 1..];
        }
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_line_fails() {
        let of = |columns: usize| check(&Tree::sample(&[("a.sql", &"字".repeat(columns))]));
        assert!(of(100).is_empty());
        assert_eq!(of(101).len(), 1);
    }

    #[test]
    fn the_message_of_a_raise_is_not_counted_but_the_rest_of_its_line_is() {
        let of = |before: usize| {
            let line = format!("{}RAISE(ABORT, 'it''s {}');", " ".repeat(before), "x".repeat(99));
            check(&Tree::sample(&[("a.sql", &line)])).len()
        };
        assert_eq!((of(60), of(90)), (0, 1));
    }
}
