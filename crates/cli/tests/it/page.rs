//! The pages under `docs/` name what the program has: no key, flag or table is missing or gone.
//!
//! Guarantees: keys are those of the tables that are parsed, flags those of `--help`, tables those
//! of `init --sql`, tests and files those of the tree. Does not: judge what a page says about them.

use std::collections::BTreeSet;
use std::path::Path;

use crate::program::Desk;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Everything between a pair of `backticks`.
fn code_of(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The first word of each row that stands in backticks, such as `url` of `[store] url`.
fn rows_of(text: &str) -> BTreeSet<String> {
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let first = rows.filter_map(|row| row.split(" | ").next());
    first.flat_map(|cell| code_of(cell).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The keys that a table of the configuration has, as its struct in the source says.
fn keys_of<'s>(source: &'s str, table: &str) -> Vec<&'s str> {
    let begin = source.find(&format!("struct {table} {{")).unwrap();
    let inside = source[begin..].split("\n}").next().unwrap();
    let fields = inside.lines().skip(1).filter(|line| !line.trim().starts_with(['#', '/']));
    let names = fields.filter_map(|field| field.trim().split(':').next());
    let names = names.map(|name| name.trim_start_matches("pub(crate) ").trim_start_matches("r#"));
    names.filter(|name| !name.starts_with('_')).collect()
}

#[test]
fn every_key_of_the_configuration_has_its_row() {
    let source = read("crates/cli/src/config/file.rs");
    let all = ["ask", "habits", "tls", "api", "announce", "telemetry"]
        .map(|file| read(&format!("crates/cli/src/config/{file}.rs")));
    let all = format!("{source}{}", all.concat());
    let mut keys = BTreeSet::new();
    // Tables, which have rows of their own.
    let tables = ["retry", "ask", "not_there", "success", "outcome", "key", "tls", "tokens"];
    for (table, before) in [
        ("StoreTable", "[store] "),
        ("RelayTable", "[relay] "),
        ("AnnounceTable", "[announce] "),
        ("TelemetryTable", "[telemetry] "),
        ("ApiTable", "[api] "),
        ("TokenTable", "[api] tokens."),
        ("AuditTable", "[audit] "),
        ("ArchiveTable", "[archive] "),
        ("DestinationTable", ""),
        ("RetryTable", "retry."),
        ("AskTable", "ask."),
        ("NotThereTable", "ask.not_there."),
        ("SuccessTable", "success."),
        ("OutcomeTable", "outcome."),
        ("KeyTable", "key."),
        ("TlsTable", "tls."),
    ] {
        let is_inner = before.contains('.');
        let names = keys_of(&all, table).into_iter();
        let names =
            names.filter(|name| (is_inner && *name != "not_there") || !tables.contains(name));
        keys.extend(names.map(|name| format!("{before}{name}")));
    }
    let page = read("docs/configuration.md");
    let (of_keys, _) = page.split_once("Refused by name").unwrap();
    let (before, options) = of_keys.split_once("## A store on PostgreSQL").unwrap();
    let (_, after) = options.split_once("\n## ").unwrap();
    assert_eq!(rows_of(&format!("{before}{after}")), keys);
}

/// Those that are read here, and those that are left to the driver.
#[test]
fn every_option_of_a_postgres_url_has_its_row() {
    let source = read("crates/cli/src/config/postgres_url.rs");
    let (_, passed_on) = source.split_once("const PASSED_ON").unwrap();
    let passed_on = passed_on.split("];").next().unwrap().split('"').skip(1).step_by(2);
    let (_, read_here) = source.split_once("match name {").unwrap();
    let arms = read_here.lines().map(str::trim).filter(|line| line.starts_with('"'));
    let arms = arms.filter(|line| line.contains(" => ") && !line.contains(" => true,"));
    let arms = arms.filter_map(|line| line.split('"').nth(1));
    // A password has a paragraph of its own.
    let is_row = |name: &&str| !["password", "session", "false"].contains(name);
    let known: BTreeSet<_> = passed_on.chain(arms.take_while(|name| *name != "disable")).collect();
    let known: BTreeSet<_> =
        known.into_iter().filter(is_row).filter(|name| !name.starts_with("keepalives")).collect();
    let page = read("docs/configuration.md");
    let (_, section) = page.split_once("## A store on PostgreSQL").unwrap();
    let rows = rows_of(section.split_once("\n## ").unwrap().0);
    let rows: BTreeSet<_> =
        rows.iter().map(String::as_str).filter(|name| *name != "keepalives…").collect();
    assert_eq!(rows, known);
}

#[test]
fn every_flag_of_the_receiver_has_its_row() {
    let help = Desk::empty().run(&["receiver", "--help"]);
    let own = help.is_done().out.split("Options of every verb").next().unwrap();
    let words = own.split_whitespace().filter(|word| word.starts_with("--"));
    let mut flags: BTreeSet<_> = words.map(str::to_owned).collect();
    flags.remove("--help");
    flags.insert("--store".to_owned());
    let page = read("docs/http.md");
    let rows = rows_of(page.split_once("| flag |").unwrap().1);
    let named = rows.iter().map(|flag| flag.split(' ').next().unwrap().to_owned());
    assert_eq!(named.collect::<BTreeSet<_>>(), flags);
}

#[test]
fn every_table_of_the_schema_has_its_row() {
    let schema = Desk::empty().run(&["init", "--sql"]);
    let made = schema.is_done().out.lines().filter_map(|line| line.strip_prefix("CREATE TABLE "));
    // One that is made anew stands beside its rows for a moment.
    let made = made.filter(|rest| !rest.ends_with("_before AS"));
    let tables: BTreeSet<_> = made.map(|rest| rest.trim_end_matches('(').to_owned()).collect();
    let page = read("docs/sql.md");
    let rows = rows_of(page.split_once("## What may be read").unwrap().1);
    assert_eq!(rows.len(), tables.len());
    for table in tables {
        let name = table.split('(').next().unwrap();
        assert!(rows.contains(name), "{name} has no row");
    }
}

fn add_sources(folder: &Path, sources: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "sql")
        {
            sources.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

/// `CF` and four digits, wherever they stand.
fn codes(text: &str) -> BTreeSet<String> {
    let after = text.split("CF").skip(1).filter_map(|after| after.get(..4));
    let digits = after.filter(|four| four.bytes().all(|byte| byte.is_ascii_digit()));
    digits.map(|digits| format!("CF{digits}")).collect()
}

#[test]
fn every_code_has_its_row_in_order() {
    let page = read("docs/errors.md");
    let rows: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("| `CF")).collect();
    let rows: Vec<_> = rows.iter().map(|row| &row[..4]).collect();
    assert!(rows.is_sorted_by(|one, next| one < next), "out of order, or twice: {rows:?}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = String::new();
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        add_sources(&entry.unwrap().path().join("src"), &mut sources);
    }
    add_sources(&root.join("sql"), &mut sources);
    let laws = codes(&read("docs/laws.md"));
    let named: BTreeSet<_> = rows.iter().map(|row| format!("CF{row}")).collect();
    let is_law = |code: &String| code.starts_with("CF08");
    let missing: Vec<_> = codes(&sources)
        .into_iter()
        .filter(|code| !named.contains(code) && (!is_law(code) || !laws.contains(code)))
        .collect();
    assert!(missing.is_empty(), "no row: {missing:?}");
    assert!(named.len() > 100, "{}", named.len());
}

/// A verdict is a contract: the page names each word that `doctor` says.
#[test]
fn every_check_of_doctor_has_its_row() {
    let mut sources = String::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/verb/doctor");
    add_sources(&folder, &mut sources);
    let sources = sources.replace(char::is_whitespace, "");
    let made = ["Check::well(\"", "Check::note(\"", "Check::wrong(\""];
    let said = made.iter().flat_map(|make| sources.split(*make).skip(1));
    let said: BTreeSet<_> = said.map(|after| after.split('"').next().unwrap().to_owned()).collect();
    let page = read("docs/doctor.md");
    let rows = rows_of(page.split_once("| check |").unwrap().1);
    let first: BTreeSet<_> = rows.into_iter().collect();
    assert_eq!(first, said);
}

#[test]
fn every_test_and_file_of_the_proof_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = String::new();
    add_sources(&root.join("crates"), &mut sources);
    let page = read("docs/proof.md");
    let rows = page.lines().filter(|line| line.starts_with("| P"));
    let (mut files, mut tests) = (0, 0);
    for code in rows.flat_map(code_of) {
        if let Some((_, name)) = code.rsplit_once("::") {
            let stands = ["(", "<"].iter().any(|end| sources.contains(&format!("fn {name}{end}")));
            assert!(stands, "there is no test {code}");
            tests += 1;
        } else if code.contains('/') {
            assert!(root.join(code).is_file(), "there is no {code}");
            files += 1;
        }
    }
    assert!(files > 60 && tests >= files, "{files} files, {tests} tests");
}
