//! The verbs of workflows, by the program, the same on SQLite and PostgreSQL.
//!
//! Guarantees: an input is recorded once, and what waits is shown; each case runs on both. Does
//! not: run a program; the examples do.

use serde_json::json;

use crate::program::{Desk, Said};
use crate::server::Schema;

/// A workflow whose start was decided.
pub(crate) const BEGUN: &str = "
    INSERT INTO cf.event(stream, seq, kind, body, cause, commands, recorded_at)
    VALUES ('t-1', 1, 'start:trip', '', 'start', 0, 1767225600000000);
    INSERT INTO cf.stream(stream, workflow, version, status, head)
    VALUES ('t-1', 'trip', 1, 'running', 1)";

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

/// Streams and ids may have a slash, and a start may name a program that nobody has.
fn what_nobody_decides_is_listed(books: &Books) {
    for id in ["s/1", "s/2"] {
        let signal = ["workflow", "signal", "trips/1", "approve", "--id", id];
        assert_eq!(books.run(&signal).is_done().out, "recorded\n");
    }
    let orphans = |rest: &[&str]| {
        let list = [&["workflow", "list", "--orphans", "--json"], rest].concat();
        books.run(&list).is_done().out.lines().count()
    };
    assert_eq!(orphans(&[]), 2);
    assert_eq!(orphans(&["--after", "trips"]), 2);
    assert_eq!(orphans(&["--after", "trips/1"]), 0);
    assert_eq!(orphans(&["--after", "trips/1", "--after-id", "s/1"]), 1);
    books.run(&["workflow", "start", "t-1", "--workflow", "typo"]).is_done();
    let list = ["workflow", "list", "--status", "waiting"];
    let listed = books.run(&list).is_done().out.clone();
    assert!(listed.contains("t-1") && listed.contains("typo"), "{listed}");
    let drop = ["workflow", "drop", "t-1", "--input", "start", "--reason", "a typing error"];
    books.run(&drop).is_done();
    assert!(!books.run(&list).is_done().out.contains("t-1"));
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
    says(&[&none[..], &["--export", file]].concat(), 1, &["\"typo\" has a history"]);
    says(&[&none[..], &["--", "true"]].concat(), 1, &["\"typo\" has a history"]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "of before");
    for blank in ["", "  "] {
        says(&["workflow", "cancel", "t", "--reason", blank], 2, &["--reason: say why"]);
    }
    let both = ["workflow", "verify", "--json", "--export", "-"];
    says(&both, 2, &["export into a file"]);
}

fn a_program_that_judges_gives_the_exit_code(books: &Books) {
    for (judge, code) in [("cat", Some(0)), ("cat > read; exit 1", Some(1)), ("exit 3", Some(2))] {
        let said = books.run(&["workflow", "verify", "--", "sh", "-c", judge]);
        assert_eq!(said.code, code, "{said:?}");
    }
    let said = books.run(&["workflow", "verify", "--", "cat"]);
    assert_eq!(said.is_done().out, "{\"end\":{\"workflows\":0}}\n", "an empty store has an end");
    assert_eq!(books.run(&["workflow", "verify", "--", "./none"]).code, Some(2));
    let as_json = ["workflow", "verify", "--json", "--", "cat"];
    let said = books.run(&as_json);
    assert_eq!(said.json(), json!({"holds": true, "histories": 0, "left_out": []}));
    assert!(said.err.contains("\"workflows\":0"), "what the program prints is talk: {said:?}");
}

/// The story: `-- true` ended with 0 or with 2, as the pipe went, and the text blamed stdout.
fn a_program_that_reads_nothing_gives_no_verdict(books: &Books) {
    books.forge(BEGUN);
    let long = "x".repeat(200_000);
    books.forge(&format!("UPDATE cf.event SET body = '{long}'"));
    for judge in ["true", "head -c 100 > read", "exec <&-; sleep 0.2"] {
        for _ in 0..3 {
            let said = books.run(&["workflow", "verify", "--", "sh", "-c", judge]);
            said.refuses(2, &["sh did not read the histories", "to the end"]);
        }
    }
    let said = books.run(&["workflow", "verify", "--json", "--", "sh", "-c", "cat > read"]);
    assert_eq!(said.json(), json!({"holds": true, "histories": 1, "left_out": []}));
    let said = books.run(&["workflow", "verify", "--json", "--", "sh", "-c", "cat; exit 1"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let verdict: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(verdict["holds"], json!(false));
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
    // It never began, so an end is refused: it was proposed all the same.
    assert!(!told.contains("workflow end"), "{told}");
    let drop = "counterfoil workflow drop t-1 --input start --reason …, then counterfoil workflow \
                retry t-1";
    assert!(told.contains(drop), "{told}");
    let verify = ["workflow", "verify", "t-1", "--", "cat"];
    books.run(&verify).refuses(1, &["t-1 is quarantined and never began"]);
    let status = books.run(&["status"]).is_done().out.clone();
    let waits = "1 quarantined workflow waits for a person: counterfoil workflow list --status";
    assert!(status.contains(waits), "{status}");
    books.run(&["workflow", "retry", "t-1", "--reason", "mended"]).is_done();
    books.run(&["workflow", "retry", "t-1"]).refuses(1, &["there is nothing to retry"]);
    assert!(!books.run(&list).is_done().out.contains("t-1"));
    let told = books.run(&["workflow", "show", "t-1"]).is_done().out.clone();
    assert!(told.contains("waits for its start to be decided"), "{told}");
}

fn one_that_cannot_go_on_is_mended_by_hand(books: &Books) {
    let drop = |id: &str| {
        books.run(&["workflow", "drop", "t-1", "--input", id, "--reason", "sent by mistake"])
    };
    let end = || books.run(&["workflow", "end", "t-1", "--reason", "nobody will mend it"]);
    drop("bad").refuses(1, &["no input \"bad\" of t-1 waits", "workflow show t-1"]);
    end().refuses(1, &["no workflow \"t-1\""]);
    assert_eq!(books.start("{}").is_done().out, "recorded\n");
    end().refuses(1, &["waiting for its start", "workflow drop t-1"]);
    let verify = || books.run(&["workflow", "verify", "t-1", "--", "cat"]);
    verify().refuses(1, &["workflow t-1 waits for its start to be decided"]);
    let blank = ["workflow", "end", "t-1", "--reason", " "];
    books.run(&blank).refuses(2, &["--reason: say why"]);
    books.forge(
        "DELETE FROM cf.input; \
         INSERT INTO cf.event(stream, seq, kind, body, cause, commands, recorded_at) \
         VALUES ('t-1', 1, 'start:trip', '', 'start', 0, 1767225600000000); \
         INSERT INTO cf.stream(stream, workflow, version, status, head) \
         VALUES ('t-1', 'trip', 1, 'running', 1)",
    );
    let signal = ["workflow", "signal", "t-1", "approve", "--id", "bad"];
    assert_eq!(books.run(&signal).is_done().out, "recorded\n");
    drop("bad").refuses(1, &["t-1 is not quarantined", "send another signal"]);
    books.forge(
        "UPDATE cf.stream SET status = 'quarantined', reason = 'it panicked', input = 'bad'; \
         UPDATE cf.input SET workflow = NULL",
    );
    let told = books.run(&["workflow", "show", "t-1"]).is_done().out.clone();
    assert!(told.contains("counterfoil workflow drop t-1 --input bad"), "{told}");
    assert!(told.contains("counterfoil workflow end t-1"), "{told}");
    assert_eq!(drop("bad").is_done().out, "input bad of t-1 is gone\n");
    assert!(end().is_done().out.starts_with("t-1 has failed"));
    let story = books.run(&["workflow", "show", "t-1", "--json"]).json();
    assert_eq!((&story["status"], &story["head"]), (&"failed".into(), &2.into()));
    books.run(&["audit", "--full"]).is_done();
    let signal = ["workflow", "signal", "t-1", "approve", "--id", "late"];
    assert_eq!(books.run(&signal).is_done().out, "recorded\n");
    let said = drop("late");
    said.refuses(1, &["t-1 has ended", "ignored"]);
    assert!(!said.err.contains("cancel"), "both are ignored there: {said:?}");
}

/// A workflow that has issued more than a story tells says so, and where the rest is.
fn what_is_left_out_of_a_story_is_said(books: &Books) {
    let many = match books.schema {
        Some(_) => "SELECT n FROM generate_series(0, 1004) AS g(n)",
        None => {
            "WITH RECURSIVE g(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM g WHERE n < 1004) \
             SELECT n FROM g"
        }
    };
    let time = 1_767_225_600_000_000_i64;
    books.forge(&format!(
        "INSERT INTO cf.event(stream, seq, kind, body, cause, commands, recorded_at) \
         VALUES ('t-1', 1, 'start:trip', '', 'start', 1, {time}), \
           ('t-1', 2, 'signal:x', '', 'a', 1005, {time}); \
         INSERT INTO cf.outbox(command_id, stream, seq, idx, destination, kind, body, \
           recorded_at) VALUES ('t-1:1:0', 't-1', 1, 0, 'bank', 'pay', '1', {time}); \
         INSERT INTO cf.outbox(command_id, stream, seq, idx, destination, kind, body, \
           recorded_at) SELECT 't-1:2:' || m.n, 't-1', 2, m.n, 'bank', 'pay', '1', {time} \
           FROM ({many}) m; \
         INSERT INTO cf.stream(stream, workflow, version, status, head) \
         VALUES ('t-1', 'trip', 1, 'running', 2)"
    ));
    let show = |rest: &[&str]| books.run(&[&["workflow", "show", "t-1"], rest].concat());
    let story = show(&["--json"]).json();
    assert_eq!(story["commands"].as_array().unwrap().len(), 1000);
    assert_eq!(story["commands"][0]["command_id"], "t-1:1:0");
    assert_eq!(story["commands"][0]["state"], "missing", "not looked for in vain");
    assert_eq!(story["commands_after"], "t-1:2:998");
    let told = show(&[]).is_done().out.clone();
    assert!(told.contains("counterfoil list --stream t-1 --after t-1:2:998"), "{told}");
    let newest = show(&["--limit", "1", "--json"]).json();
    assert_eq!(newest["commands"][0]["command_id"], "t-1:2:0");
    assert_eq!(newest["earlier_commands"], true);
    let told = show(&["--limit", "1"]).is_done().out.clone();
    assert!(told.contains("earlier ones: counterfoil list --stream t-1"), "{told}");
    let rest = books.run(&["list", "--stream", "t-1", "--after", "t-1:2:998", "--json"]);
    assert_eq!(rest.is_done().out.lines().count(), 6);
}

on_both_stores! {
    what_is_left_out_of_a_story_is_said
    what_nobody_decides_is_listed
    an_input_is_recorded_once_and_waits
    what_breaks_a_rule_is_refused_by_name
    a_program_that_judges_gives_the_exit_code
    a_program_that_reads_nothing_gives_no_verdict
    one_that_is_set_aside_is_listed_and_taken_up_again
    one_that_cannot_go_on_is_mended_by_hand
}
