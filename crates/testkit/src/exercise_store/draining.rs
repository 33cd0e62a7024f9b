//! A thousand commands, several owners, every kind of end: nothing lost, nothing twice.
//!
//! Guarantees: at the end every law of conservation holds. Does not: measure speed.

use std::collections::BTreeMap;

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::{Outcome, Seed};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::{Claimed, Ended, Exchange, Settle, Settled};

use super::Hands;
use super::scene::{SHOP, Scene, command, completed_with, forever};

const COMMANDS: usize = 1000;
const OWNERS: u64 = 4;
/// More than one owner's share ever takes.
const EXCHANGES_MAX: usize = 10 * COMMANDS;

/// What happens to an attempt, from its token and owner: most end well.
fn end_of(claimed: &Claimed, owner: u64) -> Ended {
    let drawn = Seed(owner ^ claimed.delivery.token.get().unsigned_abs()).mixed() % 10;
    match drawn {
        0 => Ended::HandedBack,
        1 => Ended::Outcome(Outcome::not_sent("connection refused")),
        2 => Ended::Outcome(Outcome::unknown("HTTP 500")),
        _ => Ended::Outcome(completed_with(claimed.command.command_id.as_str())),
    }
}

/// One owner's share of one round; how often each command of its was completed.
async fn drain<S: Store>(store: S, claims: Exchange, owner: u64) -> BTreeMap<String, u32> {
    let mut ended = BTreeMap::new();
    let mut settles: Vec<Settle> = Vec::new();
    for _ in 0..EXCHANGES_MAX {
        let names: Vec<_> =
            settles.iter().map(|settle| settle.claimed.command.command_id.to_string()).collect();
        let exchange = Exchange { settles, owner: format!("relay-{owner}"), ..claims.clone() };
        let done = store.exchange(exchange).await.unwrap();
        for (id, settled) in names.into_iter().zip(done.settled) {
            if settled == Settled::Ended("completed") {
                *ended.entry(id).or_default() += 1;
            }
        }
        if done.claimed.is_empty() {
            return ended;
        }
        let started_at = store.now().unwrap();
        let terms = &claims.claim_from[0].terms;
        let settle = |claimed: Claimed| {
            let (terms, ended) = (terms.clone(), end_of(&claimed, owner));
            Settle { claimed, ended, started_at, burns: true, seed: Seed(owner), terms }
        };
        settles = done.claimed.into_iter().map(settle).collect();
        tokio::task::yield_now().await;
    }
    panic!("relay-{owner} still finds work after {EXCHANGES_MAX} exchanges");
}

pub(super) async fn a_thousand_commands_end_exactly_once<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    for batch in 0..10 {
        let ids = (0..COMMANDS / 10).map(|at| command(&format!("c-{batch}-{at}"))).collect();
        assert!(scene.store.enqueue(ids).await.unwrap().iter().all(Result::is_ok));
    }
    let mut ended: BTreeMap<String, u32> = BTreeMap::new();
    // A round leaves what waits for a backoff; each is due within a minute at first.
    for _ in 0..60 {
        let owners: Vec<_> = (0..OWNERS)
            .map(|owner| tokio::spawn(drain(scene.store.clone(), scene.claims(32), owner)))
            .collect();
        for owner in owners {
            for (id, count) in owner.await.unwrap() {
                *ended.entry(id).or_default() += count;
            }
        }
        if ended.len() == COMMANDS {
            break;
        }
        scene.advance(60);
    }
    assert_eq!(ended.len(), COMMANDS, "none is lost");
    assert!(ended.values().all(|count| *count == 1), "none ends twice");
    let status = scene.store.status().await.unwrap();
    let shop = &status.destinations[SHOP];
    assert_eq!(shop.get("completed"), Some(&(COMMANDS as u64)));
    assert_eq!(shop.values().sum::<u64>(), COMMANDS as u64);
    let totals = scene.store.totals().await.unwrap();
    let count = i64::try_from(COMMANDS).unwrap();
    assert_eq!((totals[0].outbox, totals[0].open), (count, 0));
    let story = scene.story("c-3-7").await;
    assert_eq!(story.receipts[0].result.as_deref(), Some(b"c-3-7".as_slice()));
    let report = audit(&scene.store, AuditOptions::default().page(300)).await.unwrap();
    assert!(report.holds, "{:#?}", report.violations);
    assert_eq!(report.checked.commands, COMMANDS as u64);
}
