//! No note to self stays in the tree: what is not done is an issue, not a comment.
//!
//! Guarantees: whole words only, in code, SQL, scripts and configuration, comments included.
//! Does not: look at documents, which may speak of the words.

use super::finding::Finding;
use super::source::Tree;

const RULE: &str = "forbidden-word";
const KINDS: &[&str] = &[".rs", ".sql", ".toml", ".sh", ".py"];

// In two parts, so that this file does not find itself.
const WORDS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("to", "do!"),
    concat!("unimple", "mented!"),
];

/// Finds notes to self.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in KINDS.iter().flat_map(|kind| tree.ending(kind)) {
        for (number, line) in file.lines() {
            for word in WORDS.iter().filter(|word| holds_word(line, word)) {
                let says = format!("`{word}` stands here; do it, or file an issue and remove it");
                findings.push(Finding::broken(RULE, (&file.path, number), says));
            }
        }
    }
    findings
}

fn holds_word(line: &str, word: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !is_word(before) && (word.ends_with('!') || !is_word(after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_fails_and_longer_words_do_not() {
        for word in WORDS {
            let tree = Tree::sample(&[("a.sql", &format!("-- {word} later"))]);
            assert_eq!(check(&tree).len(), 1, "{word}");
        }
        let harmless = format!("// a{0} {0}S _{0} auto{1}", WORDS[0], WORDS[3]);
        assert!(check(&Tree::sample(&[("a.rs", &harmless)])).is_empty());
    }
}
