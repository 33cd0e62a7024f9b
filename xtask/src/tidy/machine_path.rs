//! No file names a path of the machine that it was written on.
//!
//! Guarantees: finds absolute paths below the usual homes and work folders, in every text file.
//! Does not: look into `Cargo.lock`, which cargo writes.

use super::finding::Finding;
use super::source::Tree;

const RULE: &str = "machine-path";

// In two parts, so that this file does not find itself.
const STARTS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/tmp/", "cf")];

/// Finds paths of a machine.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.all().filter(|file| !file.path.ends_with("Cargo.lock")) {
        for (number, line) in file.lines() {
            for start in STARTS.iter().filter(|start| holds_path(line, start)) {
                let says = format!("`{start}` is a path of one machine; write a relative path");
                findings.push(Finding::broken(RULE, (&file.path, number), says));
            }
        }
    }
    findings
}

/// Inside a longer path or a URL the same letters are harmless.
fn holds_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || "_-.~}*".contains(c)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_machine_fails_and_a_part_of_another_path_does_not() {
        for start in STARTS {
            let tree = Tree::sample(&[("docs/a.md", &format!("see `{start}x`"))]);
            assert_eq!(check(&tree).len(), 1, "{start}");
        }
        let harmless = format!("http://127.0.0.1:80{0}x crates{0}x .{0}x", STARTS[0]);
        assert!(check(&Tree::sample(&[("a.rs", &harmless)])).is_empty());
    }
}
