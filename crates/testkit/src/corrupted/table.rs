//! The table of what an audit finds, as `docs/corrupted-stores.md` has it.
//!
//! Guarantees: a corruption that is found no more, or found at last, changes the text. Does not:
//! name each row that only an audit without a seal misses; it counts them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use counterfoil_core::domain::laws::law;

use super::reasons::REASONS;
use super::{Change, Found, REFUSED};

/// What one kind of change came to, over all rows.
#[derive(Default)]
struct Line {
    done: usize,
    found: usize,
    codes: BTreeSet<&'static str>,
    missed: BTreeSet<String>,
    why: Option<&'static str>,
}

type Key = (&'static str, String, &'static str);

/// The table of a store, from both audits of the same corruptions.
///
/// # Panics
/// At a miss without a reason.
#[must_use]
pub fn table(without: &[Found], with: &[Found]) -> String {
    let mut order: Vec<Key> = Vec::new();
    let [without, with] = [without, with].map(|all| lines(all, &mut order));
    let mut text = String::from(
        "| table | column | changed to | rows | without a seal | with a seal | not found, and why \
         |\n|---|---|---|---|---|---|---|\n",
    );
    for key in &order {
        let (table, column, how) = key;
        let (plain, sealed) = (&without[key], &with[key]);
        let missed: Vec<_> = sealed.missed.iter().map(String::as_str).collect();
        let missed = match (missed.is_empty(), sealed.why) {
            (true, _) => String::new(),
            (false, why) => format!("{}: {}", missed.join(", "), why.unwrap_or_default()),
        };
        let (done, one, two) = (plain.done, told(plain), told(sealed));
        writeln!(text, "| {table} | {column} | {how} | {done} | {one} | {two} | {missed} |")
            .unwrap();
    }
    let sum = |lines: &BTreeMap<Key, Line>| -> (usize, usize) {
        (lines.values().map(|line| line.found).sum(), lines.values().map(|line| line.done).sum())
    };
    let ((one, all), (two, _)) = (sum(&without), sum(&with));
    write!(
        text,
        "\nOf {all} corruptions an audit without a seal finds {one}, with a seal {two}.\n"
    )
    .unwrap();
    text
}

fn told(line: &Line) -> String {
    let codes: Vec<_> = line.codes.iter().copied().collect();
    match (line.found, line.found == line.done) {
        (0, _) => "–".into(),
        (_, true) => codes.join(" "),
        (found, false) => format!("{found}: {}", codes.join(" ")),
    }
}

fn lines(all: &[Found], order: &mut Vec<Key>) -> BTreeMap<Key, Line> {
    let mut lines: BTreeMap<Key, Line> = BTreeMap::new();
    for (case, codes) in all {
        let (column, how) = match &case.change {
            Change::Delete => ("–".to_owned(), "removed"),
            Change::Duplicate => ("–".to_owned(), "repeated"),
            Change::Alter { column, how, .. } => (column.clone(), how.words()),
        };
        let key = (case.table, column, how);
        if !order.contains(&key) {
            order.push(key.clone());
        }
        let line = lines.entry(key).or_default();
        line.done += 1;
        line.codes.extend(codes);
        if codes.is_empty() {
            let to = match &case.change {
                Change::Alter { how: super::How::Name, to, .. } => {
                    format!(" → {}", to.trim_matches('\''))
                }
                _ => String::new(),
            };
            line.missed.insert(format!("{}{to}", case.row));
            line.why = line.why.or_else(|| {
                REASONS.iter().find(|reason| reason.covers(case)).map(|reason| reason.why)
            });
        } else {
            line.found += 1;
        }
    }
    lines
}

/// What an audit without a seal finds, by what one with a seal told: the seal adds laws of its own,
/// and takes none away.
#[must_use]
pub fn without_seal(with: &[Found]) -> Vec<Found> {
    let of_seal = [law::SEALED.code, law::SEAL_BEYOND.code];
    let bare = |codes: &BTreeSet<_>| {
        codes.iter().copied().filter(|code| !of_seal.contains(code)).collect()
    };
    with.iter().map(|(case, codes)| (case.clone(), bare(codes))).collect()
}

/// Misses without a reason, reasons without a miss, and corruptions that stop an audit.
#[must_use]
pub fn unexplained(store: &str, sealed: &[Found]) -> Vec<String> {
    let missed: Vec<_> = sealed.iter().filter(|(_, codes)| codes.is_empty()).collect();
    let bare = missed
        .iter()
        .filter(|(case, _)| !REASONS.iter().any(|reason| reason.covers(case)))
        .map(|(case, _)| format!("no reason: {case:?}"));
    let idle = REASONS
        .iter()
        .filter(|reason| reason.is_of(store))
        .filter(|reason| !missed.iter().any(|(case, _)| reason.covers(case)))
        .map(|reason| format!("no miss for the reason: {}", reason.why));
    let stopped = sealed
        .iter()
        .filter(|(_, codes)| codes.contains(REFUSED))
        .map(|(case, _)| format!("the audit cannot be made: {case:?}"));
    bare.chain(idle).chain(stopped).collect()
}

/// Holds the part of `docs/corrupted-stores.md` that is about a store to `table`;
/// `UPDATE_DOCS=1` writes it anew.
///
/// # Panics
/// If the page says otherwise.
pub fn holds_page(store: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/corrupted-stores.md");
    let stands = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {store}: begin -->\n"), format!("<!-- {store}: end -->\n"));
    let (head, rest) = stands.split_once(&begin).unwrap();
    let (stood, tail) = rest.split_once(&end).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}{begin}\n{table}\n{end}{tail}")).unwrap();
        return;
    }
    let differs = |line: &&str| !stood.lines().any(|other| other == *line);
    let new: Vec<_> = table.lines().filter(differs).collect();
    assert!(
        stood.trim() == table.trim(),
        "the audit of a corrupted store finds other things than the page says; UPDATE_DOCS=1 \
         writes it anew, if that is meant: {new:#?}"
    );
}
