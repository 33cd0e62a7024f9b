//! The verbs on PostgreSQL: what they do, and that they say it as on SQLite.

use serde_json::{Map, Value};

use crate::program::{Desk, Running, Said, configuration};
use crate::server::Schema;

/// A store on a server, a folder, and the configuration of both.
struct Shop {
    desk: Desk,
    schema: Schema,
}

impl Shop {
    /// With an empty store.
    fn new() -> Self {
        let shop = Self { desk: Desk::empty(), schema: Schema::unmade() };
        let said = shop.run(&["init", "--source", "urn:test"]);
        assert!(said.is_done().out.contains("is ready; its source is urn:test"), "{said:?}");
        shop
    }

    /// Runs a verb on the store.
    fn run(&self, args: &[&str]) -> Said {
        self.desk.run(&[args, &["--store", &self.schema.store()]].concat())
    }

    fn enqueue(&self, id: &str, body: &str) -> Said {
        self.run(&["enqueue", id, "--to", "shipping", "--kind", "order.paid", "--body", body])
    }

    /// One destination at `port`, with `more` keys.
    fn configure(&self, port: u16, idempotent: &str, more: &str) {
        let text = configuration(port, idempotent, more);
        let text = text.replace("sqlite:orders.db", &self.schema.store());
        self.desk.write("counterfoil.toml", &text);
    }

    /// A receiver that the configuration leads to.
    fn serve(&self) -> Running {
        let (receiver, port) = self.desk.receiver(&[]);
        self.configure(port, "\"forever\"", "");
        receiver
    }

    fn state(&self, id: &str) -> String {
        let shown = self.run(&["show", id, "--json"]).json();
        shown["state"].as_str().unwrap().to_owned()
    }
}

/// Names and kinds, without values.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let map = map.iter().map(|(name, value)| (name.clone(), shape(value)));
            Value::Object(map.collect::<Map<_, _>>())
        }
        Value::Array(all) => Value::Array(all.iter().map(shape).collect()),
        Value::Null => Value::Null,
        Value::Bool(_) => "bool".into(),
        Value::Number(_) => "number".into(),
        Value::String(_) => "string".into(),
    }
}

#[test]
fn a_command_goes_its_way_and_is_told_as_on_sqlite() {
    let shop = Shop::new();
    let again = shop.run(&["init"]);
    assert!(again.is_done().out.contains("its source is urn:test"), "{again:?}");
    assert_eq!(shop.enqueue("a", "{\"n\":1}").is_done().out, "recorded\n");
    assert_eq!(shop.enqueue("a", "{\"n\":1}").is_done().out, "repeated\n");
    shop.enqueue("a", "{\"n\":2}").refuses(1, &["stands with other content"]);
    let _receiver = shop.serve();
    let relayed = shop.desk.run(&["relay", "--until-idle"]);
    relayed.is_done();
    assert_eq!(shop.state("a"), "completed");
    assert_eq!(shop.desk.shipping("SELECT count(*) FROM jobs"), 1);

    let file = Desk::new();
    file.run(&[
        "enqueue",
        "a",
        "--to",
        "shipping",
        "--kind",
        "order.paid",
        "--body",
        "{\"n\":1}",
        "--store",
        "sqlite:orders.db",
    ])
    .is_done();
    let (_other, port) = file.receiver(&[]);
    file.configure(port, "\"forever\"", "");
    file.run(&["relay", "--until-idle"]).is_done();
    for verb in [
        &["status", "--json"][..],
        &["list", "--json"],
        &["show", "a", "--json"],
        &["audit", "--json", "--inbox", "sqlite:shipping.db"],
    ] {
        let (here, there) = (shop.desk.run(verb).json(), file.run(verb).json());
        assert_eq!(shape(&here), shape(&there), "{verb:?}: {here} {there}");
    }
    shop.run(&["show", "b"]).refuses(1, &["no command \"b\" was ever recorded"]);
    shop.run(&["list", "--after", "b"]).refuses(1, &["--after b"]);
}

#[test]
fn a_file_of_commands_is_recorded_in_batches() {
    let shop = Shop::new();
    let line =
        |n: u32| format!("{{\"id\":\"c-{n}\",\"to\":\"a\",\"kind\":\"k\",\"body\":\"{n}\"}}\n");
    let lines: String = (0..2_345).map(line).collect();
    shop.desk.write("all.jsonl", &(lines.clone() + &line(7).replace(":\"7\"}", ":\"8\"}")));
    let said = shop.run(&["enqueue", "--from", "all.jsonl"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains("2345 recorded, 0 repeated, 1 refused"), "{said:?}");
    assert!(said.err.contains("line 2346"), "{said:?}");
    let again = shop
        .desk
        .run_with(&["enqueue", "--from", "-", "--store", &shop.schema.store()], lines.as_bytes());
    assert!(again.is_done().out.contains("0 recorded, 2345 repeated"), "{again:?}");
    assert_eq!(shop.schema.number("SELECT count(*) FROM cf.outbox"), 2_345);
}

#[test]
fn people_end_what_machines_cannot() {
    let shop = Shop::new();
    for id in ["retried", "resolved", "cancelled", "b-1", "b-2"] {
        shop.enqueue(id, "{}").is_done();
    }
    // Nobody listens there: provably not sent, and one attempt is all.
    shop.configure(1, "\"forever\"", "[destination.shipping.retry]\nmax_attempts = 1\n");
    let text = std::fs::read_to_string(shop.desk.path("counterfoil.toml")).unwrap();
    let text = text.replace("retry = { initial = \"20ms\", max = \"200ms\" }\n", "");
    shop.desk.write("counterfoil.toml", &text);
    let relayed = shop.desk.run(&["relay", "--until-idle"]);
    assert_eq!(relayed.code, Some(1), "{relayed:?}");
    let groups = shop.run(&["list", "--groups", "--json"]).json();
    assert_eq!((&groups["state"], &groups["count"]), (&"dead".into(), &5.into()), "{groups}");

    let done = |args: &[&str], says: &str| {
        let said = shop.run(args);
        assert!(said.is_done().out.contains(says), "{args:?}: {said:?}");
    };
    done(&["retry", "retried", "--reason", "it runs again"], "dead -> pending");
    let evidence = ["--rejected", "--evidence", "they said no"];
    done(&[&["resolve", "resolved"][..], &evidence].concat(), "dead -> rejected");
    done(&["cancel", "cancelled", "--reason", "not wanted"], "dead -> cancelled");
    done(&["retry", "--state", "dead", "--dry-run"], "2 commands found, 2 would be done");
    done(&["retry", "--state", "dead", "--yes"], "2 commands found, 2 done");
    shop.run(&["retry", "nobody"]).refuses(1, &["no such command"]);

    let _receiver = shop.serve();
    shop.desk.run(&["relay", "--until-idle", "--replace-contract"]).is_done();
    for id in ["retried", "b-1", "b-2"] {
        assert_eq!(shop.state(id), "completed", "{id}");
    }
    let again = ["redeliver", "retried", "--reason", "lost there", "--may-act-twice"];
    done(&again, "completed -> pending");
    shop.desk.run(&["relay", "--until-idle"]).is_done();
    let shown = shop.run(&["show", "retried", "--json"]).json();
    assert_eq!(shown["receipts"].as_array().unwrap().len(), 2, "{shown}");
    assert_eq!(shown["actions"].as_array().unwrap().len(), 2, "{shown}");
    let held = shop.desk.run(&["audit", "--inbox", "sqlite:shipping.db"]);
    assert!(held.is_done().out.contains("the audit holds: 5 commands"), "{held:?}");
}

#[test]
fn a_destination_is_paused_for_all_relays_and_goes_on() {
    let shop = Shop::new();
    shop.enqueue("a", "{}").is_done();
    let _receiver = shop.serve();
    shop.desk.run(&["pause", "shiping", "--reason", "x"]).refuses(1, &["nobody knows"]);
    shop.run(&["pause", "shipping", "--reason", "they move", "--actor", "ana"]).is_done();
    let status = shop.run(&["status"]);
    assert!(status.is_done().out.contains("paused: they move (by ana"), "{status:?}");
    assert_eq!(shop.desk.run(&["relay", "--until-idle"]).code, Some(1));
    assert_eq!(shop.state("a"), "pending");
    shop.run(&["resume", "shipping"]).is_done();
    shop.desk.run(&["relay", "--until-idle"]).is_done();
    assert_eq!(shop.state("a"), "completed");
}

#[test]
fn after_a_restore_what_is_open_is_in_doubt() {
    let shop = Shop::new();
    shop.enqueue("a", "{}").is_done();
    let said = shop.run(&["restored", "--at", "0s", "--actor", "ana"]);
    assert!(said.is_done().out.contains("1 open command is in doubt now"), "{said:?}");
    let shown = shop.run(&["show", "a", "--json"]).json();
    assert_eq!((&shown["in_doubt"], &shown["state"]), (&true.into(), &"pending".into()));
    shop.run(&["restored", "--at", "1d"]).refuses(1, &["before this store existed"]);
}

/// The shop's orders and the receiver's own inbox table are both read from the server.
#[test]
fn an_audit_reads_orders_and_a_receivers_inbox_from_postgres() {
    let (shop, theirs) = (Shop::new(), Schema::unmade());
    let init = ["init", "--store", &theirs.store()];
    shop.desk.run(&init).is_done();
    shop.schema
        .run("CREATE TABLE cf.orders(id text, paid int); INSERT INTO cf.orders VALUES ('1', 1)");
    shop.enqueue("order.paid:1", "{}").is_done();
    let _receiver = shop.serve();
    let name = &shop.schema.name;
    let expect = format!(
        "[audit]\nexpect = [{{ sql = \"SELECT 'order.paid:' || id FROM {name}.orders WHERE paid = \
         1\", kind = \"order.paid\" }}]\n"
    );
    let text = std::fs::read_to_string(shop.desk.path("counterfoil.toml")).unwrap();
    shop.desk.write("counterfoil.toml", &(text + &expect));
    shop.desk.run(&["relay", "--until-idle"]).is_done();
    let audit = ["audit", "--full", "--inbox", &theirs.store()];
    let missing = shop.desk.run(&audit);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.out.contains("order.paid:1"), "{missing:?}");
    theirs.run(
        "INSERT INTO cf.inbox(source, key, digest)
         VALUES ('urn:test', 'order.paid:1', sha256('{}'));
         UPDATE cf.inbox SET outcome = 'completed'",
    );
    let holds = shop.desk.run(&audit);
    let all = "the audit holds: 1 command, 0 events, 1 expected id, 1 key of the receiver";
    assert!(holds.is_done().out.contains(all), "{holds:?}");
    theirs.run("INSERT INTO cf.inbox(source, key, digest) VALUES ('urn:test', 'b', sha256('x'))");
    let stranger = shop.desk.run(&audit);
    assert_eq!(stranger.code, Some(1), "{stranger:?}");
    shop.schema.run("INSERT INTO cf.orders VALUES ('2', 1)");
    let forgotten = shop.desk.run(&["audit"]);
    assert!(forgotten.out.contains("order.paid:2"), "{forgotten:?}");
    let none = format!("{}_none", theirs.store());
    shop.desk.run(&["audit", "--inbox", &none]).refuses(2, &["--inbox", "?schema=NAME"]);
}

/// The same by a receiver's own table; what is removed behind the seal is found; a role that only
/// reads leaves none.
#[test]
fn an_audit_goes_on_from_its_seal_and_matches_a_receivers_own_table() {
    let (shop, theirs) = (Shop::new(), Schema::unmade());
    shop.desk.run(&["init", "--store", &theirs.store()]).is_done();
    for id in ["a", "b", "c"] {
        shop.enqueue(id, "{}").is_done();
    }
    let _receiver = shop.serve();
    shop.desk.run(&["relay", "--until-idle"]).is_done();
    theirs.run(
        "CREATE TABLE cf.took(at serial, id text); INSERT INTO cf.took(id) VALUES ('a'), ('b')",
    );
    let sql = format!("SELECT id, at FROM {}.took ORDER BY at", theirs.name);
    let run =
        || shop.desk.run(&["audit", "--inbox", &theirs.store(), "--inbox-query", &sql, "--json"]);
    let missing = run();
    assert!(missing.code == Some(1) && missing.out.contains("CF0841"), "{missing:?}");
    theirs.run("INSERT INTO cf.took(id) VALUES ('c')");
    run().is_done();
    theirs.run("INSERT INTO cf.took(id) VALUES ('c'), ('invented')");
    let invented = run();
    assert!(invented.out.contains("CF0842") && invented.out.contains("invented"), "{invented:?}");
    let twice = "CF0845\",\"ids\":[\"c\"],\"text\":\"key c stands 2 times in the receiver's book";
    assert!(invented.out.contains(twice), "{invented:?}");
    theirs.run("INSERT INTO cf.took(id) VALUES (NULL)");
    let null = run();
    assert!(null.out.contains("key NULL in the receiver's book (row 6 of the answer)"), "{null:?}");
    let writes = "WITH gone AS (DELETE FROM cf.took RETURNING id) SELECT id FROM gone";
    let refused = shop.desk.run(&["audit", "--inbox-query", &writes.replace("cf.", "x.")]);
    refused.refuses(2, &["--inbox-query"]);
    for (query, why) in [("SELECT $1::text", "it has a parameter"), ("SELECT ?", "syntax error")] {
        let refused = shop.desk.run(&["audit", "--inbox-query", query]);
        refused.refuses(2, &["--inbox-query", query, why, "first column"]);
    }
    let next = shop.desk.run(&["audit"]);
    assert!(next.is_done().out.contains("incremental: the audit that held at 20"), "{next:?}");
    shop.schema.run(
        "SET counterfoil.own = 'on'; DELETE FROM cf.receipt WHERE n = 2;
         DELETE FROM cf.outbox WHERE n = 2;
         INSERT INTO cf.tally(destination, outcome, count) VALUES ('shipping', 'completed', -1)",
    );
    let full = shop.desk.run(&["audit", "--full"]);
    assert_eq!(full.code, Some(1), "{full:?}");
    assert!(full.out.contains("table outbox: 3 rows were sealed, and 2"), "{full:?}");
}

/// A repeat is folded there too, and both books agree.
#[test]
fn a_receiver_keeps_its_book_on_postgres() {
    let (shop, theirs) = (Shop::new(), Schema::unmade());
    let store = theirs.store();
    let receiver = shop.desk.start(&["receiver", "--store", &store, "--listen", "127.0.0.1:0"]);
    let port = receiver.hear("listening on ").rsplit(':').next().unwrap().parse().unwrap();
    shop.configure(port, "\"forever\"", "");
    shop.enqueue("a", "{}").is_done();
    shop.desk.run(&["relay", "--until-idle"]).is_done();
    let again = ["redeliver", "a", "--reason", "to see it folded", "--may-act-twice"];
    shop.run(&again).is_done();
    shop.desk.run(&["relay", "--until-idle"]).is_done();
    let count = |table: &str| theirs.number(&format!("SELECT count(*) FROM cf.{table}"));
    assert_eq!((count("calls"), count("jobs"), count("inbox")), (2, 1, 1));
    let holds = shop.desk.run(&["audit", "--inbox", &store]);
    assert!(holds.is_done().out.contains("1 key of the receiver"), "{holds:?}");
    let own = shop.desk.run(&["receiver", "--listen", "127.0.0.1:0"]);
    own.refuses(2, &["is a sender's"]);
}

#[test]
fn schema_and_roles_are_printed_for_people_who_run_them_by_themselves() {
    let shop = Shop { desk: Desk::empty(), schema: Schema::unmade() };
    let script = shop.run(&["init", "--sql", "--source", "urn:printed"]);
    shop.schema.run(&script.is_done().out);
    shop.enqueue("a", "{}").is_done();
    let said = shop.run(&["init"]);
    assert!(said.is_done().out.contains("its source is urn:printed"), "{said:?}");
    let roles = shop.run(&["init", "--roles"]);
    let writer = format!("{}_writer", shop.schema.name);
    assert!(roles.is_done().out.contains(&writer), "{roles:?}");
    let file = ["init", "--roles", "--store", "sqlite:a.db"];
    shop.desk.run(&file).refuses(2, &["--roles", "SQLite has none"]);
}
