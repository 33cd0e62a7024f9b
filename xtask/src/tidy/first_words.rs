//! Every Rust file opens with `//!` and a sentence.
//!
//! Guarantees: holds for tests, build scripts and examples too.
//! Does not: judge the sentence.

use super::finding::Finding;
use super::source::Tree;

const RULE: &str = "first-words";

/// Finds files that open with something else.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let silent = tree.ending(".rs").filter(|file| {
        let first = file.text.lines().next().unwrap_or_default();
        first.strip_prefix("//!").is_none_or(|sentence| sentence.trim().is_empty())
    });
    silent
        .map(|file| {
            let says = "the file does not say what it is; \
                        open it with `//!`, one plain sentence, what it guarantees and what not";
            Finding::broken(RULE, (&file.path, 1), says.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_does_not_say_what_it_is_fails() {
        let of = |text: &str| check(&Tree::sample(&[("build.rs", text)])).len();
        assert_eq!(of("//! The lease.\nfn a() {}"), 0);
        assert_eq!(of("use std::fs;\n//! The lease."), 1);
        assert_eq!(of("//!\n//! The lease."), 1);
        assert_eq!(of(""), 1);
    }
}
