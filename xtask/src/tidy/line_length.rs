//! No line of Rust or SQL is wider than 100 columns.
//!
//! Guarantees: counts characters, not bytes.
//! Does not: look at documents, whose tables and links cannot be broken.

use super::finding::Finding;
use super::source::Tree;

const RULE: &str = "line-length";
const COLUMNS_MAX: usize = 100;

/// Finds wide lines.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs").chain(tree.ending(".sql")) {
        for (number, line) in file.lines() {
            let columns = line.chars().count();
            if columns > COLUMNS_MAX {
                let says = format!("{columns} columns, {COLUMNS_MAX} are the most; break it");
                findings.push(Finding::broken(RULE, (&file.path, number), says));
            }
        }
    }
    findings
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
}
