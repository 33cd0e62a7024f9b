//! The audit over a store in memory: silent on what is sound, exact on what is spoiled.
//!
//! Guarantees: rows of every kind are spoiled once. Does not: repeat the laws' own tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use counterfoil_core::audit::{
    AuditOptions, AuditReport, BookEntry, Expect, InboxBook, InboxMatch, Repeated, audit,
    match_inbox,
};
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    Attempted, Command, CommandId, Contract, Destination, Digest, Event, Idempotent, Kind, Micros,
    Outcome, Purpose, ReceiptOutcome, ResultBody, Seed, State, Stream, Terms, Token,
};
use counterfoil_core::port::store::{Append, ClaimFrom, Ended, Exchange, Settle, StoreError};
use counterfoil_core::port::{Act, Acted, Actor, Archive, Deed, Store};
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
            place: None,
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

    async fn repeated(&self, limit: usize) -> Result<Repeated, Self::Error> {
        let mut times: BTreeMap<&str, u64> = BTreeMap::new();
        self.0.iter().for_each(|entry| *times.entry(&entry.key).or_default() += 1);
        let all = times.into_iter().filter(|(_, times)| *times > 1);
        let all: Vec<_> = all.map(|(key, times)| (key.to_owned(), times)).collect();
        Ok(Repeated { found: all.len() as u64, first: all.into_iter().take(limit).collect() })
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

/// Moves what has ended away.
async fn archive(store: &MemoryStore) {
    let later = store.now().unwrap().plus(counterfoil_core::domain::Span::from_secs(1));
    let entries = store.ended(later, 0, 9).await.unwrap().entries;
    assert_eq!(entries.len(), 3);
    store.bury("f.jsonl.zst", entries, None).await.unwrap();
}

/// The story: a command was cancelled, the receiver had done it, and the audit said so until the
/// command was archived. From then on the two books agreed.
#[tokio::test]
async fn the_key_of_an_archived_command_is_compared_with_what_stays_of_it() {
    let store = store().await;
    archive(&store).await;
    let (completed, rejected) = (Some(ReceiptOutcome::Completed), Some(ReceiptOutcome::Rejected));
    let agree = [("done", completed), ("refused", rejected), ("cancelled", rejected)];
    assert_eq!(matched(&store, &agree, InboxMatch::default()).await, []);
    for (key, outcome, code) in [
        ("cancelled", completed, "CF0844"),
        ("refused", None, "CF0844"),
        ("done", rejected, "CF0843"),
    ] {
        let found = matched(&store, &[(key, outcome)], InboxMatch::default()).await;
        assert_eq!(found, violation(code, key));
        let elsewhere = InboxMatch::default().destination("bank");
        assert_eq!(matched(&store, &[(key, outcome)], elsewhere).await, []);
    }
    let report = match_inbox(&store, &Keys::of(&agree), InboxMatch::default()).await.unwrap();
    assert_eq!((report.checked.keys, report.checked.archived_keys), (3, 3));
}

/// Only the receipts would tell, and these are in the file.
#[tokio::test]
async fn what_people_did_before_the_archive_may_excuse_a_key() {
    let store = store().await;
    let ann = || Actor { name: "ann".into(), reason: String::new() };
    let act = Act::Redeliver { may_act_twice: true };
    let deed = Deed { command_id: "refused".into(), act, by_filter: false };
    let acted = store.act(vec![deed], ann()).await.unwrap();
    assert!(matches!(acted[0], Acted::Done { .. }), "{acted:?}");
    let report = Report {
        outcome: ReceiptOutcome::Rejected,
        result: None,
        evidence: None,
        source: "report".into(),
        token: None,
        equals_earlier: false,
    };
    store.report(&id("refused"), report).await.unwrap();
    archive(&store).await;
    assert_eq!(matched(&store, &[("refused", None)], InboxMatch::default()).await, []);
}

/// The story: a receiver whose own table is its book had two jobs of one id, and the audit held.
#[tokio::test]
async fn a_key_that_stands_twice_is_found_and_all_are_counted() {
    let store = store().await;
    let twice = [("done", None), ("done", None), ("open", None), ("open", None), ("open", None)];
    let report = match_inbox(&store, &Keys::of(&twice), InboxMatch::default()).await.unwrap();
    assert_eq!(codes(&report), ["CF0845", "CF0845"]);
    assert_eq!(report.violations[1].ids, ["open"]);
    let mut one = InboxMatch::default();
    one.keep = 1;
    let report = match_inbox(&store, &Keys::of(&twice), one).await.unwrap();
    assert_eq!((report.violations.len(), report.found), (1, 2));
    assert!(report.violations[0].text.contains("done stands 2 times"), "{report:?}");
}

#[tokio::test]
async fn a_key_that_is_no_text_is_told_with_its_place_and_is_no_command() {
    let store = store().await;
    let mut keys = Keys::of(&[("done", None)]);
    keys.0.push(BookEntry { place: Some("row 7".into()), ..keys.0[0].clone() });
    keys.0.last_mut().unwrap().key = "open".into();
    let report = match_inbox(&store, &keys, InboxMatch::default()).await.unwrap();
    assert_eq!(codes(&report), ["CF0842"]);
    assert!(report.violations[0].text.contains("key open in the receiver's book (row 7)"));
}

/// The story: a short-lived key moved the time from which the receiver must remember to a moment
/// ago, and nothing said that nothing was looked for.
#[tokio::test]
async fn it_says_how_many_of_ours_were_looked_up_and_how_many_were_not() {
    let store = store().await;
    let counts = async |options| {
        let checked =
            match_inbox(&store, &Keys::of(&[("done", None)]), options).await.unwrap().checked;
        (checked.looked_up, checked.too_old, checked.keys)
    };
    assert_eq!(counts(InboxMatch::default()).await, (3, 0, 1));
    let later = store.now().unwrap().plus(counterfoil_core::domain::Span::from_secs(1));
    assert_eq!(counts(InboxMatch::default().since(later)).await, (0, 3, 1));
}

/// The story: a LEFT JOIN answered NULL, and the audit said "command  is expected, write it now,
/// under this id".
#[tokio::test]
async fn an_answer_without_an_id_is_told_by_its_row_and_a_kind_by_how_many_there_are() {
    let store = store().await;
    store.expect("rows", ["done".to_owned(), String::new(), "open".to_owned()]);
    let expect = Expect::new("rows").kind("order.payed");
    let report = audit(&store, AuditOptions::default().page(1).expect(expect)).await.unwrap();
    assert_eq!((codes(&report), report.violations[0].ids.len()), (vec!["CF0831"], 0));
    let text = &report.violations[0].text;
    assert!(text.contains("row 2 of the answer of \"rows\" has NULL"), "{text}");
    assert!(!text.contains("write it now"), "{text}");
    assert_eq!(report.expected_of, [("order.payed".to_owned(), 0)]);
    store.expect("all", IDS.map(String::from));
    let expect = Expect::new("all").kind("order.paid");
    let report = audit(&store, AuditOptions::default().page(2).expect(expect)).await.unwrap();
    assert_eq!((report.holds, report.expected_of), (true, vec![("order.paid".to_owned(), 5)]));
}
