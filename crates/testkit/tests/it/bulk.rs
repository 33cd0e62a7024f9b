//! Acts on many commands by filter, over a store in memory.
//!
//! Guarantees: nothing in doubt is touched, limits and dry runs hold, ids that are no UTF-8 end
//! nothing. Does not: repeat the rules of single acts.

use std::sync::Arc;

use counterfoil_core::bulk::{BulkReport, by_filter, groups};
use counterfoil_core::domain::{
    Command, Contract, Destination, Idempotent, Outcome, Reason, Seed, Terms,
};
use counterfoil_core::port::read::Filter;
use counterfoil_core::port::store::{ClaimFrom, Ended, Exchange, Settle};
use counterfoil_core::port::{Act, Actor, Store};
use counterfoil_testkit::{ManualClock, MemoryStore};

const RETRY: Act = Act::Retry { may_act_twice: false };

/// Commands whose one attempt ended in turn with each of `outcomes`.
async fn store(count: usize, outcomes: &[Outcome]) -> MemoryStore {
    let store = MemoryStore::new(ManualClock::default());
    let mut terms = Terms::new(Contract::new(Idempotent::No));
    terms.pace.max_attempts = 1;
    let (terms, shop) = (Arc::new(terms), Destination::new("shop").unwrap());
    store.declare(&shop, &terms.contract, false).await.unwrap();
    let command = |n| Command::bytes(format!("c-{n:04}"), "shop", "order.paid", "{}").unwrap();
    store.enqueue((0..count).map(command).collect()).await.unwrap();
    let from = ClaimFrom { destination: shop, limit: count, terms: Arc::clone(&terms) };
    let claims = Exchange { claim_from: vec![from], claim_limit: count, ..Exchange::default() };
    let claimed = store.exchange(claims).await.unwrap().claimed;
    assert_eq!(claimed.len(), count);
    let started_at = store.now().unwrap();
    let settles = claimed.into_iter().zip(outcomes.iter().cycle()).map(|(claimed, outcome)| {
        let (ended, terms) = (Ended::Outcome(outcome.clone()), Arc::clone(&terms));
        Settle { claimed, ended, started_at, burns: true, seed: Seed(1), terms }
    });
    let settles = settles.collect();
    store.exchange(Exchange { settles, ..Exchange::default() }).await.unwrap();
    store
}

fn dead() -> Outcome {
    Outcome::not_sent("connection refused by 10.0.0.7:80")
}

fn uncertain() -> Outcome {
    Outcome::unknown("reset by 10.0.0.7:80")
}

fn parked() -> Filter {
    Filter { state: Some("parked".into()), ..Filter::default() }
}

async fn bulk(store: &MemoryStore, act: Act, limit: usize, dry_run: bool) -> BulkReport {
    let actor = Actor { name: "ann".into(), reason: "asked".into() };
    by_filter(store, parked(), act, actor, limit, dry_run, |_| ()).await.unwrap()
}

async fn count(store: &MemoryStore, state: &str) -> u64 {
    let status = store.status().await.unwrap();
    status.destinations["shop"].get(state).copied().unwrap_or(0)
}

#[tokio::test]
async fn a_retry_of_all_that_is_parked_touches_nothing_in_doubt() {
    let store = store(1200, &[dead(), uncertain(), dead()]).await;
    let report = bulk(&store, RETRY, 0, false).await;
    assert_eq!((report.found, report.done, report.refused_count()), (1200, 800, 400));
    let doubt = &report.refused[&Reason::InDoubt.to_string()];
    assert_eq!((doubt.count, doubt.example.as_str()), (400, "c-0001"));
    assert_eq!(count(&store, "uncertain").await, 400);
    assert_eq!(count(&store, "pending").await, 800);
    let told = store.show("c-0000").await.unwrap().unwrap().actions.remove(0);
    assert_eq!((told.what.as_str(), told.outcome.as_str()), ("retry", "ann"));
    assert!(store.show("c-0001").await.unwrap().unwrap().actions.is_empty());
}

#[tokio::test]
async fn a_permission_to_act_twice_reaches_nothing_in_doubt_by_filter() {
    let store = store(2, &[uncertain()]).await;
    let report = bulk(&store, Act::Retry { may_act_twice: true }, 0, false).await;
    assert_eq!((report.done, count(&store, "uncertain").await), (0, 2));
}

#[tokio::test]
async fn a_limit_counts_what_is_tried_and_says_that_more_is_left() {
    let store = store(30, &[uncertain(), dead()]).await;
    let report = bulk(&store, RETRY, 10, false).await;
    assert_eq!((report.done, report.more), (10, true));
    assert_eq!(count(&store, "pending").await, 10);
    let rest = bulk(&store, RETRY, 10, false).await;
    assert_eq!((rest.done, rest.more), (5, false));
}

#[tokio::test]
async fn a_dry_run_changes_nothing_and_foresees_what_is_refused() {
    let store = store(250, &[dead(), uncertain()]).await;
    let report = bulk(&store, RETRY, 0, true).await;
    assert_eq!((report.found, report.done, report.refused_count()), (250, 125, 125));
    let redelivers = bulk(&store, Act::Redeliver { may_act_twice: false }, 0, true).await;
    assert_eq!(redelivers.done, 0);
    assert_eq!(redelivers.refused[&Reason::NotEnded.to_string()].count, 125);
    assert_eq!((count(&store, "dead").await, count(&store, "uncertain").await), (125, 125));
}

#[tokio::test]
async fn progress_comes_after_each_batch_and_only_grows() {
    let store = store(250, &[dead()]).await;
    let mut seen = Vec::new();
    let actor = Actor { name: "ann".into(), reason: String::new() };
    let told = |report: &BulkReport| seen.push(report.done);
    by_filter(&store, parked(), Act::Cancel, actor, 0, false, told).await.unwrap();
    assert_eq!(seen, [100, 200, 250]);
}

/// The walk goes by ids, and the id of such a row names nothing.
#[tokio::test]
async fn ids_that_are_no_utf8_neither_end_the_walk_nor_stop_it() {
    let store = store(499, &[dead()]).await;
    for n in 0..700_u32 {
        store.put_unreadable(&[&n.to_be_bytes()[..], &[0xff]].concat(), "shop");
    }
    let last = Command::bytes("last", "shop", "order.paid", "{}").unwrap();
    store.enqueue(vec![last]).await.unwrap();
    let filter = Filter::default();
    let actor = Actor { name: "ann".into(), reason: "x".into() };
    let report = by_filter(&store, filter, Act::Cancel, actor, 0, false, |_| ()).await.unwrap();
    assert_eq!((report.found, report.done), (1200, 500));
    let last = store.show("last").await.unwrap().unwrap();
    assert_eq!(last.listed.state, "cancelled");
}

#[tokio::test]
async fn failures_that_are_alike_are_one_group() {
    let store = store(1003, &[dead(), uncertain(), dead()]).await;
    let fresh = Command::bytes("fresh", "shop", "order.paid", "{}").unwrap();
    store.enqueue(vec![fresh]).await.unwrap();
    let all = groups(&store, Filter::default()).await.unwrap();
    let line = |at: usize| {
        let ((destination, state, reason), group) = &all[at];
        (destination.as_str(), state.as_str(), reason.as_str(), group.count)
    };
    assert_eq!(all.len(), 2, "{all:?}");
    let (shop, state, reason, count) = line(0);
    assert_eq!((shop, state, count), ("shop", "dead", 669));
    assert!(reason.contains("connection refused by #"), "{reason}");
    assert_eq!((line(1).1, line(1).3), ("uncertain", 334));
    assert_eq!(all[1].1.example, "c-0001");
}
