//! What people do: retry, resolve, cancel, redeliver, resume.
//!
//! Guarantees: each verb is allowed and refused as the design says, recorded with its actor, and
//! the books add up after it. Does not: go through every pair; the state machine's tests do.

use counterfoil_core::domain::laws::{of_command, of_totals};
use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::domain::{Command, Outcome, Reason, ReceiptOutcome, Span, State};
use counterfoil_core::port::read::FactsFrom;
use counterfoil_core::port::store::{Reported, Settled};
use counterfoil_core::port::{Act, Acted, Actor, Deed, Store};

use super::Hands;
use super::scene::{SHOP, Scene, command, completed, destination, forever, keyless, window};

const RETRY: Act = Act::Retry { may_act_twice: false };
const REDELIVER: Act = Act::Redeliver { may_act_twice: false };

fn ann() -> Actor {
    Actor { name: "ann".into(), reason: "asked by phone".into() }
}

impl<H: Hands> Scene<H> {
    async fn deed(&self, id: &str, act: Act, by_filter: bool) -> Acted {
        let deed = Deed { command_id: id.into(), act, by_filter };
        self.store.act(vec![deed], ann()).await.unwrap().remove(0)
    }

    async fn does(&self, id: &str, act: Act) -> Acted {
        self.deed(id, act, false).await
    }

    /// Every law of the store.
    async fn holds(&self) {
        let facts = self.store.facts(FactsFrom::default(), 1000).await.unwrap();
        for command in &facts.commands {
            assert_eq!(of_command(command), [], "{command:?}");
        }
        for totals in self.store.totals().await.unwrap() {
            assert_eq!(of_totals(&totals), []);
        }
    }

    async fn actions(&self, id: &str) -> Vec<(String, String)> {
        let actions = self.story(id).await.actions;
        actions.into_iter().map(|told| (told.what, told.reason)).collect()
    }
}

fn done(before: &'static str, after: &'static str) -> Acted {
    Acted::Done { before, after }
}

fn not_sent() -> Outcome {
    Outcome::not_sent("connection refused")
}

fn one_attempt() -> counterfoil_core::domain::Terms {
    let mut terms = forever();
    terms.pace.max_attempts = 1;
    terms
}

pub(super) async fn a_dead_one_is_retried_in_a_new_round<H: Hands>(hands: H) {
    let scene = Scene::new(hands, one_attempt()).await;
    assert_eq!(scene.sent("a", not_sent()).await.1, Settled::Open(scene_state("dead")));
    assert_eq!(scene.does("a", RETRY).await, done("dead", "pending"));
    let listed = scene.listed("a").await;
    assert_eq!((listed.round, listed.attempts), (2, 0));
    assert_eq!(scene.actions("a").await.len(), 1);
    let again = scene.claim().await;
    scene.settle(&again, completed()).await;
    assert_eq!(scene.state("a").await, "completed");
    scene.holds().await;
}

fn scene_state(name: &str) -> counterfoil_core::domain::State {
    counterfoil_core::domain::State::from_name(name).unwrap()
}

pub(super) async fn what_may_act_twice_is_retried_by_a_persons_word_only<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    scene.sent("a", Outcome::unknown("reset")).await;
    assert_eq!(scene.does("a", RETRY).await, Acted::Refused(Reason::MayActTwice));
    assert_eq!(scene.actions("a").await, [], "what is refused is not recorded");
    let allowed = Act::Retry { may_act_twice: true };
    assert_eq!(scene.does("a", allowed).await, done("uncertain", "pending"));
    assert!(scene.listed("a").await.in_doubt, "the doubt stays");
    let again = scene.claim().await;
    scene.settle(&again, Outcome::unknown("reset")).await;
    assert_eq!(scene.state("a").await, "uncertain", "for one send only");
    scene.holds().await;
}

pub(super) async fn a_verdict_ends_or_frees<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    let cases = [
        ("a", Verdict::Completed { result: Some(b"7".to_vec()) }, "completed"),
        ("b", Verdict::Rejected, "rejected"),
        ("c", Verdict::NotDone, "pending"),
    ];
    for (id, verdict, after) in cases {
        scene.sent(id, Outcome::unknown("reset")).await;
        assert_eq!(scene.does(id, Act::Resolve(verdict)).await, done("uncertain", after), "{id}");
        assert_eq!(scene.state(id).await, after);
        assert_eq!(scene.actions(id).await, [("resolve".into(), "asked by phone".into())]);
    }
    let receipt = &scene.story("a").await.receipts[0];
    assert_eq!(receipt.source.as_deref(), Some("operator ann"));
    assert_eq!(receipt.result.as_deref(), Some(&b"7"[..]));
    assert!(!scene.listed("c").await.in_doubt, "not done clears the doubt");
    scene.holds().await;
}

pub(super) async fn what_is_in_flight_is_left_alone<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.claimed("a").await;
    for act in [Act::Cancel, Act::Resolve(Verdict::Rejected), Act::Resolve(Verdict::NotDone)] {
        assert_eq!(scene.does("a", act).await, Acted::Refused(Reason::InFlight));
    }
    assert_eq!(scene.does("a", RETRY).await, Acted::Refused(Reason::NotParked));
    assert_eq!(scene.does("a", REDELIVER).await, Acted::Refused(Reason::NotEnded));
    let verdict = Act::Resolve(Verdict::Completed { result: None });
    assert_eq!(scene.does("a", verdict).await, done("sending", "completed"));
    scene.holds().await;
}

pub(super) async fn a_waiting_one_is_cancelled<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    assert_eq!(scene.does("a", Act::Cancel).await, done("pending", "cancelled"));
    assert_eq!(scene.does("a", Act::Cancel).await, Acted::Refused(Reason::Ended));
    assert!(scene.look().await.claimed.is_empty());
    assert_eq!(scene.story("a").await.receipts[0].evidence.as_deref(), Some("asked by phone"));
    scene.holds().await;
}

pub(super) async fn what_is_in_doubt_is_not_cancelled<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    scene.sent("a", Outcome::unknown("reset")).await;
    assert_eq!(scene.does("a", Act::Cancel).await, Acted::Refused(Reason::InDoubt));
    assert_eq!(scene.state("a").await, "uncertain");
}

pub(super) async fn an_ended_one_is_sent_again<H: Hands>(hands: H) {
    let scene = Scene::new(hands, window()).await;
    let (first, _) = scene.sent("a", completed()).await;
    assert_eq!(scene.does("a", REDELIVER).await, done("completed", "pending"));
    scene.holds().await;
    let again = scene.claim().await;
    assert_eq!(again.command.body, first.command.body);
    assert!(again.delivery.token > first.delivery.token, "the token goes on");
    assert_eq!((again.delivery.round, again.delivery.attempts), (2, 1));
    scene.settle(&again, completed()).await;
    let rounds: Vec<_> = scene.story("a").await.receipts.iter().map(|one| one.round).collect();
    assert_eq!(rounds, [1, 2], "the old receipt stays");
    scene.holds().await;
}

pub(super) async fn past_the_window_a_redelivery_needs_a_persons_word<H: Hands>(hands: H) {
    let scene = Scene::new(hands, window()).await;
    scene.sent("a", completed()).await;
    scene.advance(90_000);
    assert_eq!(scene.does("a", REDELIVER).await, Acted::Refused(Reason::MayActTwice));
    let allowed = Act::Redeliver { may_act_twice: true };
    assert_eq!(scene.does("a", allowed).await, done("completed", "pending"));
    scene.holds().await;
}

/// A completion of round 1 that comes after a redelivery says nothing about round 2.
pub(super) async fn a_late_completion_ends_its_own_round_only<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let stale = scene.claimed("a").await;
    scene.advance(31);
    let taken = scene.claim().await;
    scene.settle(&taken, completed()).await;
    scene.does("a", REDELIVER).await;
    let late = scene.settle(&stale, completed()).await;
    assert_eq!(late, Settled::Ignored(Reason::Repeated));
    assert_eq!(scene.state("a").await, "pending", "round 2 is still to be sent");
    assert_eq!(scene.report("a", ReceiptOutcome::Rejected).await, Reported::Recorded);
    scene.holds().await;
}

/// As above, but the round that followed has ended, too: found by the simulator, which saw the
/// completion of round 1 taken for a contradiction of a round 2 that was cancelled.
pub(super) async fn a_late_completion_says_nothing_of_a_later_end<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let stale = scene.claimed("a").await;
    scene.advance(31);
    let taken = scene.claim().await;
    scene.settle(&taken, completed()).await;
    scene.does("a", REDELIVER).await;
    assert_eq!(scene.does("a", Act::Cancel).await, done("pending", "cancelled"));
    let late = scene.settle(&stale, completed()).await;
    assert_eq!(late, Settled::Ignored(Reason::Repeated));
    scene.holds().await;
}

/// A redelivery forgot when the key was first sent, and so was repeated, or sent at all, when its
/// receiver had long forgotten the key: found by the simulator.
pub(super) async fn a_redelivery_keeps_the_window_of_the_first_send<H: Hands>(hands: H) {
    let scene = Scene::new(hands, window()).await;
    scene.sent("late", completed()).await;
    scene.sent("again", completed()).await;
    scene.advance(80_000);
    assert_eq!(scene.does("again", REDELIVER).await, done("completed", "pending"));
    let again = scene.claim().await;
    assert_eq!(scene.settle(&again, not_sent()).await, Settled::Open(State::Pending));
    assert_eq!(scene.does("late", REDELIVER).await, done("completed", "pending"));
    scene.advance(5_000);
    assert!(scene.look().await.claimed.is_empty(), "the window is over for both");
    for id in ["late", "again"] {
        assert_eq!(scene.state(id).await, "uncertain", "{id}: whether to send it, a person says");
    }
    scene.holds().await;
}

/// A redelivery was due at once, before the command's own time: found by the simulator.
pub(super) async fn a_redelivered_one_waits_for_its_own_time<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let not_before = Some(scene.store.now().unwrap().plus(Span::from_secs(100)));
    let early = Command { not_before, ..command("a") };
    scene.store.enqueue(vec![early]).await.unwrap()[0].as_ref().unwrap();
    assert_eq!(scene.does("a", Act::Cancel).await, done("pending", "cancelled"));
    assert_eq!(scene.does("a", REDELIVER).await, done("cancelled", "pending"));
    assert!(scene.look().await.claimed.is_empty(), "its time has not come");
    scene.advance(101);
    scene.settle(&scene.claim().await, completed()).await;
    scene.holds().await;
}

pub(super) async fn a_filter_touches_nothing_in_doubt<H: Hands>(hands: H) {
    let scene = Scene::new(hands, one_attempt()).await;
    scene.sent("dead", not_sent()).await;
    scene.sent("doubt", Outcome::unknown("reset")).await;
    let retry = Act::Retry { may_act_twice: true };
    assert_eq!(scene.deed("dead", retry.clone(), true).await, done("dead", "pending"));
    assert_eq!(scene.deed("doubt", retry, true).await, Acted::Refused(Reason::InDoubt));
    let verdict = Act::Resolve(Verdict::Completed { result: None });
    assert_eq!(scene.deed("doubt", verdict, true).await, Acted::Refused(Reason::InDoubt));
}

pub(super) async fn deeds_are_done_one_by_one<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    scene.enqueue("b").await;
    let deed = |id: &str| Deed { command_id: id.into(), act: Act::Cancel, by_filter: false };
    let deeds = vec![deed("a"), deed("nobody"), deed("a"), deed("b")];
    let acted = scene.store.act(deeds, ann()).await.unwrap();
    let cancelled = || done("pending", "cancelled");
    assert_eq!(acted, [cancelled(), Acted::Unknown, Acted::Refused(Reason::Ended), cancelled()]);
    scene.holds().await;
}

pub(super) async fn a_paused_destination_is_resumed<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let shop = destination(SHOP);
    assert!(!scene.store.resume(&shop, "ann", "").await.unwrap(), "it was not paused");
    scene.enqueue("a").await;
    scene.store.pause(&shop, "ann", "stocktaking").await.unwrap();
    assert!(scene.look().await.claimed.is_empty());
    assert!(scene.store.resume(&shop, "ann", "").await.unwrap());
    assert_eq!(scene.claim().await.command.command_id.as_str(), "a");
}

pub(super) async fn a_probe_burns_no_attempt<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let claimed = scene.claimed("a").await;
    let ended = counterfoil_core::port::store::Ended::Outcome(not_sent());
    let settle =
        counterfoil_core::port::store::Settle { burns: false, ..scene.settling(&claimed, ended) };
    let exchange =
        counterfoil_core::port::store::Exchange { settles: vec![settle], ..Default::default() };
    scene.exchange(exchange).await;
    assert_eq!(scene.listed("a").await.attempts, 0);
    scene.advance(700);
    assert_eq!(scene.claim().await.delivery.attempts, 1);
}

pub(super) async fn a_late_completion_contradicts_its_own_round<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let stale = scene.claimed("a").await;
    assert_eq!(scene.report("a", ReceiptOutcome::Rejected).await, Reported::Recorded);
    assert_eq!(scene.does("a", REDELIVER).await, done("rejected", "pending"));
    assert_eq!(scene.settle(&stale, completed()).await, Settled::Contradicted);
    assert_eq!(scene.state("a").await, "pending", "the new round goes on");
    let facts = scene.store.facts(FactsFrom::default(), 10).await.unwrap();
    let said = &facts.commands[0].contradictions[0];
    assert_eq!((said.round, said.outcome.as_str()), (1, "completed"));
}
