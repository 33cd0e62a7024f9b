//! The verbs of workflows, by the program, the same on SQLite and PostgreSQL.
//!
//! Guarantees: an input is recorded once, and what waits is shown; each case runs on both. Does
//! not: run a program; the examples do.

use crate::program::{Desk, Said};
use crate::server::Schema;

/// A folder, and a store that is a file in it or a schema of the machine's server.
pub(crate) struct Books {
    pub(crate) desk: Desk,
    schema: Option<Schema>,
    url: String,
}

impl Books {
    pub(crate) fn on_sqlite() -> Self {
        Self::with(None, "sqlite:orders.db".into())
    }

    pub(crate) fn on_postgres() -> Self {
        let schema = Schema::unmade();
        let url = schema.store();
        Self::with(Some(schema), url)
    }

    fn with(schema: Option<Schema>, url: String) -> Self {
        let books = Self { desk: Desk::empty(), schema, url };
        books.run(&["init"]).is_done();
        books
    }

    /// The words before `--` go with the store.
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        let at = args.iter().position(|word| *word == "--").unwrap_or(args.len());
        self.desk.run(&[&args[..at], &["--store", &self.url], &args[at..]].concat())
    }

    fn start(&self, body: &str) -> Said {
        self.run(&["workflow", "start", "t-1", "--workflow", "trip", "--body", body])
    }

    /// Statements of the store's owner; `cf.` stands for Counterfoil's tables.
    pub(crate) fn forge(&self, sql: &str) {
        match &self.schema {
            Some(schema) => schema.run(&format!("SET counterfoil.own = 'on'; {sql}")),
            None => {
                let file = rusqlite::Connection::open(self.desk.path("orders.db")).unwrap();
                let off = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
                file.set_db_config(off, false).unwrap();
                file.execute_batch(&sql.replace("cf.", "counterfoil_")).unwrap();
            }
        }
    }
}

fn an_input_is_recorded_once_and_waits(books: &Books) {
    let approve = ["workflow", "signal", "t-1", "approve", "--id", "boss"];
    assert_eq!(books.run(&approve).is_done().out, "recorded\n");
    let orphans = books.run(&["workflow", "list", "--orphans"]).is_done().out.clone();
    assert!(orphans.contains("boss") && orphans.contains("approve"), "{orphans}");
    assert_eq!(books.start("{}").is_done().out, "recorded\n");
    assert_eq!(books.start("{}").is_done().out, "repeated\n");
    books.start("[]").refuses(1, &["input start of workflow t-1 stands with other content"]);
    let cancel = ["workflow", "cancel", "t-1", "--reason", "rain"];
    assert_eq!(books.run(&cancel).is_done().out, "recorded\n");
    let story = books.run(&["workflow", "show", "t-1", "--json"]).json();
    assert_eq!((&story["status"], &story["workflow"]), (&"waiting".into(), &"trip".into()));
    assert_eq!(story["inputs"].as_array().unwrap().len(), 3);
    let told = books.run(&["workflow", "show", "t-1"]).is_done().out.clone();
    assert!(told.contains("waits for its start to be decided"), "{told}");
}

fn what_breaks_a_rule_is_refused_by_name(books: &Books) {
    let says = |words: &[&str], code, why: &[&str]| {
        books.run(words).refuses(code, why);
    };
    says(&["workflow", "show", "t-9"], 1, &["no workflow \"t-9\" was ever started or signalled"]);
    says(&["workflow", "retry", "t-9"], 1, &["no workflow"]);
    says(&["workflow", "start", "t", "--workflow", "a/b"], 1, &["a workflow's name has no `/`"]);
    says(&["workflow", "signal", "t", "n", "--id", "timer:1:x"], 1, &["Counterfoil's own"]);
    says(&["workflow", "verify"], 2, &["name it after `--`, or --export FILE"]);
    says(&["workflow", "verify", "t-9", "--export", "-"], 1, &["no workflow"]);
    let golden = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(golden.path(), "of before").unwrap();
    let file = golden.path().to_str().unwrap();
    says(&["workflow", "verify", "t-9", "--export", file], 1, &["no workflow"]);
    let none = ["workflow", "verify", "--workflow", "typo"];
    says(&[&none[..], &["--export", file]].concat(), 2, &["\"typo\" has a history"]);
    says(&[&none[..], &["--", "true"]].concat(), 2, &["\"typo\" has a history"]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "of before");
}

fn a_program_that_judges_gives_the_exit_code(books: &Books) {
    for (program, code) in [("true", Some(0)), ("false", Some(1)), ("./none", Some(2))] {
        let said = books.run(&["workflow", "verify", "--", program]);
        assert_eq!(said.code, code, "{said:?}");
    }
}

fn one_that_is_set_aside_is_listed_and_taken_up_again(books: &Books) {
    assert_eq!(books.start("{}").is_done().out, "recorded\n");
    let list = ["workflow", "list", "--status", "quarantined"];
    assert!(!books.run(&list).is_done().out.contains("t-1"));
    books.run(&["workflow", "retry", "t-1"]).refuses(1, &["there is nothing to retry"]);
    books.forge(
        "INSERT INTO cf.stream(stream, workflow, version, status, head, reason, input, changed_at) \
         VALUES ('t-1', 'trip', 1, 'quarantined', 0, 'it panicked: no seat', 'start', 1); \
         UPDATE cf.input SET workflow = NULL",
    );
    let listed = books.run(&list).is_done().out.clone();
    assert!(listed.contains("t-1") && listed.contains("trip/1"), "{listed}");
    let told = books.run(&["workflow", "show", "t-1"]).is_done().out.clone();
    assert!(told.contains("it panicked: no seat"), "{told}");
    books.run(&["workflow", "retry", "t-1", "--reason", "mended"]).is_done();
    books.run(&["workflow", "retry", "t-1"]).refuses(1, &["there is nothing to retry"]);
    assert!(!books.run(&list).is_done().out.contains("t-1"));
    let told = books.run(&["workflow", "show", "t-1"]).is_done().out.clone();
    assert!(told.contains("waits for its start to be decided"), "{told}");
}

macro_rules! on_both_stores {
    ($($case:ident)*) => {
        mod on_sqlite {
            $(
                #[test]
                fn $case() {
                    super::$case(&super::Books::on_sqlite());
                }
            )*
        }
        mod on_postgres {
            $(
                #[test]
                fn $case() {
                    super::$case(&super::Books::on_postgres());
                }
            )*
        }
    };
}

on_both_stores! {
    an_input_is_recorded_once_and_waits
    what_breaks_a_rule_is_refused_by_name
    a_program_that_judges_gives_the_exit_code
    one_that_is_set_aside_is_listed_and_taken_up_again
}
