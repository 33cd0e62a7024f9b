//! Lanes whose turn a stranger's statement frees: notes, and the sweeps that read them.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::{
    Command, Contract, Destination, Idempotent, Judge, Micros, OnParked, OrderingKey, Outcome,
    ResultBody, Seed, Terms,
};
use counterfoil_core::port::Store as _;
use counterfoil_core::port::store::{
    ClaimFrom, Claimed, Ended, Exchange, Exchanged, Recorded, Settle, Settled,
};
use counterfoil_postgres::PostgresStore;

use crate::server::{Stranger, TestSchema, wait_for_lock};

/// Lanes that stand still: open, and nobody has the turn, though the first waits, or another that
/// may pass those that are parked; and no note speaks of them.
pub(crate) const LOST: &str = "SELECT count(*) FROM (
    SELECT destination, ordering_key FROM cf.delivery WHERE ordering_key IS NOT NULL
    GROUP BY destination, ordering_key HAVING count(turn) = 0
      AND (array_agg(state ORDER BY key_seq))[1] = 'pending'
    EXCEPT SELECT destination, ordering_key FROM cf.lane_freed) lost";

pub(crate) fn shop() -> Destination {
    Destination::new("shop").unwrap()
}

pub(crate) fn in_lane(id: &str, key: &str) -> Command {
    let command = Command::bytes(id, "shop", "k", "body").unwrap();
    command.ordering_key(OrderingKey::new(key).unwrap())
}

pub(crate) fn terms() -> Arc<Terms> {
    Arc::new(Terms::new(Contract::new(Idempotent::Forever)))
}

pub(crate) async fn declare(store: &PostgresStore, terms: &Terms) {
    store.declare(&shop(), &terms.contract, true).await.unwrap();
}

pub(crate) fn completed(claimed: Claimed, terms: &Arc<Terms>) -> Settle {
    let result = ResultBody::whole("");
    Settle {
        started_at: Micros::new(claimed.delivery.token.get()),
        claimed,
        ended: Ended::Outcome(Outcome::Completed { result, evidence: "ok".into() }),
        burns: true,
        seed: Seed(1),
        terms: Arc::clone(terms),
    }
}

pub(crate) async fn exchange(
    store: &PostgresStore,
    terms: &Arc<Terms>,
    settles: Vec<Settle>,
    limit: usize,
) -> Exchanged {
    let from = ClaimFrom { destination: shop(), limit, terms: Arc::clone(terms) };
    let claim_from = if limit == 0 { Vec::new() } else { vec![from] };
    let owner = "me".into();
    let exchange =
        Exchange { settles, claim_from, claim_limit: limit, owner, ..Exchange::default() };
    store.exchange(exchange).await.unwrap()
}

/// Sends all that can be sent, each with success; how many ended.
async fn drain(store: &PostgresStore, terms: &Arc<Terms>) -> usize {
    let (mut settles, mut ended) = (Vec::new(), 0);
    loop {
        let tried: Vec<Settle> = settles.clone();
        let done = exchange(store, terms, settles, 50).await;
        ended += done.settled.iter().filter(|one| matches!(one, Settled::Ended(_))).count();
        let held = tried.into_iter().zip(&done.settled);
        let held = held.filter(|(_, settled)| **settled == Settled::Held).map(|(settle, _)| settle);
        settles = held.collect();
        settles.extend(done.claimed.into_iter().map(|claimed| completed(claimed, terms)));
        if settles.is_empty() && !done.more {
            return ended;
        }
    }
}

async fn turn_of(stranger: &Stranger, id: &str) -> i64 {
    let sql = "SELECT d.turn FROM cf.delivery d JOIN cf.outbox USING (n) WHERE command_id =";
    stranger.number(&format!("{sql} '{id}'")).await
}

/// However many lanes are open: it is not found by walking them.
#[tokio::test]
async fn the_sweep_after_a_report_promotes_among_ten_thousand_lanes() {
    let schema = TestSchema::new().await;
    let (store, worker) = (schema.store().await, schema.stranger().await);
    worker
        .run(
            "INSERT INTO cf.outbox(command_id, destination, kind, body, ordering_key)
             SELECT 'head ' || i, 'shop', 'k', '', 'key ' || i FROM generate_series(1, 10000) i;
             INSERT INTO cf.outbox(command_id, destination, kind, body, ordering_key)
             SELECT 'next ' || i, 'shop', 'k', '', 'key ' || i FROM generate_series(1, 10000) i",
        )
        .await
        .unwrap();
    // Those that only waited have left no note: nobody held the one before them.
    assert_eq!(worker.number("SELECT count(*) FROM cf.lane_freed").await, 0);
    worker.run("SELECT cf.complete('head 9876')").await.unwrap();
    assert_eq!(store.sweep(256, None).await.unwrap().promoted, 1);
    assert_eq!(turn_of(&worker, "next 9876").await, 1);
    // All of the rest at once: 256 lanes a sweep.
    let rest = "SELECT cf.complete('head ' || i) FROM generate_series(1, 5000) i";
    worker.run(rest).await.unwrap();
    let mut sweeps = 0;
    while store.sweep(256, None).await.unwrap().promoted > 0 {
        sweeps += 1;
    }
    assert_eq!(sweeps, 5000_usize.div_ceil(256));
    assert_eq!(worker.number("SELECT count(*) FROM cf.lane_freed").await, 0);
}

#[tokio::test]
async fn who_is_alone_in_its_lane_leaves_no_note() {
    let schema = TestSchema::new().await;
    let worker = schema.stranger().await;
    worker.run("SELECT cf.enqueue('a', 'shop', 'k', '', ordering_key => 'K')").await.unwrap();
    worker.run("SELECT cf.complete('a')").await.unwrap();
    assert_eq!(worker.number("SELECT count(*) FROM cf.lane_freed").await, 0);
    // With an older snapshot one cannot know.
    worker.run("SELECT cf.enqueue('b', 'shop', 'k', '', ordering_key => 'K')").await.unwrap();
    worker
        .run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT cf.complete('b'); COMMIT")
        .await
        .unwrap();
    assert_eq!(worker.number("SELECT count(*) FROM cf.lane_freed").await, 1);
    let store = schema.store().await;
    assert_eq!(store.sweep(9, None).await.unwrap().promoted, 0);
    assert_eq!(worker.number("SELECT count(*) FROM cf.lane_freed").await, 0);
}

/// A stranger's transaction may last: the one before its command ends meanwhile, and cannot see it.
#[tokio::test]
async fn a_long_transaction_finds_at_its_commit_that_it_is_next() {
    let schema = TestSchema::new().await;
    let (store, terms, writer) = (schema.store().await, terms(), schema.stranger().await);
    declare(&store, &terms).await;
    store.enqueue(vec![in_lane("head", "K")]).await.unwrap();
    let enqueue = "BEGIN; SELECT cf.enqueue('next', 'shop', 'k', '', ordering_key => 'K')";
    writer.run(enqueue).await.unwrap();
    // It is held up by nothing that the writer does, and what it sets changes nothing.
    writer.run("SET counterfoil.arrives = 'on'").await.unwrap();
    assert_eq!(drain(&store, &terms).await, 1);
    writer.run("COMMIT").await.unwrap();
    assert_eq!(turn_of(&writer, "next").await, 1);
    assert_eq!(drain(&store, &terms).await, 1);
}

/// Where constraints are immediate nothing looks at COMMIT: the one before is held until then.
#[tokio::test]
async fn immediate_constraints_hold_the_one_before_until_the_commit() {
    let schema = TestSchema::new().await;
    let (writer, worker) = (schema.stranger().await, schema.stranger().await);
    writer.run("SELECT cf.enqueue('head', 'shop', 'k', '', ordering_key => 'K')").await.unwrap();
    let enqueue = "BEGIN; SET CONSTRAINTS ALL IMMEDIATE;
        SELECT cf.enqueue('next', 'shop', 'k', '', ordering_key => 'K')";
    writer.run(enqueue).await.unwrap();
    let (ended, ()) = tokio::join!(worker.run("SELECT cf.complete('head')"), async {
        wait_for_lock(&writer).await;
        writer.run("COMMIT").await.unwrap();
    });
    ended.unwrap();
    assert_eq!(worker.number(LOST).await, 0);
    assert_eq!(schema.store().await.sweep(9, None).await.unwrap().promoted, 1);
    assert_eq!(turn_of(&worker, "next").await, 1);
}

/// The same above READ COMMITTED, where COMMIT cannot look: a note tells the sweep.
#[tokio::test]
async fn a_long_transaction_with_an_old_snapshot_leaves_a_note() {
    let schema = TestSchema::new().await;
    let (store, terms, writer) = (schema.store().await, terms(), schema.stranger().await);
    declare(&store, &terms).await;
    store.enqueue(vec![in_lane("head", "K")]).await.unwrap();
    writer.run("BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    let enqueue = "SELECT cf.enqueue('next', 'shop', 'k', '', ordering_key => 'K')";
    writer.run(enqueue).await.unwrap();
    assert_eq!(drain(&store, &terms).await, 1);
    writer.run("COMMIT").await.unwrap();
    assert_eq!(turn_of(&writer, "next").await, 0);
    // Without it the sweep would come to the lane some time, when it walks them all.
    assert_eq!(writer.number("SELECT count(*) FROM cf.lane_freed").await, 1);
    assert_eq!(store.sweep(9, None).await.unwrap().promoted, 1);
    assert_eq!(drain(&store, &terms).await, 1);
}

/// Behind parked ones only, where they may be passed: the contract is the sweep's to read.
#[tokio::test]
async fn a_stranger_behind_a_parked_one_goes_with_the_next_sweep() {
    let schema = TestSchema::new().await;
    let (store, writer) = (schema.store().await, schema.stranger().await);
    let mut contract = Contract::new(Idempotent::Forever);
    contract.on_parked = OnParked::Skip;
    let terms = Arc::new(Terms::new(contract));
    declare(&store, &terms).await;
    store.enqueue(vec![in_lane("head", "K")]).await.unwrap();
    let claimed = exchange(&store, &terms, Vec::new(), 1).await.claimed.remove(0);
    let parks = Ended::Outcome(Outcome::Conflict { reason: "no".into() });
    let settle = Settle { ended: parks, ..completed(claimed, &terms) };
    exchange(&store, &terms, vec![settle], 0).await;
    let enqueue = "SELECT cf.enqueue('next', 'shop', 'k', '', ordering_key => 'K')";
    writer.run(enqueue).await.unwrap();
    assert_eq!(writer.number("SELECT count(*) FROM cf.lane_freed").await, 1);
    assert_eq!(store.sweep(9, None).await.unwrap().promoted, 1);
    // Who comes by the library does not wait for a sweep.
    store.enqueue(vec![in_lane("own", "K")]).await.unwrap();
    assert_eq!(drain(&store, &terms).await, 2);
}

/// What a settle frees is claimed by the same exchange: nobody waits for a poll.
#[tokio::test]
async fn an_exchange_claims_what_its_own_settles_free() {
    let schema = TestSchema::new().await;
    let (store, terms) = (schema.store().await, terms());
    declare(&store, &terms).await;
    let all = ["a", "b", "c", "d"].map(|id| in_lane(id, "K"));
    store.enqueue(all.to_vec()).await.unwrap();
    let claimed = exchange(&store, &terms, Vec::new(), 9).await.claimed;
    let done = exchange(&store, &terms, vec![completed(claimed[0].clone(), &terms)], 9).await;
    assert_eq!(done.claimed[0].command.command_id.as_str(), "b");
    // Not plainly well, and handed back.
    let refused = Ended::Outcome(Outcome::Rejected { reason: "no".into(), by: Judge::Receiver });
    let settle = Settle { ended: refused, ..completed(done.claimed[0].clone(), &terms) };
    let done = exchange(&store, &terms, vec![settle], 9).await;
    assert_eq!(done.claimed[0].command.command_id.as_str(), "c");
    let back = Settle { ended: Ended::HandedBack, ..completed(done.claimed[0].clone(), &terms) };
    let done = exchange(&store, &terms, vec![back], 9).await;
    assert_eq!(done.claimed[0].command.command_id.as_str(), "c");
    // An exchange that claims nothing wakes who does.
    store.changed(Duration::ZERO).await;
    let settle = completed(done.claimed[0].clone(), &terms);
    exchange(&store, &terms, vec![settle], 0).await;
    let woken = tokio::time::timeout(Duration::from_secs(60), store.changed(Duration::MAX)).await;
    assert!(woken.is_ok(), "nobody was woken");
}

/// Dice that tell the same for the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % most
    }

    pub(crate) async fn rest(&mut self, most: u64) {
        tokio::time::sleep(Duration::from_millis(self.below(most))).await;
    }
}

const KEYS: u64 = 4;
const ROUNDS: u64 = 6;
const EACH: u64 = 25;

async fn write_own(store: PostgresStore, round: u64) {
    let mut dice = Dice::new(round * 4 + 1);
    for at in 0..EACH {
        let key = format!("key {}", dice.below(KEYS));
        let done = store.enqueue(vec![in_lane(&format!("own {round} {at}"), &key)]).await.unwrap();
        assert_eq!(done, [Ok(Recorded::Recorded)]);
        dice.rest(4).await;
    }
}

async fn write_sql(writer: Stranger, round: u64) {
    let mut dice = Dice::new(round * 4 + 2);
    for at in 0..EACH {
        let isolation = ["READ COMMITTED", "REPEATABLE READ"][usize::from(dice.below(3) == 0)];
        let key = dice.below(KEYS);
        let enqueue = format!(
            "BEGIN ISOLATION LEVEL {isolation}; SELECT cf.enqueue('sql {round} {at}', 'shop', 'k', \
             '', ordering_key => 'key {key}')"
        );
        // Above READ COMMITTED a lane that was written meanwhile is 40001.
        let wrote = writer.run(&enqueue).await;
        dice.rest(6).await;
        let end = if wrote.is_ok() { "COMMIT" } else { "ROLLBACK" };
        writer.run(end).await.unwrap();
    }
}

async fn report(worker: Stranger, round: u64) {
    let mut dice = Dice::new(round * 4 + 3);
    for _ in 0..EACH {
        let find = "SELECT command_id FROM cf.outbox JOIN cf.delivery USING (n) WHERE turn = 1 \
                    ORDER BY random() LIMIT 1";
        if let Some(id) = worker.text(find).await {
            worker.run(&format!("BEGIN; SELECT cf.complete('{id}')")).await.unwrap();
            dice.rest(8).await;
            worker.run("COMMIT").await.unwrap();
        }
        dice.rest(4).await;
    }
}

async fn relay(store: PostgresStore, terms: Arc<Terms>, round: u64) {
    let mut dice = Dice::new(round * 4);
    let mut settles: Vec<Settle> = Vec::new();
    for at in 0..EACH * 2 {
        let tried = std::mem::take(&mut settles);
        let limit = if at + 1 < EACH * 2 { 3 } else { 0 };
        let done = exchange(&store, &terms, tried.clone(), limit).await;
        let both = tried.into_iter().zip(done.settled);
        settles.extend(both.filter(|(_, done)| *done == Settled::Held).map(|(settle, _)| settle));
        settles.extend(done.claimed.into_iter().map(|claimed| completed(claimed, &terms)));
        dice.rest(3).await;
    }
    // What others hold still is left to nobody: they all end.
    while !settles.is_empty() {
        let done = exchange(&store, &terms, settles.clone(), 0).await;
        let both = settles.into_iter().zip(done.settled);
        settles =
            both.filter(|(_, done)| *done == Settled::Held).map(|(settle, _)| settle).collect();
    }
}

/// Arrivals and ends of all kinds meet: when all is quiet, whoever may go has the turn, or a note
/// speaks of its lane; and as many sweeps as there are lanes give all turns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_lane_stands_still_where_arrivals_and_ends_race() {
    let schema = TestSchema::new().await;
    let (store, terms, stranger) = (schema.store().await, terms(), schema.stranger().await);
    declare(&store, &terms).await;
    for round in 0..ROUNDS {
        let tasks = [
            tokio::spawn(write_own(store.clone(), round)),
            tokio::spawn(write_sql(schema.stranger().await, round)),
            tokio::spawn(report(schema.stranger().await, round)),
            tokio::spawn(relay(store.clone(), Arc::clone(&terms), round)),
        ];
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(stranger.number(LOST).await, 0, "round {round}");
        // One lane a sweep, so that the walk, which looks at one lane, too, is no help.
        // A lane may have several notes, and each sweep takes one of them.
        let mut noted = i64::MAX;
        for _ in 0..KEYS * 20 {
            noted = stranger.number("SELECT count(*) FROM cf.lane_freed").await;
            if noted == 0 {
                break;
            }
            store.sweep(1, None).await.unwrap();
        }
        assert_eq!(noted, 0, "round {round}");
    }
    let mut sweeps = 0;
    loop {
        drain(&store, &terms).await;
        if stranger.number("SELECT count(*) FROM cf.delivery").await == 0 {
            break;
        }
        sweeps += 1;
        assert!(sweeps < 3, "a lane stands still");
        store.sweep(256, None).await.unwrap();
    }
    let report = counterfoil_core::audit::audit(&store, Default::default()).await.unwrap();
    assert!(report.holds, "{report:?}");
}
