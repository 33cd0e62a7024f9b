//! `listen=true` in a store's URL: relays that look rarely and hear at once.

use std::time::Duration;

use crate::program::{Desk, Running, configuration, wait_until};
use crate::server::Schema;

/// So rarely that nothing is found by it while a test runs.
const POLL: &str = "poll = \"10m\"";
/// Longer than a listener goes on to look after the last news.
const QUIET: Duration = Duration::from_millis(2_500);

/// A store, its receiver, and a relay that listens.
struct Shop {
    desk: Desk,
    schema: Schema,
    _receiver: Running,
}

impl Shop {
    fn new() -> Self {
        let (desk, schema) = (Desk::empty(), Schema::unmade());
        desk.run(&["init", "--store", &schema.store()]).is_done();
        let (receiver, port) = desk.receiver(&[]);
        let text = configuration(port, "\"forever\"", "").replace("poll = \"20ms\"", POLL);
        let text = text.replace("sqlite:orders.db", &format!("{}&listen=true", schema.store()));
        assert!(text.contains(POLL) && text.contains("listen=true"), "{text}");
        desk.write("counterfoil.toml", &text);
        Self { desk, schema, _receiver: receiver }
    }

    /// Starts a relay, and waits until it listens and has looked for the last time.
    fn relay(&self) -> Running {
        let relay = self.desk.start(&["relay"]);
        let listeners = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN \"{}_wake\"'",
            self.schema.name
        );
        wait_until("the relay listens", || self.schema.number(&listeners) == 1);
        std::thread::sleep(QUIET);
        relay
    }

    fn wait_for(&self, id: &str) {
        let ended = format!(
            "SELECT count(*) FROM cf.receipt r JOIN cf.outbox o USING (n)
             WHERE command_id = '{id}' AND outcome = 'completed'"
        );
        wait_until(id, || self.schema.number(&ended) == 1);
    }
}

/// Each of them by another process, long after the relay has looked.
#[test]
fn a_relay_that_looks_every_ten_minutes_hears_of_what_others_commit() {
    let shop = Shop::new();
    let _relay = shop.relay();
    let enqueue = ["enqueue", "by-hand", "--to", "shipping", "--kind", "k", "--body", "{}"];
    assert_eq!(shop.desk.run(&enqueue).is_done().out, "recorded\n");
    shop.wait_for("by-hand");

    std::thread::sleep(QUIET);
    let line = |n: u32| {
        format!("{{\"id\":\"f-{n}\",\"to\":\"shipping\",\"kind\":\"k\",\"body\":\"{n}\"}}\n")
    };
    shop.desk.write("all.jsonl", &(0..20).map(line).collect::<String>());
    shop.desk.run(&["enqueue", "--from", "all.jsonl"]).is_done();
    (0..20).for_each(|n| shop.wait_for(&format!("f-{n}")));

    std::thread::sleep(QUIET);
    shop.schema.run("SELECT cf.enqueue('by-sql', 'shipping', 'k', '{}'::json), cf.wake()");
    shop.wait_for("by-sql");

    std::thread::sleep(QUIET);
    shop.desk.run(&["redeliver", "by-sql", "--reason", "again", "--may-act-twice"]).is_done();
    let twice = "SELECT count(*) FROM cf.receipt r JOIN cf.outbox o USING (n) WHERE
         command_id = 'by-sql'";
    wait_until("the redelivery", || shop.schema.number(twice) == 2);
}

/// Its connection is ended while it waits: another one takes its place, and looks.
#[test]
fn a_relay_whose_listener_was_ended_hears_again() {
    let shop = Shop::new();
    let _relay = shop.relay();
    let listener =
        format!("FROM pg_stat_activity WHERE query = 'LISTEN \"{}_wake\"'", shop.schema.name);
    let first = shop.schema.number(&format!("SELECT pid {listener}"));
    shop.schema.run(&format!("SELECT pg_terminate_backend({first})"));
    let another = format!("SELECT count(*) {listener} AND pid <> {first}");
    wait_until("another listener", || shop.schema.number(&another) == 1);
    std::thread::sleep(QUIET);
    let enqueue = ["enqueue", "after", "--to", "shipping", "--kind", "k", "--body", "{}"];
    shop.desk.run(&enqueue).is_done();
    shop.wait_for("after");
}
