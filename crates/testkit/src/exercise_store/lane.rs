//! Lanes: one command of a key at a time, in commit order.
//!
//! Guarantees: each way in which a turn ends, and each that must not give it on, is covered. Does
//! not: measure; a benchmark does.

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::laws::of_lane;
use counterfoil_core::domain::{
    Command, Event, Kind, OrderingKey, Outcome, ReceiptOutcome, Span, State, Stream, Terms,
};
use counterfoil_core::port::store::{Append, Ended, Recorded, Settled, WriteRefused};
use counterfoil_core::port::{Act, Acted, Actor, Deed, Store};

use super::Hands;
use super::scene::{SHOP, Scene, command_to, completed, destination, forever, ids, keyless};

/// A command of a lane.
fn of_lane_a(id: &str, key: &str) -> Command {
    Command { ordering_key: Some(OrderingKey::new(key).unwrap()), ..command_to(id, SHOP) }
}

impl<H: Hands> Scene<H> {
    async fn enqueue_in(&self, id: &str, key: &str) {
        let answers = self.store.enqueue(vec![of_lane_a(id, key)]).await.unwrap();
        assert_eq!(answers, [Ok(Recorded::Recorded)], "enqueue of {id}");
    }

    /// What can be claimed now, and is.
    async fn next(&self) -> Vec<String> {
        let claimed = self.look().await.claimed;
        ids(&claimed).into_iter().map(str::to_owned).collect()
    }

    async fn act(&self, id: &str, act: Act) -> Acted {
        let deed = Deed { command_id: id.into(), act, by_filter: false };
        let actor = Actor { name: "ann".into(), reason: "asked by phone".into() };
        self.store.act(vec![deed], actor).await.unwrap().remove(0)
    }

    /// Every law about lanes.
    async fn lanes_hold(&self) {
        for lane in self.store.lane_facts(None, 100).await.unwrap() {
            assert_eq!(of_lane(&lane), [], "{lane:?}");
        }
    }
}

fn skip(mut terms: Terms) -> Terms {
    terms.contract.on_parked = OnParked::Skip;
    terms
}

pub(super) async fn one_of_a_key_at_a_time_in_commit_order<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    for id in ["a-1", "a-2", "a-3"] {
        scene.enqueue_in(id, "A").await;
    }
    scene.enqueue_in("b-1", "B").await;
    scene.enqueue("free").await;
    let first = scene.look().await.claimed;
    assert_eq!(ids(&first), ["a-1", "b-1", "free"]);
    assert_eq!(scene.next().await, [""; 0], "a-1 is in flight");
    scene.settle(&first[0], completed()).await;
    let second = scene.claim().await;
    assert_eq!(second.command.command_id.as_str(), "a-2");
    scene.settle(&second, completed()).await;
    assert_eq!(scene.next().await, ["a-3"]);
    scene.lanes_hold().await;
}

pub(super) async fn a_key_is_a_lane_of_its_own_at_each_destination<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.declare("bank", false).await;
    scene.enqueue_in("a-1", "A").await;
    let elsewhere = Command {
        ordering_key: Some(OrderingKey::new("A").unwrap()),
        ..command_to("bank-1", "bank")
    };
    scene.store.enqueue(vec![elsewhere]).await.unwrap().remove(0).unwrap();
    let both = vec![scene.claim_from(SHOP, 10), scene.claim_from("bank", 10)];
    let done = scene.exchange(scene.claims_from(both, 10)).await;
    assert_eq!(ids(&done.claimed), ["a-1", "bank-1"]);
    assert_eq!(scene.store.lane_facts(None, 10).await.unwrap().len(), 2);
    scene.lanes_hold().await;
}

pub(super) async fn a_turn_stays_through_every_wait<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue_in("a-1", "A").await;
    scene.enqueue_in("a-2", "A").await;
    let claimed = scene.claim().await;
    scene.settle(&claimed, Outcome::not_sent("refused")).await;
    scene.advance(700);
    let again = scene.claim().await;
    assert_eq!(again.command.command_id.as_str(), "a-1", "after its backoff");
    scene.settle(&again, Outcome::Accepted { evidence: "202".into() }).await;
    assert_eq!(scene.next().await, [""; 0], "published is in flight");
    scene.report("a-1", ReceiptOutcome::Completed).await;
    scene.store.sweep(10, None).await.unwrap();
    let next = scene.claim().await;
    assert_eq!(next.command.command_id.as_str(), "a-2");
    scene.end(&next, Ended::HandedBack).await;
    assert_eq!(scene.next().await, ["a-2"], "what is handed back keeps its turn");
    scene.lanes_hold().await;
}

pub(super) async fn a_turn_waits_for_the_heads_not_before<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let later = scene.store.now().unwrap().plus(Span::from_secs(60));
    let waiting = Command { not_before: Some(later), ..of_lane_a("a-1", "A") };
    scene.store.enqueue(vec![waiting]).await.unwrap().remove(0).unwrap();
    scene.enqueue_in("a-2", "A").await;
    assert_eq!(scene.next().await, [""; 0], "order is commit order");
    scene.advance(61);
    let first = scene.claim().await;
    assert_eq!(first.command.command_id.as_str(), "a-1");
    let later = scene.store.now().unwrap().plus(Span::from_secs(60));
    let waiting = Command { not_before: Some(later), ..of_lane_a("a-3", "A") };
    scene.store.enqueue(vec![waiting]).await.unwrap().remove(0).unwrap();
    scene.settle(&first, completed()).await;
    let second = scene.claim().await;
    scene.settle(&second, completed()).await;
    assert_eq!(scene.next().await, [""; 0], "a-3 is not before its time");
    scene.advance(61);
    assert_eq!(scene.next().await, ["a-3"]);
}

pub(super) async fn a_parked_head_blocks<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    scene.enqueue_in("a-1", "A").await;
    scene.enqueue_in("a-2", "A").await;
    let claimed = scene.claim().await;
    scene.settle(&claimed, Outcome::unknown("reset")).await;
    assert_eq!(scene.state("a-1").await, "uncertain");
    scene.store.sweep(10, None).await.unwrap();
    assert_eq!(scene.next().await, [""; 0]);
    scene.enqueue_in("a-3", "A").await;
    assert_eq!(scene.next().await, [""; 0], "nor goes a new one");
    let left = scene.store.remaining(&[destination(SHOP)]).await.unwrap();
    assert_eq!((left.busy, left.parked), (0, 1), "what waits behind a parked head holds nobody up");
    let resolved = scene.act("a-1", Act::Resolve(verdict_rejected())).await;
    assert_eq!(resolved, Acted::Done { before: "uncertain", after: "rejected" });
    assert_eq!(scene.next().await, ["a-2"]);
    scene.lanes_hold().await;
}

fn verdict_rejected() -> counterfoil_core::domain::transition::Verdict {
    counterfoil_core::domain::transition::Verdict::Rejected
}

pub(super) async fn a_parked_head_is_passed_where_the_contract_says_so<H: Hands>(hands: H) {
    let scene = Scene::new(hands, skip(keyless())).await;
    scene.enqueue_in("a-1", "A").await;
    scene.enqueue_in("a-2", "A").await;
    let claimed = scene.claim().await;
    scene.settle(&claimed, Outcome::unknown("reset")).await;
    let second = scene.claim().await;
    assert_eq!(second.command.command_id.as_str(), "a-2");
    scene.settle(&second, completed()).await;
    scene.enqueue_in("a-3", "A").await;
    assert_eq!(scene.next().await, ["a-3"], "nor does a new one wait for it");
    scene.lanes_hold().await;
}

pub(super) async fn a_retried_one_goes_next<H: Hands>(hands: H) {
    let scene = Scene::new(hands, skip(keyless())).await;
    for id in ["a-1", "a-2", "a-3"] {
        scene.enqueue_in(id, "A").await;
    }
    let claimed = scene.claim().await;
    scene.settle(&claimed, Outcome::unknown("reset")).await;
    let second = scene.claim().await;
    let retry = Act::Retry { may_act_twice: true };
    assert_eq!(
        scene.act("a-1", retry).await,
        Acted::Done { before: "uncertain", after: "pending" }
    );
    assert_eq!(scene.next().await, [""; 0], "after what is in flight");
    scene.settle(&second, completed()).await;
    let again = scene.claim().await;
    assert_eq!(again.command.command_id.as_str(), "a-1");
    scene.settle(&again, completed()).await;
    assert_eq!(scene.next().await, ["a-3"]);
    scene.lanes_hold().await;
}

pub(super) async fn a_retried_one_takes_the_turn_of_who_only_waits<H: Hands>(hands: H) {
    let scene = Scene::new(hands, skip(keyless())).await;
    scene.enqueue_in("a-1", "A").await;
    let claimed = scene.claim().await;
    scene.settle(&claimed, Outcome::unknown("reset")).await;
    scene.enqueue_in("a-2", "A").await;
    scene.act("a-1", Act::Retry { may_act_twice: true }).await;
    let first = scene.claim().await;
    assert_eq!(first.command.command_id.as_str(), "a-1");
    scene.settle(&first, completed()).await;
    assert_eq!(scene.next().await, ["a-2"]);
    scene.lanes_hold().await;
}

pub(super) async fn a_redelivered_one_keeps_its_place<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    for id in ["a-1", "a-2", "a-3"] {
        scene.enqueue_in(id, "A").await;
    }
    let first = scene.claim().await;
    scene.settle(&first, completed()).await;
    let second = scene.claim().await;
    let again = scene.act("a-1", Act::Redeliver { may_act_twice: false }).await;
    assert_eq!(again, Acted::Done { before: "completed", after: "pending" });
    assert_eq!(scene.next().await, [""; 0], "after what is in flight");
    scene.settle(&second, completed()).await;
    let redelivered = scene.claim().await;
    assert_eq!(redelivered.command.command_id.as_str(), "a-1");
    assert!(redelivered.delivery.token > first.delivery.token);
    scene.settle(&redelivered, completed()).await;
    assert_eq!(scene.next().await, ["a-3"]);
    scene.lanes_hold().await;
}

pub(super) async fn an_expired_one_gives_its_turn_on<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let soon = scene.store.now().unwrap().plus(Span::from_secs(60));
    let wanted = |id| Command { expires_at: Some(soon), ..of_lane_a(id, "A") };
    let batch = vec![wanted("a-1"), wanted("a-2"), of_lane_a("a-3", "A")];
    for answer in scene.store.enqueue(batch).await.unwrap() {
        answer.unwrap();
    }
    scene.advance(61);
    let swept = scene.store.sweep(10, None).await.unwrap();
    assert_eq!(swept.expired.len(), 2, "those that wait behind expire too");
    assert_eq!(scene.next().await, ["a-3"]);
    scene.lanes_hold().await;
}

pub(super) async fn a_cancelled_head_gives_its_turn_on<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue_in("a-1", "A").await;
    scene.enqueue_in("a-2", "A").await;
    assert_eq!(
        scene.act("a-1", Act::Cancel).await,
        Acted::Done { before: "pending", after: "cancelled" }
    );
    assert_eq!(scene.next().await, ["a-2"]);
    scene.lanes_hold().await;
}

pub(super) async fn a_takeover_keeps_the_turn<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue_in("a-1", "A").await;
    scene.enqueue_in("a-2", "A").await;
    let stale = scene.claim().await;
    scene.advance(31);
    let taken = scene.claim().await;
    assert_eq!((taken.command.command_id.as_str(), taken.taken_over), ("a-1", true));
    assert!(matches!(scene.settle(&stale, Outcome::unknown("late")).await, Settled::Ignored(_)));
    assert_eq!(scene.next().await, [""; 0]);
    scene.settle(&taken, completed()).await;
    assert_eq!(scene.next().await, ["a-2"]);
    scene.lanes_hold().await;
}

/// Its claim only put the second one off, and kept the turn: the redelivered one before it went
/// after it. Found by the simulator.
pub(super) async fn one_that_is_put_off_lets_a_redelivered_one_go_first<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue_in("a-1", "A").await;
    scene.enqueue_in("a-2", "A").await;
    scene.settle(&scene.claim().await, completed()).await;
    let accepted = Outcome::Accepted { evidence: "202".into() };
    let second = scene.claim().await;
    assert_eq!(scene.settle(&second, accepted).await, Settled::Open(State::Published));
    let again = Act::Redeliver { may_act_twice: true };
    assert!(matches!(scene.act("a-1", again).await, Acted::Done { .. }));
    assert_eq!(scene.next().await, [""; 0], "published is in flight");
    scene.advance(7201);
    scene.look().await;
    scene.advance(600);
    assert_eq!(scene.next().await, ["a-1"]);
    scene.lanes_hold().await;
}

pub(super) async fn places_are_dense_and_repeats_take_none<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue_in("a-1", "A").await;
    let again = scene.store.enqueue(vec![of_lane_a("a-1", "A")]).await.unwrap();
    assert_eq!(again, [Ok(Recorded::Repeated)]);
    let other = scene.store.enqueue(vec![of_lane_a("a-1", "B")]).await.unwrap();
    assert!(matches!(other[0], Err(WriteRefused::Conflict { .. })), "{other:?}");
    scene.enqueue_in("a-2", "A").await;
    let lanes = scene.store.lane_facts(None, 10).await.unwrap();
    assert_eq!(lanes.len(), 1, "{lanes:?}");
    assert_eq!((lanes[0].last, lanes[0].places, lanes[0].commands), (Some(2), 2, 2));
    scene.lanes_hold().await;
}

pub(super) async fn a_decision_orders_its_commands<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let event = Event { kind: Kind::new("placed").unwrap(), body: b"{}".to_vec(), cause: None };
    let unnamed =
        |body: &str| Command { id: None, body: body.as_bytes().to_vec(), ..of_lane_a("x", "A") };
    let append = Append {
        stream: Stream::new("o-1").unwrap(),
        expected_seq: 0,
        events: vec![event],
        commands: vec![unnamed("1"), unnamed("2")],
    };
    scene.store.append(append).await.unwrap().unwrap();
    let first = scene.claim().await;
    assert_eq!(first.command.command_id.as_str(), "o-1:1:0");
    scene.settle(&first, completed()).await;
    assert_eq!(scene.next().await, ["o-1:1:1"]);
    scene.lanes_hold().await;
}
