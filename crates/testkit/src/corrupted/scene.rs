//! A small store with every kind of row in every state, made by real operations alone.
//!
//! Guarantees: each command is named after how it got where it is. Does not: wait; its clock is
//! the test's own.

use std::sync::Arc;

use counterfoil_core::domain::contract::Completion;
use counterfoil_core::domain::transition::{Report, Verdict};
use counterfoil_core::domain::{
    Answer, Asking, Command, CommandId, Contract, Destination, Event, Idempotent, Kind,
    OrderingKey, Outcome, ReceiptOutcome, ResultBody, Seed, Span, Stream, Terms,
};
use counterfoil_core::port::archive::{Buried, Erased};
use counterfoil_core::port::store::{
    Append, ClaimFrom, Claimed, Declared, Ended, Exchange, Recorded, Reported, Settle,
};
use counterfoil_core::port::{Act, Acted, Actor, Archive, Deed, Store};

use crate::exercise_store::Hands;

/// A receiver that remembers keys for ever.
const SHOP: &str = "shop";
/// A receiver that remembers keys for a day, and gives up at once.
const DESK: &str = "desk";
/// A receiver without keys that can be asked.
const BANK: &str = "bank";
/// A receiver without keys.
const MAIL: &str = "mail";
/// A broker: what it took is done.
const QUEUE: &str = "queue";
/// Nobody serves it.
const IDLE: &str = "idle";

fn terms(name: &str) -> Terms {
    let day = Span::from_secs(86_400);
    let mut terms = Terms::new(Contract::new(match name {
        SHOP | QUEUE => Idempotent::Forever,
        DESK => Idempotent::Window { key_ttl: day },
        _ => Idempotent::No,
    }));
    match name {
        DESK => terms.pace.max_attempts = 1,
        BANK => terms.contract.ask = Some(Asking::new(Span::from_secs(60))),
        QUEUE => terms.contract.completion = Completion::Accepted,
        _ => {}
    }
    terms
}

fn completed() -> Outcome {
    Outcome::Completed { result: ResultBody::whole("job 7"), evidence: "HTTP 200".into() }
}

fn command(id: &str, to: &str) -> Command {
    Command::bytes(id, to, "order.paid", format!("body of {id}")).unwrap()
}

fn in_lane(id: &str, to: &str, key: &str) -> Command {
    command(id, to).ordering_key(OrderingKey::new(key).unwrap())
}

/// The store in the making.
struct Scene<'h, H: Hands> {
    hands: &'h H,
    store: H::Store,
}

/// Fills an empty store.
pub(super) async fn fill<H: Hands>(hands: &H)
where
    H::Store: Archive,
{
    let scene = Scene { hands, store: hands.store() };
    for name in [SHOP, DESK, BANK, MAIL, QUEUE] {
        let to = Destination::new(name).unwrap();
        let declared = scene.store.declare(&to, &terms(name).contract, false).await.unwrap();
        assert_eq!(declared, Declared::Agreed);
    }
    scene.restored().await;
    scene.ended().await;
    scene.ended_by_people().await;
    scene.decided().await;
    scene.removed().await;
    scene.parked().await;
    scene.in_lanes().await;
    scene.under_way().await;
    scene.waiting().await;
    scene.pauses().await;
    // Past the hour within which other writers may still record events of an earlier time.
    scene.pass(7200);
}

impl<H: Hands> Scene<'_, H>
where
    H::Store: Archive,
{
    /// What was erased, and what was archived: each with a lane or a decision of its own, too.
    async fn removed(&self) {
        self.sent(command("erased", SHOP).header("X-Shop", "7"), completed()).await;
        let ann = Actor { name: "ann".into(), reason: "asked for".into() };
        let erased = self.store.erase("erased", ann, "asked for", None).await.unwrap();
        assert_eq!(erased, Erased::Done);

        self.sent(command("archived", SHOP), completed()).await;
        self.sent(in_lane("lane-archived", SHOP, "E"), completed()).await;
        self.record(in_lane("lane-after", IDLE, "F")).await;
        self.act("lane-after", Act::Cancel).await;
        self.record(in_lane("lane-last", IDLE, "F")).await;
        let mut entries = Vec::new();
        for id in ["archived", "lane-archived", "lane-after", "o-1:1:0"] {
            entries.push(self.store.entry(id).await.unwrap().unwrap());
        }
        let buried = self.store.bury("2026-01.cf", entries, None).await.unwrap();
        assert_eq!(buried, Buried::Done(vec![true; 4]));
    }
}

impl<H: Hands> Scene<'_, H> {
    async fn record(&self, command: Command) {
        let answer = self.store.enqueue(vec![command]).await.unwrap().remove(0);
        assert_eq!(answer, Ok(Recorded::Recorded));
    }

    /// Claims what is due at a destination: exactly one.
    async fn claim(&self, name: &str) -> Claimed {
        let terms = Arc::new(terms(name));
        let destination = Destination::new(name).unwrap();
        let claim_from = vec![ClaimFrom { destination, limit: 10, terms }];
        let exchange = Exchange {
            claim_from,
            claim_limit: 10,
            owner: "relay-1".into(),
            seed: 7,
            ..Exchange::default()
        };
        let mut claimed = self.store.exchange(exchange).await.unwrap().claimed;
        assert_eq!(claimed.len(), 1, "due at {name}: {claimed:#?}");
        claimed.remove(0)
    }

    async fn end(&self, claimed: &Claimed, ended: Ended) {
        let terms = Arc::new(terms(claimed.command.destination.as_str()));
        let settle = Settle {
            claimed: claimed.clone(),
            ended,
            started_at: self.store.now().unwrap(),
            burns: true,
            seed: Seed(3),
            terms,
        };
        let exchange = Exchange { settles: vec![settle], ..Exchange::default() };
        assert_eq!(self.store.exchange(exchange).await.unwrap().settled.len(), 1);
    }

    /// Records, claims and settles.
    async fn sent(&self, command: Command, outcome: Outcome) -> Claimed {
        let name = command.destination.to_string();
        self.record(command).await;
        let claimed = self.claim(&name).await;
        self.end(&claimed, Ended::Outcome(outcome)).await;
        claimed
    }

    async fn report(&self, id: &str, outcome: ReceiptOutcome) -> Reported {
        let report = Report {
            outcome,
            result: Some(b"job 7".to_vec()),
            evidence: Some("the worker said so".into()),
            source: "report".into(),
            token: None,
            equals_earlier: false,
        };
        self.store.report(&CommandId::new(id).unwrap(), report).await.unwrap()
    }

    async fn act(&self, id: &str, act: Act) {
        let deed = Deed { command_id: id.into(), act, by_filter: false };
        let actor = Actor { name: "ann".into(), reason: "asked by phone".into() };
        let acted = self.store.act(vec![deed], actor).await.unwrap().remove(0);
        assert!(matches!(acted, Acted::Done { .. }), "{id}: {acted:?}");
    }

    async fn state(&self, id: &str) -> String {
        self.store.show(id).await.unwrap().unwrap().listed.state
    }

    /// Time passes, whoever waits for it.
    fn pass(&self, secs: i64) {
        self.hands.advance(Span::from_secs(secs));
    }

    /// The backup held one open command.
    async fn restored(&self) {
        self.record(command("restored", IDLE)).await;
        let at = self.store.now().unwrap();
        self.pass(60);
        assert_eq!(self.store.restored(at, "ann").await.unwrap(), 1);
    }

    /// Each way to end without a person.
    async fn ended(&self) {
        self.sent(command("completed", SHOP), completed()).await;
        self.sent(command("accepted", QUEUE), Outcome::Accepted { evidence: "ack".into() }).await;
        let refused = Outcome::Rejected {
            reason: "no such article".into(),
            by: counterfoil_core::domain::Judge::Receiver,
        };
        self.sent(command("rejected", SHOP), refused).await;

        let soon = self.store.now().unwrap().plus(Span::from_secs(10));
        let command_ = Command { expires_at: Some(soon), ..command("expired", IDLE) };
        self.record(command_).await;
        self.pass(11);
        assert_eq!(self.store.sweep(10, None).await.unwrap().expired.len(), 1);

        self.sent(command("reported", SHOP), Outcome::Accepted { evidence: "202".into() }).await;
        assert_eq!(self.report("reported", ReceiptOutcome::Completed).await, Reported::Recorded);
        self.record(command("reported-unsent", IDLE)).await;
        let reported = self.report("reported-unsent", ReceiptOutcome::Rejected).await;
        assert_eq!(reported, Reported::Recorded);

        self.sent(command("answered", BANK), Outcome::unknown("reset")).await;
        self.pass(120);
        let asked = self.claim(BANK).await;
        let result = ResultBody::whole("job 8");
        let done = Answer::Done { result, evidence: "it has the key".into() };
        self.end(&asked, Ended::Answer(done)).await;

        self.sent(command("second-try", SHOP), Outcome::not_sent("no route")).await;
        self.pass(700);
        let again = self.claim(SHOP).await;
        self.end(&again, Ended::Outcome(completed())).await;

        self.record(command("late", MAIL)).await;
        let late = self.claim(MAIL).await;
        self.pass(31);
        let exchange = self.look(MAIL).await;
        assert_eq!(exchange, 0, "its lease ran out, and nobody may send it again");
        self.end(&late, Ended::Outcome(completed())).await;
        assert_eq!(self.state("late").await, "completed");

        self.sent(command("contradicted", SHOP), completed()).await;
        let said = self.report("contradicted", ReceiptOutcome::Rejected).await;
        assert_eq!(said, Reported::Contradiction);
        self.act("contradicted", Act::Resolve(Verdict::Rejected)).await;
    }

    async fn look(&self, name: &str) -> usize {
        let terms = Arc::new(terms(name));
        let destination = Destination::new(name).unwrap();
        let claim_from = vec![ClaimFrom { destination, limit: 10, terms }];
        let exchange = Exchange { claim_from, claim_limit: 10, ..Exchange::default() };
        self.store.exchange(exchange).await.unwrap().claimed.len()
    }

    /// What people end, begin again, or free.
    async fn ended_by_people(&self) {
        self.record(command("cancelled", IDLE)).await;
        self.act("cancelled", Act::Cancel).await;

        self.sent(command("resolved", MAIL), Outcome::unknown("reset")).await;
        let verdict = Verdict::Completed { result: Some(b"seen".to_vec()) };
        self.act("resolved", Act::Resolve(verdict)).await;

        self.sent(command("retried", DESK), Outcome::not_sent("no route")).await;
        self.act("retried", Act::Retry { may_act_twice: false }).await;
        let again = self.claim(DESK).await;
        self.end(&again, Ended::Outcome(completed())).await;

        self.sent(command("redelivered", SHOP), completed()).await;
        self.act("redelivered", Act::Redeliver { may_act_twice: true }).await;
        let again = self.claim(SHOP).await;
        self.end(&again, Ended::Outcome(completed())).await;
    }

    /// Decisions with no, one and two commands.
    async fn decided(&self) {
        for (stream, commands) in [("o-0", 0), ("o-1", 1), ("o-2", 2)] {
            for expected_seq in 0..2 {
                let event = |at: i64| Event {
                    kind: Kind::new("placed").unwrap(),
                    body: format!("{{\"at\":{at}}}").into_bytes(),
                    cause: Some(format!("input-{at}")),
                };
                let unnamed = |idx| Command { id: None, ..command(&format!("x-{idx}"), IDLE) };
                let append = Append {
                    stream: Stream::new(stream).unwrap(),
                    expected_seq,
                    events: vec![event(expected_seq)],
                    commands: (0..commands).map(unnamed).collect(),
                };
                self.store.append(append).await.unwrap().unwrap();
                self.pass(1);
            }
        }
        for id in ["o-1:1:0", "o-2:1:1"] {
            self.act(id, Act::Cancel).await;
        }
    }

    /// One in each state that waits for a person.
    async fn parked(&self) {
        self.sent(command("dead", DESK), Outcome::not_sent("no route")).await;
        self.sent(command("uncertain", MAIL), Outcome::unknown("reset")).await;
        let other = Outcome::Conflict { reason: "HTTP 422".into() };
        self.sent(command("conflict", SHOP), other).await;
        for state in ["dead", "uncertain", "conflict"] {
            assert_eq!(self.state(state).await, state);
        }
    }

    /// One lane that moves, and one whose head is parked.
    async fn in_lanes(&self) {
        self.sent(in_lane("lane-completed", SHOP, "A"), completed()).await;
        self.sent(in_lane("lane-parked", MAIL, "B"), Outcome::unknown("reset")).await;
        self.record(in_lane("lane-blocked", MAIL, "B")).await;
        self.record(in_lane("lane-next", IDLE, "C")).await;
        self.record(in_lane("lane-waits", IDLE, "C")).await;
    }

    /// One in each way of being sent or asked about; each at a destination that is looked at no
    /// more.
    async fn under_way(&self) {
        self.sent(command("asking-due", BANK), Outcome::unknown("reset")).await;
        self.pass(120);
        let asked = self.claim(BANK).await;
        let unclear = Answer::Unclear { reason: "HTTP 500".into() };
        self.end(&asked, Ended::Answer(unclear)).await;
        self.sent(command("asking", BANK), Outcome::unknown("reset")).await;
        self.pass(120);
        self.claim_of("asking", BANK).await;

        self.record(command("taken-over", SHOP)).await;
        self.claim(SHOP).await;
        self.pass(31);
        self.claim(SHOP).await;
        self.record(in_lane("lane-sending", SHOP, "A")).await;
        self.claim(SHOP).await;
        self.record(in_lane("lane-behind", SHOP, "A")).await;
        self.record(command("sending", SHOP)).await;
        self.claim(SHOP).await;
        self.sent(command("published", SHOP), Outcome::Accepted { evidence: "202".into() }).await;
        self.sent(in_lane("lane-published", SHOP, "D"), Outcome::Accepted { evidence: "2".into() })
            .await;
    }

    /// Claims all that is due, of which one is `id`; hands the others back.
    async fn claim_of(&self, id: &str, name: &str) {
        let terms = Arc::new(terms(name));
        let destination = Destination::new(name).unwrap();
        let claim_from = vec![ClaimFrom { destination, limit: 10, terms }];
        let owner = "relay-1".into();
        let exchange = Exchange { claim_from, claim_limit: 10, owner, ..Exchange::default() };
        for claimed in self.store.exchange(exchange).await.unwrap().claimed {
            if claimed.command.command_id.as_str() != id {
                self.end(&claimed, Ended::HandedBack).await;
            }
        }
        assert_eq!(self.state(id).await, "asking");
    }

    /// One in each way of waiting for its time.
    async fn waiting(&self) {
        self.sent(command("not-sent", SHOP), Outcome::not_sent("no route")).await;
        self.sent(command("in-doubt", SHOP), Outcome::unknown("reset")).await;
        self.sent(command("retried-open", MAIL), Outcome::unknown("reset")).await;
        self.act("retried-open", Act::Retry { may_act_twice: true }).await;
        let claimed = self.claim(MAIL).await;
        self.end(&claimed, Ended::HandedBack).await;
        self.act_not_done().await;
        self.sent(command("redelivered-open", QUEUE), Outcome::Accepted { evidence: "ack".into() })
            .await;
        self.act("redelivered-open", Act::Redeliver { may_act_twice: true }).await;
        self.record(command("pending", IDLE)).await;
        let now = self.store.now().unwrap();
        let dressed = Command {
            not_before: Some(now.plus(Span::from_secs(3600))),
            expires_at: Some(now.plus(Span::from_secs(7200))),
            ..command("pending-dressed", IDLE)
        };
        let dressed = dressed.header("X-Shop", "7").content_type("text/plain");
        let dressed = dressed.core(&["core".into()]).unwrap();
        self.record(dressed).await;
    }

    async fn act_not_done(&self) {
        self.sent(command("not-done", DESK), Outcome::unknown("reset")).await;
        self.act("not-done", Act::Resolve(Verdict::NotDone)).await;
    }

    /// One destination is paused, another was.
    async fn pauses(&self) {
        for name in [IDLE, QUEUE] {
            let to = Destination::new(name).unwrap();
            assert!(self.store.pause(&to, "ann", "stocktaking").await.unwrap());
        }
        let to = Destination::new(QUEUE).unwrap();
        assert!(self.store.resume(&to, "ann", "counted").await.unwrap());
    }
}
