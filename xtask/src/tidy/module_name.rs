//! A file or module is named by a word of the glossary, not by a word that fits everything.
//!
//! Guarantees: finds such names of files, folders and inline modules.
//! Does not: look the other names up in the glossary.

use super::finding::Finding;
use super::rust_code::words;
use super::source::{File, Tree};

const RULE: &str = "module-name";
const NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "manager", "misc"];

/// Finds names that say nothing.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.ending(".rs").flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let path = file.path.trim_end_matches(".rs");
    let of_path = path.split('/').filter(|part| says_nothing(part)).map(|part| (1, part));
    let words = words(file.code());
    let modules = words.windows(3).filter(|three| three[0].text == "mod" && three[2].text == "{");
    let of_code = modules.map(|three| (three[1].line, three[1].text));
    let bad = of_path.chain(of_code.filter(|(_, name)| says_nothing(name)));
    bad.map(|(line, name)| {
        let says = format!("`{name}` says nothing; name it by a word of docs/glossary.md");
        Finding::broken(RULE, (&file.path, line), says)
    })
    .collect()
}

/// `lease_manager` says no more than `manager`.
fn says_nothing(name: &str) -> bool {
    name.rsplit('_').next().is_some_and(|last| NAMES.contains(&last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_fit_everything_fail() {
        let of = |path: &str, text: &str| check(&Tree::sample(&[(path, text)])).len();
        assert_eq!(of("crates/a/src/utils.rs", ""), 1);
        assert_eq!(of("crates/a/tests/common/mod.rs", ""), 1);
        assert_eq!(of("crates/a/src/lease_manager.rs", ""), 1);
        assert_eq!(of("crates/a/src/lease.rs", "mod helpers { fn a() {} }"), 1);
        assert_eq!(of("crates/a/src/lease.rs", "// mod util {\nmod commonplace {}"), 0);
    }
}
