//! No Rust file is longer than 500 lines; longer than 300 is worth a look.
//!
//! Guarantees: tests count like all other lines.
//! Does not: look at SQL, documents or data.

use super::finding::Finding;
use super::source::Tree;

const RULE: &str = "file-length";
const LINES_MAX: usize = 500;
const LINES_GOOD: usize = 300;

/// Finds long files.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let lengths = tree.ending(".rs").map(|file| (file.path.as_str(), file.text.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > LINES_GOOD);
    long.map(|(path, lines)| {
        let says = format!("{lines} lines, {LINES_GOOD} are good, {LINES_MAX} the most; split it");
        let judge = if lines > LINES_MAX { Finding::broken } else { Finding::note };
        judge(RULE, (path, 1), says)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::Weight;
    use super::*;

    #[test]
    fn long_files_are_noted_and_longer_ones_fail() {
        let of = |lines: usize| check(&Tree::sample(&[("a.rs", &"x\n".repeat(lines))]));
        assert!(of(300).is_empty());
        assert_eq!(of(301)[0].weight, Weight::Note);
        assert_eq!(of(500)[0].weight, Weight::Note);
        assert_eq!(of(501)[0].weight, Weight::Broken);
    }
}
