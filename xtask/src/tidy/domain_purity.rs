//! `core::domain` stays pure: no clock, files, threads, network, randomness, async, hash order,
//! and no way up to `core::port`.
//!
//! Guarantees: finds the words in code outside test modules.
//! Does not: follow a re-export; what a dependency does is not seen.

use super::finding::Finding;
use super::rust_code::{Word, words_without_tests};
use super::source::{File, Tree};

const RULE: &str = "domain-purity";
const DOMAIN: &str = "crates/core/src/domain";

/// Words that have no place in the domain, each with what to do instead.
const WORDS: &[(&str, &str)] = &[
    ("Instant", "take the time as a value"),
    ("SystemTime", "take the time as a value"),
    ("HashMap", "use BTreeMap, whose order is always the same"),
    ("HashSet", "use BTreeSet, whose order is always the same"),
    ("async", "return a value and let a higher floor do it"),
    ("await", "return a value and let a higher floor do it"),
    ("tokio", "return a value and let a higher floor do it"),
    ("rand", "take a seed as a value"),
    ("rustix", "ask a port of core::port, on a higher floor"),
    ("tracing", "return a value and let a higher floor say it"),
    ("println", "return a value and let a higher floor say it"),
    ("eprintln", "return a value and let a higher floor say it"),
];

/// Modules of std that reach outside.
const STD_MODULES: &[&str] = &["fs", "thread", "net", "env", "process", "io"];

/// Finds what is not pure.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let of_domain = tree.ending(".rs").filter(|file| {
        let rest = file.path.strip_prefix(DOMAIN);
        rest.is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
    });
    of_domain.flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let words = words_without_tests(file.code());
    let mut findings = Vec::new();
    let mut add = |word: &Word<'_>, way_out: &str| {
        let says = format!("`{}` in the pure domain; {way_out}", word.text);
        findings.push(Finding::broken(RULE, (&file.path, word.line), says));
    };
    for (n, word) in words.iter().enumerate() {
        if let Some((_, way_out)) = WORDS.iter().find(|(bad, _)| *bad == word.text) {
            add(word, way_out);
        }
        if word.text == "port" && in_path(&words, n) {
            add(word, "the domain is below the ports: move the type down or the use up");
        }
        if STD_MODULES.contains(&word.text) && in_std_path(&words, n) {
            add(word, "take what it gives as a value");
        }
    }
    findings
}

fn in_path(words: &[Word<'_>], at: usize) -> bool {
    let near = [at.checked_sub(1), Some(at + 1)];
    near.into_iter().flatten().any(|n| words.get(n).is_some_and(|word| word.text == "::"))
        || in_use_of(words, at, "crate")
}

fn in_std_path(words: &[Word<'_>], at: usize) -> bool {
    let direct = at >= 2 && words[at - 1].text == "::" && words[at - 2].text == "std";
    direct || in_use_of(words, at, "std")
}

/// Whether the word stands in a `use` of this crate, for instance `use std::{fmt, fs}`.
fn in_use_of(words: &[Word<'_>], at: usize, start: &str) -> bool {
    let before = &words[..at];
    let statement = before.iter().rposition(|word| word.text == ";").map_or(0, |n| n + 1);
    let Some(used) = before[statement..].iter().rposition(|word| word.text == "use") else {
        return false;
    };
    let path: Vec<&str> = before[statement + used..].iter().map(|word| word.text).collect();
    path.starts_with(&["use", start, "::", "{"]) && !path.contains(&"}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let tree = Tree::sample(&[("crates/core/src/domain/lease.rs", text)]);
        check(&tree).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn each_impure_word_fails() {
        for (word, _) in WORDS {
            assert_eq!(lines(&format!("//! Lease.\nuse x::{word};")), [2], "{word}");
        }
        for module in STD_MODULES {
            assert_eq!(lines(&format!("use std::{module}::x;")), [1], "{module}");
            assert_eq!(lines(&format!("use std::{{fmt, {module}}};")), [1], "{module}");
        }
    }

    #[test]
    fn the_way_up_to_the_ports_is_closed() {
        assert_eq!(lines("use crate::port::Store;"), [1]);
        assert_eq!(lines("use crate::{domain::Id, port};"), [1]);
        assert!(lines("fn a(port: u16) -> u16 { port }").is_empty());
    }

    #[test]
    fn comments_tests_and_other_floors_are_free() {
        assert!(lines("// no Instant here\n#[cfg(test)]\nmod tests { use std::fs; }").is_empty());
        let port = Tree::sample(&[("crates/core/src/port/clock.rs", "use std::time::Instant;")]);
        assert!(check(&port).is_empty());
    }
}
