//! `cargo xtask tidy`: the house rules that no compiler knows, also run as a test.
//!
//! Guarantees: every finding says file, line, rule and way out; notes alone do not fail.
//! Does not: change a file, or look at what git ignores.

mod domain_purity;
mod error_page;
mod file_length;
mod finding;
mod first_words;
mod floor;
mod forbidden_word;
mod function_length;
mod ignored_test;
mod line_length;
mod link;
mod machine_path;
mod module_name;
mod orphan;
mod rust_code;
mod source;
mod sql_comment;

use anyhow::{Result, bail};

use finding::{Finding, Weight};
use source::Tree;

/// A rule of the house: it looks at the whole tree and says what breaks it.
type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[Rule] = &[
    file_length::check,
    function_length::check,
    line_length::check,
    first_words::check,
    forbidden_word::check,
    ignored_test::check,
    module_name::check,
    floor::check,
    domain_purity::check,
    orphan::check,
    sql_comment::check,
    link::check,
    machine_path::check,
    error_page::check,
];

/// Checks the tree and prints what it finds.
///
/// # Errors
/// At least one rule is broken, or the tree cannot be read.
pub(crate) fn run() -> Result<()> {
    eprintln!("\n==> tidy: {} rules", RULES.len());
    let findings = findings(&Tree::of_git()?);
    for finding in &findings {
        eprintln!("{finding}");
    }
    let broken = findings.iter().filter(|finding| finding.weight == Weight::Broken).count();
    if broken > 0 {
        bail!("tidy: {broken} to mend; to repeat this stage alone: cargo xtask tidy");
    }
    eprintln!("    tidy ok, {} notes", findings.len());
    Ok(())
}

fn findings(tree: &Tree) -> Vec<Finding> {
    RULES.iter().flat_map(|rule| rule(tree)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let mut findings = findings(&Tree::of_git().unwrap());
        findings.retain(|finding| finding.weight == Weight::Broken);
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}", lines.join("\n"));
    }
}
