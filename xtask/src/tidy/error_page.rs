//! Every code of an error has one row on a page for people, and every row has a code.
//!
//! Guarantees: codes of `crates/*/src` and `sql` are found wherever they stand in a file, rows in
//! the first column of `docs/errors.md` and `docs/laws.md`. Does not: judge what a row says.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::source::{File, Tree};

const RULE: &str = "error-page";
const PAGES: [&str; 2] = ["docs/errors.md", "docs/laws.md"];
const DIGITS: usize = 4;

/// Where something stands: file and line.
type Place<'t> = (&'t str, usize);

/// Finds codes without a row, rows without a code, and codes with two rows.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut raised = BTreeMap::new();
    for file in tree.all().filter(|file| is_source(&file.path)) {
        for (code, place) in codes(file) {
            raised.entry(code).or_insert(place);
        }
    }
    let mut findings = Vec::new();
    let mut rows: BTreeMap<&str, Place<'_>> = BTreeMap::new();
    for (code, place) in PAGES.iter().filter_map(|page| tree.at(page)).flat_map(codes_of_rows) {
        if let Some((page, line)) = rows.insert(code, place) {
            let says = format!("{code} has a row at {page}:{line} already; keep one of the two");
            findings.push(Finding::broken(RULE, place, says));
        }
        if !raised.contains_key(code) {
            let says = format!("nothing raises {code} any more; remove its row");
            findings.push(Finding::broken(RULE, place, says));
        }
    }
    for (code, place) in raised.into_iter().filter(|(code, _)| !rows.contains_key(code)) {
        let says = format!("{code} has no row; say in {} what it means and the way out", PAGES[0]);
        findings.push(Finding::broken(RULE, place, says));
    }
    findings
}

fn is_source(path: &str) -> bool {
    let of_crate = path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
    path.starts_with("sql/") || of_crate.is_some_and(|(_, inside)| inside.starts_with("src/"))
}

fn codes(file: &File) -> impl Iterator<Item = (&str, Place<'_>)> {
    let place = |line| (file.path.as_str(), line);
    file.lines()
        .flat_map(move |(line, text)| codes_in(text).into_iter().map(move |c| (c, place(line))))
}

fn codes_of_rows(file: &File) -> impl Iterator<Item = (&str, Place<'_>)> {
    let row = |text| {
        let (first, _) = str::strip_prefix(text, "| `")?.split_once("` |")?;
        (codes_in(first) == [first]).then_some(first)
    };
    file.lines().filter_map(move |(line, text)| Some((row(text)?, (file.path.as_str(), line))))
}

/// Each `CF` with four digits behind it and no letter or digit around it.
fn codes_in(line: &str) -> Vec<&str> {
    let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = line.as_bytes();
    let found = line.match_indices("CF").filter_map(|(at, _)| {
        let end = at + 2 + DIGITS;
        let digits = bytes.get(at + 2..end)?;
        let alone = !is_word(bytes.get(end)) && !is_word(at.checked_sub(1).map(|n| &bytes[n]));
        (alone && digits.iter().all(u8::is_ascii_digit)).then(|| &line[at..end])
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::sample(files)).iter().map(ToString::to_string).collect()
    }

    const RAISED: [(&str, &str); 2] = [
        ("crates/a/src/b/c.rs", "fn code() -> &str {\n    \"CF0501\"\n}"),
        ("sql/sqlite/d.sql", "-- x\nRAISE(ABORT, 'CF0101 same id, other content')"),
    ];

    #[test]
    fn codes_and_rows_that_match_are_tidy() {
        let page = ("docs/errors.md", "| `CF0501` | no file | make it |");
        let laws = ("docs/laws.md", "see `CF0999`\n| `CF0101` | a law | mend it |");
        assert!(said(&[RAISED[0], RAISED[1], page, laws]).is_empty());
    }

    #[test]
    fn a_code_without_a_row_is_found_where_it_stands() {
        let page = ("docs/errors.md", "| `CF0501` | no file | see `CF0101` |\n`CF0101`");
        let said = said(&[RAISED[0], RAISED[1], page]);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("sql/sqlite/d.sql:2: [error-page] CF0101 has no row"));
    }

    #[test]
    fn a_row_without_a_code_and_a_second_row_are_found() {
        let page = "| `CF0101` | a | b |\n| `CF0501` | a | b |\n| `CF0101` | c | d |\n| `CF0777` |";
        let tests = ("crates/a/tests/it/main.rs", "CF0777");
        let said = said(&[RAISED[0], RAISED[1], tests, ("docs/errors.md", page)]);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said[0].starts_with("docs/errors.md:3:") && said[0].contains("errors.md:1 already")
        );
        assert!(said[1].starts_with("docs/errors.md:4:") && said[1].contains("nothing raises"));
    }

    #[test]
    fn a_code_is_a_word_of_its_own() {
        assert_eq!(
            codes_in("(CF0101, CF08441 xCF0102 CF010 CF0103a 'CF0104 …"),
            ["CF0101", "CF0104"]
        );
        assert!(codes_in("订单CF").is_empty());
    }
}
