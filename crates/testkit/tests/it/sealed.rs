//! Audits that go on from a seal, over a store in memory: each kind of row is spoiled behind it.
//!
//! Guarantees: what each form finds, and what it does not, is held. Does not: repeat the suite's
//! cases, which every store passes.

use std::sync::Arc;

use counterfoil_core::audit::seal::Seal;
use counterfoil_core::audit::{
    AuditError, AuditOptions, AuditReport, Expect, How, SealFate, WhyFull, audit_sealed,
};
use counterfoil_core::domain::transition::{Report, Verdict};
use counterfoil_core::domain::{
    Attempted, Command, CommandId, Contract, Destination, Event, Idempotent, Kind, Micros,
    OrderingKey, Purpose, ReceiptOutcome, Span, State, Stream, Terms, Token,
};
use counterfoil_core::port::archive::Buried;
use counterfoil_core::port::store::{Append, ClaimFrom, Exchange};
use counterfoil_core::port::{Act, Acted, Actor, Archive, Audited, Deed, Store};
use counterfoil_testkit::memory_store::rows::{AttemptEntry, Rows};
use counterfoil_testkit::{ManualClock, MemoryStore};

/// More than an hour: events that are younger do not count.
const LATER: Span = Span::from_secs(7200);

struct Shop {
    clock: ManualClock,
    store: MemoryStore,
}

fn command(id: &str) -> Command {
    Command::bytes(id, "shop", "order.paid", format!("body of {id}")).unwrap()
}

fn said(outcome: ReceiptOutcome) -> Report {
    Report {
        outcome,
        result: Some(b"job".to_vec()),
        evidence: Some("said so".into()),
        source: "report".into(),
        token: None,
        equals_earlier: false,
    }
}

impl Shop {
    /// Three ended commands, one contradicted and looked into, one open, one of a decision, one
    /// archived, and a seal over all of that.
    async fn sealed() -> Self {
        let clock = ManualClock::default();
        let shop = Self { store: MemoryStore::new(clock.clone()), clock };
        for id in ["a", "b", "c", "old"] {
            shop.ended(id).await;
        }
        shop.store.enqueue(vec![command("open")]).await.unwrap();
        shop.report("b", ReceiptOutcome::Rejected).await;
        shop.clock.advance(Span::from_secs(1));
        shop.act("b", Act::Resolve(Verdict::Completed { result: None })).await;
        shop.decide(0).await;
        shop.store.with_rows(|rows| {
            let n = rows.n_of("a").unwrap();
            let attempted = Attempted {
                round: 1,
                token: Token::NONE,
                purpose: Purpose::Send,
                outcome: "not_sent",
                reason: "refused".into(),
            };
            let ended_at = Micros::new(1_767_225_600_000_000);
            let entry = AttemptEntry { attempted, started_at: None, ended_at };
            rows.attempts.entry(n).or_default().push(entry);
        });
        shop.clock.advance(LATER);
        let entry = shop.store.entry("old").await.unwrap().unwrap();
        let buried = shop.store.bury("file", vec![entry], None).await.unwrap();
        assert_eq!(buried, Buried::Done(vec![true]));
        assert!(shop.audit(How::default()).await.holds);
        shop
    }

    async fn ended(&self, id: &str) {
        self.store.enqueue(vec![command(id)]).await.unwrap();
        self.report(id, ReceiptOutcome::Completed).await;
    }

    async fn report(&self, id: &str, outcome: ReceiptOutcome) {
        self.store.report(&CommandId::new(id).unwrap(), said(outcome)).await.unwrap();
    }

    async fn act(&self, id: &str, act: Act) {
        let deed = Deed { command_id: id.into(), act, by_filter: false };
        let actor = ann();
        let acted = self.store.act(vec![deed], actor).await.unwrap();
        assert!(matches!(acted[0], Acted::Done { .. }), "{acted:?}");
    }

    async fn decide(&self, seq: i64) {
        let event = Event { kind: Kind::new("placed").unwrap(), body: b"{}".to_vec(), cause: None };
        let unnamed = Command { id: None, ..command("x") };
        let stream = Stream::new("o-1").unwrap();
        let events = vec![event];
        let append = Append { stream, expected_seq: seq, events, commands: vec![unnamed] };
        self.store.append(append).await.unwrap().unwrap();
    }

    async fn audit(&self, how: How) -> AuditReport {
        audit_sealed(&self.store, AuditOptions::default().page(2), how).await.unwrap()
    }

    async fn codes(&self, how: How) -> Vec<&'static str> {
        self.audit(how).await.violations.iter().map(|found| found.code).collect()
    }
}

/// What both forms find once `spoil` was done behind the seal.
async fn spoiled(spoil: impl FnOnce(&mut Rows)) -> (Vec<&'static str>, AuditReport) {
    let shop = Shop::sealed().await;
    shop.store.with_rows(spoil);
    let incremental = shop.codes(How::default()).await;
    (incremental, shop.audit(How::default().full()).await)
}

/// Only the sums of this table differ.
fn breaks_the_seal(report: &AuditReport, table: &str) {
    let found: Vec<_> = report.violations.iter().map(|found| found.code).collect();
    assert_eq!(found, ["CF0851"], "{:#?}", report.violations);
    assert_eq!(report.violations[0].ids, [table]);
    assert!(report.violations[0].text.contains(table), "{}", report.violations[0].text);
    assert_eq!(report.pass.as_ref().unwrap().seal, SealFate::Violated);
}

#[tokio::test]
async fn an_ended_command_that_vanished_without_a_trace_is_found_by_the_sums() {
    let (incremental, full) = spoiled(|rows| {
        // With its receipt, and the counts set right.
        let n = rows.ids.remove(b"c".as_slice()).unwrap();
        rows.outbox.remove(&n);
        rows.receipts.remove(&(n, 1));
        *rows.tally.get_mut(&("shop".into(), "completed".into())).unwrap() -= 1;
    })
    .await;
    assert_eq!(incremental, ["CF0820"], "it knows how many were recorded");
    let codes: Vec<_> = full.violations.iter().map(|found| found.code).collect();
    assert_eq!(codes, ["CF0851", "CF0851"], "{:#?}", full.violations);
    assert_eq!([&full.violations[0].ids, &full.violations[1].ids], [&["outbox"], &["receipt"]]);
    let text = &full.violations[0].text;
    assert!(text.contains("5 rows were sealed, and 4") && text.contains("n 3 to 3"), "{text}");
}

#[tokio::test]
async fn a_changed_receipt_is_found() {
    let (incremental, full) = spoiled(|rows| {
        let receipt = rows.receipts.get_mut(&(1, 1)).unwrap();
        receipt.receipt.evidence = Some("said nothing".into());
    })
    .await;
    assert_eq!(incremental, [""; 0], "an old row that nothing touched is not looked at");
    breaks_the_seal(&full, "receipt");
    let text = &full.violations[0].text;
    assert!(text.contains("as many stand, but not the same"), "{text}");
}

#[tokio::test]
async fn a_changed_body_of_what_a_worker_reported_is_found() {
    // A report through SQL has no digests, so nothing but the seal sees it.
    let (_, full) = spoiled(|rows| {
        let row = rows.outbox.get_mut(&1).unwrap().row.as_mut().unwrap();
        Arc::make_mut(row).body = b"another".to_vec();
    })
    .await;
    breaks_the_seal(&full, "outbox");
}

#[tokio::test]
async fn a_removed_attempt_contradiction_act_or_event_is_found() {
    let (_, full) = spoiled(|rows| rows.attempts.clear()).await;
    breaks_the_seal(&full, "attempt");
    let (incremental, full) = spoiled(|rows| rows.contradictions.clear()).await;
    assert_eq!(incremental, [""; 0]);
    breaks_the_seal(&full, "contradiction");
    let (_, full) = spoiled(|rows| rows.actions[0].actor = "bob".into()).await;
    breaks_the_seal(&full, "operator_action");
    let (_, full) = spoiled(|rows| {
        let event = rows.events.get_mut(&("o-1".into(), 1)).unwrap();
        event.body = b"[]".to_vec();
    })
    .await;
    breaks_the_seal(&full, "event");
}

#[tokio::test]
async fn a_newest_event_that_issued_nothing_is_missed() {
    let shop = Shop::sealed().await;
    let event = Event { kind: Kind::new("noted").unwrap(), body: b"{}".to_vec(), cause: None };
    let stream = Stream::new("o-2").unwrap();
    let append = Append { stream, expected_seq: 0, events: vec![event], commands: vec![] };
    shop.store.append(append).await.unwrap().unwrap();
    shop.clock.advance(LATER);
    assert!(shop.audit(How::default().full()).await.holds);
    shop.store.with_rows(|rows| rows.events.remove(&("o-2".into(), 1)));
    breaks_the_seal(&shop.audit(How::default().full()).await, "event");
}

#[tokio::test]
async fn a_tombstone_that_is_removed_or_changed_is_found() {
    let (_, full) = spoiled(|rows| {
        rows.archived.clear();
        *rows.tally.get_mut(&("shop".into(), "completed".into())).unwrap() -= 1;
    })
    .await;
    breaks_the_seal(&full, "archived");
    let (_, full) = spoiled(|rows| {
        rows.archived.get_mut("old").unwrap().kind = "order.lost".into();
    })
    .await;
    breaks_the_seal(&full, "archived");
}

#[tokio::test]
async fn a_row_that_was_put_in_behind_the_seal_is_found() {
    let (_, full) = spoiled(|rows| {
        let mut receipt = rows.receipts[&(1, 1)].clone();
        receipt.receipt.round = 0;
        rows.receipts.insert((1, 0), receipt);
    })
    .await;
    let codes: Vec<_> = full.violations.iter().map(|found| found.code).collect();
    assert!(codes.contains(&"CF0851"), "{codes:?}");
}

#[tokio::test]
async fn the_newest_command_that_is_gone_is_found_at_once() {
    let (incremental, full) = spoiled(|rows| {
        let n = rows.ids.remove(b"o-1:1:0".as_slice()).unwrap();
        rows.outbox.remove(&n);
        rows.deliveries.remove(&n);
    })
    .await;
    assert_eq!(incremental, ["CF0852", "CF0820"]);
    let codes: Vec<_> = full.violations.iter().map(|found| found.code).collect();
    assert!(codes.starts_with(&["CF0852"]), "{codes:?}");
}

#[tokio::test]
async fn what_a_full_audit_found_is_looked_for_until_it_is_put_right() {
    let shop = Shop::sealed().await;
    let right = shop.store.look(|rows| rows.receipts[&(1, 1)].clone());
    shop.store.with_rows(|rows| {
        rows.receipts.get_mut(&(1, 1)).unwrap().receipt.attempts = 7;
    });
    assert!(!shop.audit(How::default().full()).await.holds);
    for _ in 0..2 {
        let again = shop.audit(How::default()).await;
        assert!(!again.holds);
        assert_eq!(again.pass.unwrap().full, Some(WhyFull::Broken));
    }
    shop.store.with_rows(|rows| rows.receipts.insert((1, 1), right));
    let well = shop.audit(How::default()).await;
    assert!(well.holds, "{:#?}", well.violations);
    assert_eq!(shop.audit(How::default()).await.pass.unwrap().full, None);
}

fn ann() -> Actor {
    Actor { name: "ann".into(), reason: "looked".into() }
}

/// The story: rows were put right by hand, on purpose, and no audit held any more.
#[tokio::test]
async fn who_knows_what_was_changed_seals_it_anew() {
    let shop = Shop::sealed().await;
    let say = |rows: &mut Rows, evidence: &str| {
        rows.receipts.get_mut(&(1, 1)).unwrap().receipt.evidence = Some(evidence.into());
    };
    shop.store.with_rows(|rows| say(rows, "other"));
    breaks_the_seal(&shop.audit(How::default().full()).await, "receipt");
    let anew = shop.audit(How::default().reseal(ann())).await;
    assert_eq!((anew.holds, anew.violations[0].code), (false, "CF0851"), "it is told once more");
    assert!(matches!(anew.pass.unwrap().seal, SealFate::Renewed(_)));
    let acts = shop.store.with_rows(|rows| rows.actions.len());
    assert!(shop.audit(How::default().full()).await.holds);
    // Where anything else is wrong it stays.
    shop.store.with_rows(|rows| {
        say(rows, "another");
        rows.delivery_mut("open").unwrap().delivery.available_at = None;
    });
    let anew = shop.audit(How::default().reseal(ann())).await;
    assert_eq!(anew.pass.unwrap().seal, SealFate::Violated);
    assert_eq!(shop.store.with_rows(|rows| rows.actions.len()), acts, "nothing was given up");
}

#[tokio::test]
async fn who_knows_that_the_newest_are_gone_seals_what_is_left() {
    let shop = Shop::sealed().await;
    shop.store.enqueue(vec![command("new")]).await.unwrap();
    assert!(shop.audit(How::default()).await.holds);
    shop.store.with_rows(|rows| {
        let n = rows.ids.remove(b"new".as_slice()).unwrap();
        rows.outbox.remove(&n);
        rows.deliveries.remove(&n);
        rows.newest = n - 1;
    });
    assert_eq!(shop.codes(How::default().full()).await, ["CF0852", "CF0851"]);
    shop.audit(How::default().reseal(ann())).await;
    shop.store.enqueue(vec![command("again")]).await.unwrap();
    for how in [How::default(), How::default().full()] {
        let report = shop.audit(how).await;
        assert!(report.holds, "{:#?}", report.violations);
    }
}

#[tokio::test]
async fn where_a_transaction_is_left_open_the_seal_stays() {
    let shop = Shop::sealed().await;
    let before = shop.store.sealed().await.unwrap();
    shop.store.with_rows(|rows| rows.left_open = true);
    shop.ended("late").await;
    for how in [How::default(), How::default().full()] {
        let report = shop.audit(how).await;
        assert!(report.holds, "{:#?}", report.violations);
        assert_eq!(report.pass.unwrap().seal, SealFate::Open);
    }
    assert_eq!(shop.store.sealed().await.unwrap(), before);
    // It is still checked.
    shop.store.with_rows(|rows| {
        let n = rows.n_of("late").unwrap();
        rows.receipts.remove(&(n, 1));
    });
    assert_eq!(shop.codes(How::default()).await, ["CF0804"]);
}

#[tokio::test]
async fn a_seal_that_cannot_be_read_is_an_error_and_a_full_audit_begins_anew() {
    let shop = Shop::sealed().await;
    for seal in ["rubbish", r#"{"format":9}"#] {
        let stands = shop.store.sealed().await.unwrap().unwrap();
        assert!(shop.store.save_seal(stands.version, seal).await.unwrap());
        let none = audit_sealed(&shop.store, AuditOptions::default(), How::default()).await;
        assert!(matches!(none, Err(AuditError::Seal(_))), "{none:?}");
        let full = shop.audit(How::default().full()).await;
        assert!(full.holds, "{:#?}", full.violations);
        let pass = full.pass.unwrap();
        assert!(matches!(pass.full, Some(WhyFull::Unreadable(_))), "{pass:?}");
        assert!(matches!(pass.seal, SealFate::Renewed(_)), "{pass:?}");
        assert_eq!(shop.audit(How::default()).await.pass.unwrap().full, None);
    }
}

#[tokio::test]
async fn a_seal_is_renewed_only_if_everything_holds() {
    let shop = Shop::sealed().await;
    let before = shop.store.sealed().await.unwrap();
    shop.store.enqueue(vec![command("new")]).await.unwrap();
    shop.store.with_rows(|rows| rows.delivery_mut("new").unwrap().delivery.available_at = None);
    let report = shop.audit(How::default()).await;
    assert_eq!(report.violations[0].code, "CF0814");
    assert_eq!(report.pass.unwrap().seal, SealFate::Violated);
    assert_eq!(shop.store.sealed().await.unwrap(), before);
    shop.store.expect("rows", ["a".to_owned(), "none".to_owned()]);
    shop.store.with_rows(|rows| {
        let due = rows.clock;
        rows.delivery_mut("new").unwrap().delivery.available_at = Some(due);
    });
    let options = AuditOptions::default().expect(Expect::new("rows"));
    let report = audit_sealed(&shop.store, options, How::default()).await.unwrap();
    assert_eq!(report.violations[0].code, "CF0831");
    assert_eq!(shop.store.sealed().await.unwrap(), before, "nor if a row of the user's lacks");
}

/// Of an archive that moves the seal each time, the counts of no try fit: that is no violation.
#[tokio::test]
async fn an_archive_that_is_always_faster_makes_no_false_alarm() {
    for how in [How::default(), How::default().full()] {
        let shop = Shop::sealed().await;
        let new = ["n-1", "n-2", "n-3", "n-4"].map(str::to_owned);
        for id in &new {
            shop.ended(id).await;
        }
        shop.store.with_rows(|rows| rows.leaving = new.to_vec());
        let report = shop.audit(how).await;
        assert!(report.holds, "{:#?}", report.violations);
        assert_eq!(report.pass.unwrap().seal, SealFate::Moved);
        shop.store.with_rows(|rows| rows.leaving.clear());
        assert!(shop.audit(How::default()).await.holds, "and the next one counts right");
    }
}

#[tokio::test]
async fn an_archived_command_stands_for_the_users_own_query_and_is_not_asked_back() {
    let shop = Shop::sealed().await;
    shop.store.expect("rows", ["old", "a", "b", "c", "open", "o-1:1:0"].map(str::to_owned));
    let options = || AuditOptions::default().page(2).expect(Expect::new("rows").kind("order.paid"));
    for how in [How::default(), How::default().full()] {
        let report = audit_sealed(&shop.store, options(), how).await.unwrap();
        assert!(report.holds, "{:#?}", report.violations);
        assert_eq!(report.checked.expected, 6);
    }
    shop.store.expect("rows", ["a", "b", "c", "open", "o-1:1:0"].map(str::to_owned));
    let report = audit_sealed(&shop.store, options(), How::default().full()).await.unwrap();
    assert!(report.holds, "its row may be gone, too: {:#?}", report.violations);
}

#[tokio::test]
async fn an_act_about_nothing_is_found() {
    let shop = Shop::sealed().await;
    shop.act("open", Act::Cancel).await;
    shop.store.with_rows(|rows| rows.actions.last_mut().unwrap().about = "nobody".into());
    for how in [How::default(), How::default().full()] {
        assert_eq!(shop.codes(how).await, ["CF0829"]);
    }
}

#[tokio::test]
async fn two_in_flight_of_one_lane_are_found_at_once() {
    let shop = Shop::sealed().await;
    let key = || OrderingKey::new("k").unwrap();
    for id in ["k-1", "k-2"] {
        shop.store.enqueue(vec![command(id).ordering_key(key())]).await.unwrap();
    }
    let to = Destination::new("shop").unwrap();
    let terms = Arc::new(Terms::new(Contract::new(Idempotent::Forever)));
    shop.store.declare(&to, &terms.contract, false).await.unwrap();
    let from = ClaimFrom { destination: to, limit: 9, terms };
    let claims = Exchange { claim_from: vec![from], claim_limit: 9, ..Exchange::default() };
    shop.store.exchange(claims).await.unwrap();
    assert!(shop.audit(How::default()).await.holds);
    shop.store.with_rows(|rows| {
        let until = rows.clock.plus(Span::from_secs(30));
        let other = &mut rows.delivery_mut("k-2").unwrap().delivery;
        (other.state, other.available_at) = (State::Sending, Some(until));
    });
    let found = shop.codes(How::default()).await;
    assert!(found.contains(&"CF0827"), "{found:?}");
}

#[tokio::test]
async fn an_event_without_its_command_is_found_where_its_stream_goes_on() {
    let shop = Shop::sealed().await;
    shop.decide(1).await;
    shop.decide(2).await;
    shop.store.with_rows(|rows| {
        let n = rows.ids.remove(b"o-1:2:0".as_slice()).unwrap();
        rows.outbox.remove(&n);
        rows.deliveries.remove(&n);
    });
    assert_eq!(shop.codes(How::default()).await, ["CF0819"]);
    let shop = Shop::sealed().await;
    shop.decide(1).await;
    shop.store.with_rows(|rows| rows.events.get_mut(&("o-1".into(), 2)).unwrap().commands = 2);
    assert_eq!(shop.codes(How::default()).await, ["CF0819"]);
}

#[tokio::test]
async fn the_seal_grows_by_what_is_new_as_a_full_audit_would_sum_it() {
    let shop = Shop::sealed().await;
    for at in 0..7 {
        shop.ended(&format!("n-{at}")).await;
        shop.clock.advance(LATER);
        assert!(shop.audit(How::default()).await.holds);
    }
    let grown = Seal::read(&shop.store.sealed().await.unwrap().unwrap().seal).unwrap();
    let full = shop.audit(How::default().full()).await;
    assert!(full.holds, "{:#?}", full.violations);
    let summed = Seal::read(&shop.store.sealed().await.unwrap().unwrap().seal).unwrap();
    assert_eq!((grown.sums, grown.recorded), (summed.sums, summed.recorded));
    assert_eq!(grown.kinds, summed.kinds);
}

/// The story: an order was un-paid long after its command was sealed, and only a full audit saw it.
#[tokio::test]
async fn a_command_whose_row_is_gone_is_found_by_counting() {
    let shop = Shop::sealed().await;
    let rows = ["old", "a", "b", "c", "open", "o-1:1:0"].map(str::to_owned);
    let options = || AuditOptions::default().page(2).expect(Expect::new("rows").kind("order.paid"));
    shop.store.expect("rows", rows.clone());
    let report = audit_sealed(&shop.store, options(), How::default()).await.unwrap();
    assert!(report.holds, "{:#?}", report.violations);
    assert_eq!(report.checked.commands, 2, "the open ones");
    shop.store.expect("rows", rows.iter().filter(|id| *id != "b").cloned());
    let report = audit_sealed(&shop.store, options(), How::default()).await.unwrap();
    let found: Vec<_> = report.violations.iter().map(|found| (found.code, &found.ids)).collect();
    assert_eq!(found, [("CF0832", &vec!["b".to_owned()])]);
    // The numbers agree: another is answered twice, or one of another kind is.
    let other = Command { kind: Kind::new("order.lost").unwrap(), ..command("lost") };
    shop.store.enqueue(vec![other]).await.unwrap();
    for instead in ["a", "old", "lost"] {
        let answer = rows.iter().map(|id| if id == "b" { instead } else { id }.to_owned());
        shop.store.expect("rows", answer);
        let report = audit_sealed(&shop.store, options(), How::default()).await.unwrap();
        let found: Vec<_> = report.violations.iter().map(|it| (it.code, &it.ids)).collect();
        assert_eq!(found, [("CF0832", &vec!["b".to_owned()])], "{instead}");
        assert_eq!(report.pass.unwrap().full, None);
    }
    shop.store.expect("rows", rows.clone());
    assert!(audit_sealed(&shop.store, options(), How::default()).await.unwrap().holds);
    shop.store.expect("rows", rows);
    shop.ended("new").await;
    let report = audit_sealed(&shop.store, options(), How::default()).await.unwrap();
    let found: Vec<_> = report.violations.iter().map(|found| (found.code, &found.ids)).collect();
    assert_eq!(found, [("CF0832", &vec!["new".to_owned()])]);
}
