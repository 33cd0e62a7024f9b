//! Every SQL file opens with a comment: what it does, and for a statement the index that serves it.
//!
//! Guarantees: the first line is a `--` comment with words.
//! Does not: prove the index; the store's tests ask the database for its plan.

use super::finding::Finding;
use super::source::Tree;

const RULE: &str = "sql-comment";

/// Finds SQL files without a first comment.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let silent = tree.ending(".sql").filter(|file| {
        let first = file.text.lines().next().unwrap_or_default();
        first.strip_prefix("--").is_none_or(|words| words.trim().is_empty())
    });
    silent
        .map(|file| {
            let says = "the statement has no comment; \
                        open the file with `--`, what it does and which index serves it";
            Finding::broken(RULE, (&file.path, 1), says.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_without_a_comment_fails() {
        let of = |text: &str| check(&Tree::sample(&[("sql/sqlite/claim.sql", text)])).len();
        assert_eq!(of("-- Claims what is due, by index `due`.\nUPDATE x"), 0);
        assert_eq!(of("UPDATE x -- by index"), 1);
        assert_eq!(of("--\nUPDATE x"), 1);
    }
}
