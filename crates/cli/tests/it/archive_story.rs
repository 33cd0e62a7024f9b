//! The life of an archived command by the program, the same on SQLite and PostgreSQL.
//!
//! Guarantees: each case runs on both. Does not: cut a run short; the archive's own tests do.

use rusqlite::Connection;
use serde_json::json;

use crate::program::{Desk, Said};
use crate::server::Schema;

/// A folder, and a store that is a file in it or a schema of the machine's server.
struct Books {
    desk: Desk,
    schema: Option<Schema>,
    url: String,
}

impl Books {
    fn on_sqlite() -> Self {
        Self::with(None, "sqlite:orders.db".into())
    }

    fn on_postgres() -> Self {
        let schema = Schema::unmade();
        let url = schema.store();
        Self::with(Some(schema), url)
    }

    /// With these commands completed, and one that is open and the newest.
    fn with(schema: Option<Schema>, url: String) -> Self {
        let books = Self { desk: Desk::empty(), schema, url };
        books.run(&["init", "--source", "urn:test"]).is_done();
        for id in ["a", "b", "c", "open"] {
            let to = ["enqueue", id, "--to", "shipping", "--kind", "order.paid", "--body", "{}"];
            books.run(&to).is_done();
        }
        for id in ["a", "b", "c"] {
            let done = ["resolve", id, "--completed", "--result", "r", "--evidence", "by hand"];
            books.run(&done).is_done();
        }
        for folder in ["old", "older"] {
            std::fs::create_dir(books.desk.path(folder)).unwrap();
        }
        books
    }

    fn run(&self, args: &[&str]) -> Said {
        self.desk.run(&[args, &["--store", &self.url]].concat())
    }

    /// Statements of the user's own; `cf.` stands for Counterfoil's tables.
    fn sql(&self, sql: &str) {
        match &self.schema {
            Some(schema) => schema.run(sql),
            None => {
                let file = Connection::open(self.desk.path("orders.db")).unwrap();
                file.execute_batch(&sql.replace("cf.", "counterfoil_")).unwrap();
            }
        }
    }

    fn refused_late(&self, id: &str) {
        self.sql(&format!(
            "INSERT INTO cf.report(command_id, outcome, evidence) \
             VALUES ('{id}', 'rejected', 'the worker says so')"
        ));
    }

    fn archive(&self, to: &str) -> Said {
        self.run(&["archive", "--older-than", "0s", "--to", to])
    }

    fn codes(&self, args: &[&str]) -> Vec<String> {
        let said = self.run(&[args, &["--json"]].concat());
        assert_eq!(said.code, Some(1), "{said:?}");
        let told: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        let found = told["violations"].as_array().or(told["findings"].as_array()).unwrap();
        found.iter().map(|it| it["code"].as_str().unwrap().to_owned()).collect()
    }
}

fn moved_proved_shown_and_erased(books: &Books) {
    books.run(&["audit"]).is_done();
    let said = books.archive("old");
    assert!(said.is_done().out.starts_with("3 commands moved into 1 file in old\n"), "{said:?}");
    let said = books.run(&["archive", "--verify", "old"]);
    let holds = "the archive holds: 1 file, 3 commands and 3 tombstones checked\n";
    assert_eq!(said.is_done().out, holds);
    let status = books.run(&["status", "--json"]).json();
    let counted = json!({"completed": 3, "pending": 1});
    assert_eq!(status["destinations"]["shipping"], counted, "archived ones are ended ones");
    let listed = books.run(&["list", "--state", "completed"]);
    for word in ["no commands match among those in the store", "archived", "`show`"] {
        assert!(listed.is_done().out.contains(word), "{word}: {listed:?}");
    }
    let bare = books.run(&["show", "a", "--json"]).json();
    assert_eq!((&bare["archived"], &bare["body"]), (&json!(true), &json!(null)));
    let whole = books.run(&["show", "a", "--archive", "old", "--json"]).json();
    assert_eq!((&whole["body"], &whole["receipt"]["result"]), (&json!("{}"), &json!("r")));
    books.run(&["redeliver", "a", "--reason", "x"]).refuses(1, &["it is archived"]);

    let erase = ["erase", "a", "--reason", "letter 12", "--archive", "old"];
    assert!(books.run(&erase).is_done().out.contains("rewritten without it"));
    let again = books.run(&[&erase[..], &["--json"]].concat()).json();
    assert_eq!((&again["repeated"], &again["files"]), (&json!(true), &json!([])));
    let told = books.run(&["show", "a", "--archive", "old", "--json"]).json();
    assert_eq!((&told["body"], &told["receipt"]["result"]), (&json!(null), &json!(null)));
    let erased = told["actions"].as_array().unwrap().iter().filter(|act| act["what"] == "erase");
    assert_eq!(erased.count(), 1, "recorded once: {told}");
    books.run(&["archive", "--verify", "old"]).is_done();
    for form in [&["audit"][..], &["audit", "--full"]] {
        books.run(form).is_done();
    }
}

/// The story: a worker said days later that it had refused, and no audit told it.
fn a_late_report_is_told_until_somebody_looks(books: &Books) {
    books.run(&["audit"]).is_done();
    books.archive("old").is_done();
    let resolve = ["resolve", "b", "--completed", "--evidence", "asked them", "--actor", "ann"];
    books.run(&resolve).refuses(1, &["b", "archived", "`resolve`", "contradicts"]);
    books.refused_late("b");
    for form in [&["audit"][..], &["audit", "--full"], &["audit"]] {
        assert_eq!(books.codes(form), ["CF0822"]);
    }
    let shown = books.run(&["show", "b"]);
    for word in ["a report says otherwise", "counterfoil resolve b --rejected"] {
        assert!(shown.is_done().out.contains(word), "{word}: {shown:?}");
    }
    let said = books.run(&resolve);
    assert!(said.is_done().out.contains("its receipt stays completed"), "{said:?}");
    books.run(&resolve).refuses(1, &["archived"]);
    for form in [&["audit"][..], &["audit", "--full"]] {
        books.run(form).is_done();
    }
    let shown = books.run(&["show", "b", "--json"]).json();
    let acts = shown["actions"].as_array().unwrap();
    let by_ann = acts.iter().filter(|act| act["outcome"] == "ann" && act["what"] == "resolve");
    assert_eq!(by_ann.count(), 1, "{shown}");
}

/// The story: a folder came back from a backup, and with it what had been erased.
fn what_was_erased_does_not_come_back_unseen(books: &Books) {
    books.archive("old").is_done();
    for file in std::fs::read_dir(books.desk.path("old")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), books.desk.path("older").join(file.file_name())).unwrap();
    }
    books.run(&["erase", "c", "--reason", "letter", "--archive", "old"]).is_done();
    books.run(&["archive", "--verify", "old"]).is_done();
    assert_eq!(books.codes(&["archive", "--verify", "older"]), ["CF1134"]);
    let both = ["erase", "c", "--reason", "letter", "--archive", "older", "--archive", "old"];
    let told = books.run(&[&both[..], &["--json"]].concat()).json();
    assert_eq!(told["files"].as_array().map(Vec::len), Some(1), "{told}");
    books.run(&["archive", "--verify", "older"]).is_done();
}

/// The story: an auditor asked who had given the old seal up, and nobody knew.
fn who_gives_a_seal_up_is_on_record(books: &Books) {
    books.run(&["audit"]).is_done();
    books.run(&["audit", "--reseal"]).refuses(2, &["audit --reseal", "--reason"]);
    books.run(&["audit", "--reason", "x"]).refuses(2, &["--reseal"]);
    books.run(&["audit", "--actor", "ann"]).refuses(2, &["--mend", "--reseal"]);
    let anew = ["audit", "--reseal", "--reason", "the audit of May", "--actor", "ann"];
    books.run(&anew).is_done();
    let count = "SELECT count(*) FROM cf.operator_action WHERE verb = 'reseal' AND actor = 'ann' \
                 AND about = 'store' AND reason = 'the audit of May'";
    let recorded = match &books.schema {
        Some(schema) => schema.number(count),
        None => books.desk.orders(&count.replace("cf.", "counterfoil_")),
    };
    assert_eq!(recorded, 1);
    books.run(&["audit", "--full"]).is_done();
}

/// The story: an order's INSERT was forgotten, and a query that gave another twice hid it.
fn an_answer_that_names_one_twice_hides_nothing(books: &Books) {
    let answer = |ids: [&str; 4]| {
        let rows: Vec<_> = ids.iter().map(|id| format!("SELECT '{id}'")).collect();
        let sql = format!("{} ORDER BY 1", rows.join(" UNION ALL "));
        let text = format!("[audit]\nexpect = [{{ sql = \"{sql}\", kind = \"order.paid\" }}]\n");
        books.desk.write("counterfoil.toml", &text);
    };
    answer(["a", "b", "c", "open"]);
    books.run(&["audit"]).is_done();
    books.run(&["audit"]).is_done();
    answer(["a", "a", "c", "open"]);
    assert_eq!(books.codes(&["audit"]), ["CF0832"]);
    answer(["a", "b", "c", "open"]);
    books.archive("old").is_done();
    books.run(&["audit"]).is_done();
}

macro_rules! on_both {
    ($($case:ident)*) => {
        mod on_sqlite {
            $(#[test]
            fn $case() {
                super::$case(&super::Books::on_sqlite());
            })*
        }
        mod on_postgres {
            $(#[test]
            fn $case() {
                super::$case(&super::Books::on_postgres());
            })*
        }
    };
}

on_both! {
    moved_proved_shown_and_erased
    a_late_report_is_told_until_somebody_looks
    what_was_erased_does_not_come_back_unseen
    who_gives_a_seal_up_is_on_record
    an_answer_that_names_one_twice_hides_nothing
}
