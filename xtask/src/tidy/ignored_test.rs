//! No test is ignored: a test that does not run proves nothing.
//!
//! Guarantees: finds `#[ignore]` with and without a reason, also behind `cfg_attr`.
//! Does not: find tests behind a feature that nobody turns on.

use super::finding::Finding;
use super::rust_code::words;
use super::source::Tree;

const RULE: &str = "ignored-test";

/// Finds ignored tests.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs") {
        for pair in words(file.code()).windows(2) {
            if matches!(pair[0].text, "[" | ",")
                && pair[1].text == "ignore"
                && is_attribute(file.code(), pair[1].line)
            {
                let says = "a test is ignored; make it run everywhere, or remove it";
                findings.push(Finding::broken(RULE, (&file.path, pair[1].line), says.to_owned()));
            }
        }
    }
    findings
}

fn is_attribute(code: &str, line: usize) -> bool {
    code.lines().nth(line - 1).is_some_and(|line| line.trim_start().starts_with("#["))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_test_fails_in_every_spelling() {
        let of = |text: &str| check(&Tree::sample(&[("a.rs", text)])).len();
        assert_eq!(of("#[ignore]\nfn a() {}"), 1);
        assert_eq!(of("#[ignore = \"slow\"]"), 1);
        assert_eq!(of("#[cfg_attr(miri, ignore)]"), 1);
        assert_eq!(of("// #[ignore]\nlet a = [ignore, x];"), 0);
    }
}
