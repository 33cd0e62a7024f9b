//! No function is longer than 60 lines, no test longer than 100.
//!
//! Guarantees: counts from the line of `fn` to its closing brace, both included.
//! Does not: count attributes and doc comments above, or look into macros that make functions.

use super::finding::Finding;
use super::rust_code::{Word, past_block, words, words_without_tests};
use super::source::{File, Tree};

const RULE: &str = "function-length";
const LINES_MAX: usize = 60;
const TEST_LINES_MAX: usize = 100;

/// Finds long functions.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.ending(".rs").flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let all = words(file.code());
    let production = lines_of_functions(&words_without_tests(file.code()));
    let in_tests = file.path.split('/').any(|part| part == "tests");
    let mut findings = Vec::new();
    for (n, word) in all.iter().enumerate() {
        let Some((name, lines)) = function_at(&all, n) else { continue };
        let is_test = in_tests || !production.contains(&word.line);
        let most = if is_test { TEST_LINES_MAX } else { LINES_MAX };
        if lines > most {
            let says = format!("`{name}` has {lines} lines, {most} are the most; split it");
            findings.push(Finding::broken(RULE, (&file.path, word.line), says));
        }
    }
    findings
}

fn lines_of_functions(words: &[Word<'_>]) -> Vec<usize> {
    words.iter().filter(|word| word.text == "fn").map(|word| word.line).collect()
}

/// Name and length of the function whose `fn` stands at `at`, if it has a body.
fn function_at<'a>(words: &[Word<'a>], at: usize) -> Option<(&'a str, usize)> {
    let name = words.get(at + 1)?.text;
    // `fn(` is the type of a function pointer.
    if words[at].text != "fn" || name == "(" {
        return None;
    }
    let mut depth = 0_i32;
    for (n, word) in words.iter().enumerate().skip(at) {
        match word.text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            ";" if depth == 0 => return None,
            "{" if depth == 0 => {
                let last = words[past_block(words, n) - 1].line;
                return Some((name, last - words[at].line + 1));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(lines: usize) -> String {
        format!("fn long(a: [u8; 4])\n{{\n{}}}\n", "    a(\"}\");\n".repeat(lines - 3))
    }

    #[test]
    fn a_long_function_fails_and_its_line_is_named() {
        let found = |text: &str| check(&Tree::sample(&[("a.rs", text)]));
        assert!(found(&function(60)).is_empty());
        let long = found(&format!("trait T {{ fn short(&self); }}\n\n{}", function(61)));
        assert_eq!((long.len(), long[0].line), (1, 3));
        assert!(long[0].says.contains("`long` has 61 lines"));
    }

    #[test]
    fn tests_may_be_longer() {
        let inside = |lines| format!("#[cfg(test)]\nmod tests {{\n{}\n}}", function(lines));
        assert!(check(&Tree::sample(&[("a.rs", &inside(100))])).is_empty());
        assert_eq!(check(&Tree::sample(&[("a.rs", &inside(101))])).len(), 1);
        let path = "crates/a/tests/it/lease.rs";
        assert!(check(&Tree::sample(&[(path, &function(100))])).is_empty());
        assert_eq!(check(&Tree::sample(&[(path, &function(101))])).len(), 1);
    }
}
