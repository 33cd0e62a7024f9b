//! The audit over a store in memory: silent on what is sound, exact on what is spoiled.
//!
//! Guarantees: rows of every kind are spoiled once. Does not: repeat the laws' own tests.

use std::sync::Arc;

use counterfoil_core::audit::{
    AuditOptions, AuditReport, BookEntry, Expect, InboxBook, InboxMatch, audit, match_inbox,
};
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    Attempted, Command, CommandId, Contract, Destination, Digest, Event, Idempotent, Kind, Micros,
    Outcome, Purpose, ReceiptOutcome, ResultBody, Seed, State, Stream, Terms, Token,
};
use counterfoil_core::port::store::{Append, ClaimFrom, Ended, Exchange, Settle, StoreError};
use counterfoil_core::port::{Act, Acted, Actor, Deed, Store};
use counterfoil_testkit::memory_store::rows::{AttemptEntry, Rows};
use counterfoil_testkit::{ManualClock, MemoryStore};

const IDS: [&str; 5] = ["done", "open", "refused", "cancelled", "o-1:1:0"];

fn id(id: &str) -> CommandId {
    CommandId::new(id).unwrap()
}

fn command(id: &str) -> Command {
    Command::bytes(id, "shop", "order.paid", format!("body of {id}")).unwrap()
}

/// A sound store: one command of each kind of end, one open, one of a decision.
async fn store() -> MemoryStore {
    let store = MemoryStore::new(ManualClock::default());
    let terms = Arc::new(Terms::new(Contract::new(Idempotent::Forever)));
    let shop = Destination::new("shop").unwrap();
    store.declare(&shop, &terms.contract, false).await.unwrap();
    store.enqueue(vec![command("done")]).await.unwrap();
    let from = ClaimFrom { destination: shop, limit: 9, terms: Arc::clone(&terms) };
    let claims = Exchange { claim_from: vec![from], claim_limit: 9, ..Exchange::default() };
    let claimed = store.exchange(claims).await.unwrap().claimed.remove(0);
    let done = Outcome::Completed { result: ResultBody::whole("job"), evidence: "HTTP 200".into() };
    let started_at = store.now().unwrap();
    let settle = Settle {
        claimed,
        ended: Ended::Outcome(done),
        started_at,
        burns: true,
        seed: Seed(1),
        terms,
    };
    store.exchange(Exchange { settles: vec![settle], ..Exchange::default() }).await.unwrap();
    let batch = vec![command("open"), command("refused"), command("cancelled")];
    store.enqueue(batch).await.unwrap();
    for ended in ["refused", "cancelled"] {
        let report = Report {
            outcome: ReceiptOutcome::Rejected,
            result: None,
            evidence: Some("said so".into()),
            source: "report".into(),
            token: None,
            equals_earlier: false,
        };
        store.report(&id(ended), report).await.unwrap();
    }
    let event = Event { kind: Kind::new("placed").unwrap(), body: b"{}".to_vec(), cause: None };
    let unnamed = Command { id: None, ..command("x") };
    let stream = Stream::new("o-1").unwrap();
    let append = Append { stream, expected_seq: 0, events: vec![event], commands: vec![unnamed] };
    store.append(append).await.unwrap().unwrap();
    store.with_rows(|rows| {
        let n = rows.n_of("cancelled").unwrap();
        let receipt = rows.receipts.get_mut(&(n, 1)).unwrap();
        receipt.receipt.outcome = ReceiptOutcome::Cancelled;
        receipt.receipt.source = "operator ann".into();
        rows.tally.insert(("shop".into(), "rejected".into()), 1);
        rows.tally.insert(("shop".into(), "cancelled".into()), 1);
    });
    store
}

async fn audited(store: &MemoryStore) -> AuditReport {
    audit(store, AuditOptions::default().page(2)).await.unwrap()
}

fn codes(report: &AuditReport) -> Vec<&str> {
    report.violations.iter().map(|violation| violation.code).collect()
}

async fn spoiled(spoil: impl FnOnce(&mut Rows)) -> AuditReport {
    let store = store().await;
    store.with_rows(spoil);
    audited(&store).await
}

#[tokio::test]
async fn a_sound_store_holds() {
    let report = audited(&store().await).await;
    assert!(report.holds, "{:#?}", report.violations);
    let checked = report.checked;
    assert_eq!((checked.commands, checked.events, checked.destinations), (5, 1, 1));
    assert!(audited(&MemoryStore::default()).await.holds);
}

#[tokio::test]
async fn a_lost_command_is_found() {
    let report = spoiled(|rows| {
        let n = rows.n_of("open").unwrap();
        rows.deliveries.remove(&n);
    })
    .await;
    assert_eq!(codes(&report), ["CF0804", "CF0820"]);
    assert_eq!(report.violations[0].ids, ["open"]);
    assert!(!report.holds);
}

#[tokio::test]
async fn a_lost_outbox_row_is_found() {
    let report = spoiled(|rows| {
        let n = rows.ids.remove(b"done".as_slice()).unwrap();
        rows.outbox.remove(&n);
    })
    .await;
    assert_eq!(codes(&report), ["CF0802", "CF0820"]);
}

#[tokio::test]
async fn a_changed_body_is_found() {
    let report = spoiled(|rows| {
        let n = rows.n_of("done").unwrap();
        let entry = rows.outbox.get_mut(&n).unwrap();
        let row = entry.row.as_mut().unwrap();
        Arc::make_mut(row).body = b"other".to_vec();
    })
    .await;
    assert_eq!(codes(&report), ["CF0808"]);
}

#[tokio::test]
async fn a_lost_command_of_a_decision_is_found_from_its_event() {
    let report = spoiled(|rows| {
        let n = rows.ids.remove(b"o-1:1:0".as_slice()).unwrap();
        rows.outbox.remove(&n);
        rows.deliveries.remove(&n);
    })
    .await;
    assert_eq!(codes(&report), ["CF0819"]);
}

#[tokio::test]
async fn a_wrong_tally_is_found() {
    let report = spoiled(|rows| {
        rows.tally.insert(("shop".into(), "completed".into()), 2);
    })
    .await;
    assert_eq!(codes(&report), ["CF0820", "CF0821"]);
}

#[tokio::test]
async fn violations_are_kept_up_to_a_bound_and_all_counted() {
    let store = store().await;
    store.with_rows(|rows| rows.deliveries.clear());
    let report = audit(&store, AuditOptions::default().keep(1)).await.unwrap();
    assert_eq!((report.violations.len(), report.found, report.holds), (1, 3, false));
}

#[tokio::test]
async fn the_users_rows_expect_their_commands() {
    let store = store().await;
    let expect = |sql: &str, ids: &[&str]| {
        store.expect(sql, ids.iter().map(ToString::to_string));
        AuditOptions::default().page(2).expect(Expect::new(sql).kind("order.paid"))
    };
    let report = audit(&store, expect("all", &IDS)).await.unwrap();
    assert!(report.holds, "{:#?}", report.violations);
    assert_eq!(report.checked.expected, 5);
    let forgotten = [&IDS[..], &["forgotten"]].concat();
    let report = audit(&store, expect("forgotten", &forgotten)).await.unwrap();
    assert_eq!(
        (codes(&report), &report.violations[0].ids[0]),
        (vec!["CF0831"], &"forgotten".into())
    );
    let report = audit(&store, expect("some", &IDS[..4])).await.unwrap();
    assert_eq!(codes(&report), ["CF0832"]);
    let forward_only = AuditOptions::default().expect(Expect::new("some"));
    assert!(audit(&store, forward_only).await.unwrap().holds);
    let failed = audit(&store, AuditOptions::default().expect(Expect::new("no such"))).await;
    assert!(matches!(failed, Err(StoreError::Broken(_))));
}

#[tokio::test]
async fn many_commands_and_a_long_answer_are_compared_whole() {
    let store = MemoryStore::new(ManualClock::default());
    let name = |n: usize| format!("c-{n:03}");
    store.enqueue((0..250).map(|n| command(&name(n))).collect()).await.unwrap();
    // Each query is asked for a hundred pages at once.
    let told = async |ids: Vec<String>| {
        store.expect("rows", ids);
        let options = AuditOptions::default().page(1);
        let report = audit(&store, options.expect(Expect::new("rows").kind("order.paid"))).await;
        let told = report.unwrap().violations.into_iter();
        told.map(|broken| (broken.code, broken.ids[0].clone())).collect::<Vec<_>>()
    };
    assert_eq!(told((0..250).rev().map(name).collect()).await, []);
    let without = (0..250).filter(|n| ![0, 99, 100, 249].contains(n)).map(name).collect();
    let missing = [0, 99, 100, 249].map(|n| ("CF0832", name(n)));
    assert_eq!(told(without).await, missing);
    let beyond = (0..250).map(name).chain(["x".into()]).collect();
    assert_eq!(told(beyond).await, [("CF0831", "x".to_owned())]);
    let first = ["y".into()].into_iter().chain((0..250).map(name)).collect();
    assert_eq!(told(first).await, [("CF0831", "y".to_owned())]);
}

#[tokio::test]
async fn a_long_answer_is_read_to_its_end() {
    let store = MemoryStore::default();
    store.expect("long", (0..2500).map(|at| format!("c-{at}")));
    let asked = ["c-2400", "c-9999", "c-0", "c-2499"].map(String::from);
    let found = store.expected_has("long", &asked).await.unwrap();
    assert_eq!(found, [true, false, true, true]);
}

/// The receiver's book, as a list, and for how many pages of ours it is asked at once.
struct Keys(Vec<BookEntry>, usize);

impl Keys {
    fn of(keys: &[(&str, Option<ReceiptOutcome>)]) -> Self {
        let received_at = Micros::EARLIEST;
        let entry = |(key, outcome): &(&str, Option<ReceiptOutcome>)| BookEntry {
            key: (*key).to_owned(),
            outcome: *outcome,
            received_at,
        };
        let mut all: Vec<_> = keys.iter().map(entry).collect();
        all.sort_by(|one, other| one.key.cmp(&other.key));
        Self(all, 1)
    }
}

impl InboxBook for Keys {
    type Error = std::convert::Infallible;

    async fn has(&self, keys: &[String]) -> Result<Vec<Option<BookEntry>>, Self::Error> {
        let find = |key: &String| self.0.iter().find(|entry| entry.key == *key).cloned();
        Ok(keys.iter().map(find).collect())
    }

    async fn page(&self, after: Option<&str>, limit: usize) -> Result<Vec<BookEntry>, Self::Error> {
        let later = |entry: &&BookEntry| after.is_none_or(|after| entry.key.as_str() > after);
        Ok(self.0.iter().filter(later).take(limit).cloned().collect())
    }

    fn at_once(&self, page: usize) -> usize {
        page * self.1
    }
}

async fn matched(
    store: &MemoryStore,
    keys: &[(&str, Option<ReceiptOutcome>)],
    options: InboxMatch,
) -> Vec<(String, String)> {
    let wide = Keys(Keys::of(keys).0, 1000);
    let report = match_inbox(store, &Keys::of(keys), options.clone().page(2)).await.unwrap();
    assert_eq!(report, match_inbox(store, &wide, options.page(2)).await.unwrap());
    assert_eq!(report.holds, report.found == 0);
    let pair = |violation: counterfoil_core::domain::laws::Violation| {
        (violation.code.to_owned(), violation.ids[0].clone())
    };
    report.violations.into_iter().map(pair).collect()
}

fn violation(code: &str, id: &str) -> Vec<(String, String)> {
    vec![(code.to_owned(), id.to_owned())]
}

#[tokio::test]
async fn two_books_that_agree_match() {
    let store = store().await;
    let completed = Some(ReceiptOutcome::Completed);
    let keys = [("done", completed), ("refused", Some(ReceiptOutcome::Rejected)), ("open", None)];
    assert_eq!(matched(&store, &keys, InboxMatch::default()).await, []);
}

#[tokio::test]
async fn a_key_without_a_command_and_a_command_without_its_key_are_found() {
    let store = store().await;
    let all = InboxMatch::default;
    assert_eq!(matched(&store, &[], all()).await, violation("CF0841", "done"));
    let keys = [("done", None), ("forged", None)];
    assert_eq!(matched(&store, &keys, all()).await, violation("CF0842", "forged"));
    let refused = [("done", Some(ReceiptOutcome::Rejected))];
    assert_eq!(matched(&store, &refused, all()).await, violation("CF0843", "done"));
}

#[tokio::test]
async fn an_effect_of_what_ended_without_one_is_found() {
    let store = store().await;
    for ended in ["refused", "cancelled"] {
        let keys = [("done", None), (ended, None)];
        let found = matched(&store, &keys, InboxMatch::default()).await;
        assert_eq!(found, violation("CF0844", ended));
    }
}

#[tokio::test]
async fn other_destinations_old_ends_and_a_persons_word_are_excused() {
    let store = store().await;
    let elsewhere = InboxMatch::default().destination("bank");
    assert_eq!(matched(&store, &[], elsewhere).await, []);
    let later = store.now().unwrap().plus(counterfoil_core::domain::Span::from_secs(1));
    assert_eq!(matched(&store, &[], InboxMatch::default().since(later)).await, []);
    store.with_rows(|rows| {
        let n = rows.n_of("done").unwrap();
        rows.receipts.get_mut(&(n, 1)).unwrap().receipt.source = "operator ann".into();
    });
    assert_eq!(matched(&store, &[], InboxMatch::default().destination("shop")).await, []);
}

#[tokio::test]
async fn a_retry_clears_no_doubt_and_a_lost_receipt_is_not_made_up_for_by_a_redelivery() {
    let store = store().await;
    let ann = || Actor { name: "ann".into(), reason: String::new() };
    let deed = |id: &str, act| vec![Deed { command_id: id.into(), act, by_filter: false }];
    let redeliver = deed("done", Act::Redeliver { may_act_twice: false });
    store.act(redeliver, ann()).await.unwrap();
    store.with_rows(|rows| {
        let n = rows.n_of("open").unwrap();
        let row = rows.outbox[&n].row.as_ref().unwrap();
        let body = Digest::of(&row.body);
        let digests = Some((body, row.row_digest(body)));
        let entry = rows.delivery_mut("open").unwrap();
        entry.digests = digests;
        (entry.delivery.state, entry.delivery.in_doubt) = (State::Uncertain, true);
        entry.delivery.available_at = None;
        entry.delivery.last_outcome = Some("unknown: reset".into());
        entry.delivery.token = Token::new(1);
        let attempted = Attempted {
            round: 1,
            token: entry.delivery.token,
            purpose: Purpose::Send,
            outcome: "unknown",
            reason: "reset".into(),
        };
        let ended_at = Micros::EARLIEST;
        let attempt = AttemptEntry { attempted, started_at: None, ended_at };
        rows.attempts.insert(n, vec![attempt]);
    });
    let retried = store.act(deed("open", Act::Retry { may_act_twice: true }), ann()).await.unwrap();
    assert_eq!(retried, [Acted::Done { before: "uncertain", after: "pending" }]);
    assert_eq!(codes(&audited(&store).await), [""; 0]);
    store.with_rows(|rows| {
        rows.delivery_mut("open").unwrap().delivery.in_doubt = false;
        let n = rows.n_of("done").unwrap();
        rows.receipts.remove(&(n, 1));
    });
    let found = codes(&audited(&store).await).join(" ");
    assert!(found.contains("CF0806") && found.contains("CF0813"), "{found}");
}
