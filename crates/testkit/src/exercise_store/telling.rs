//! What a person is told: when it was sent, what a restore did, what a verb would do.
//!
//! Guarantees: what is foreseen is what then happens. Does not: print.

use counterfoil_core::bulk::{BulkReport, by_filter};
use counterfoil_core::domain::laws::{law, of_command};
use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::domain::{Command, Micros, Outcome, Reason, ReceiptOutcome, Span};
use counterfoil_core::port::act::restored_from;
use counterfoil_core::port::read::{Expiring, FactsFrom, Filter};
use counterfoil_core::port::store::{Reported, StoreError};
use counterfoil_core::port::{Act, Acted, Actor, Deed, Store};

use super::Hands;
use super::scene::{SHOP, Scene, command, completed, forever, keyless, window};
use super::view::all;

const RETRY: Act = Act::Retry { may_act_twice: false };

fn ann() -> Actor {
    Actor { name: "ann".into(), reason: "rang them".into() }
}

fn not_sent() -> Outcome {
    Outcome::not_sent("refused")
}

fn mortal(id: &str, expires_at: Micros) -> Command {
    Command { expires_at: Some(expires_at), ..command(id) }
}

impl<H: Hands> Scene<H> {
    async fn does_so(&self, id: &str, act: Act, by_filter: bool) -> Acted {
        let deed = Deed { command_id: id.into(), act, by_filter };
        self.store.act(vec![deed], ann()).await.unwrap().remove(0)
    }

    async fn sends(&self, id: &str) -> Option<(Micros, Micros)> {
        self.story(id).await.sends()
    }

    async fn bulk(&self, act: Act, dry_run: bool) -> BulkReport {
        by_filter(&self.store, all(), act, ann(), 0, dry_run, |_| ()).await.unwrap()
    }

    async fn broken(&self) -> Vec<&'static str> {
        let facts = self.store.facts(FactsFrom::default(), 100).await.unwrap();
        facts.commands.iter().flat_map(of_command).map(|broken| broken.code).collect()
    }
}

/// It moved: a story called the newest round's first send the first of all.
pub(super) async fn a_story_has_the_first_send_and_the_newest<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    scene.enqueue("a").await;
    assert_eq!(scene.sends("a").await, None);
    let (first, _) = {
        let claimed = scene.claim().await;
        (claimed.delivery.first_sent_at.unwrap(), scene.settle(&claimed, completed()).await)
    };
    assert_eq!(scene.sends("a").await, Some((first, first)));
    scene.advance(60);
    let again = Act::Redeliver { may_act_twice: true };
    assert!(matches!(scene.does_so("a", again, false).await, Acted::Done { .. }));
    assert_eq!(scene.sends("a").await, Some((first, first)), "it waits");
    let second = scene.claim().await;
    let sent = Micros::new(second.delivery.token.get());
    assert_eq!(scene.sends("a").await, Some((first, sent)), "on its way");
    scene.settle(&second, Outcome::unknown("reset")).await;
    scene.advance(60);
    let twice = Act::Retry { may_act_twice: true };
    assert!(matches!(scene.does_so("a", twice, false).await, Acted::Done { .. }));
    let third = scene.claim().await;
    let sent = Micros::new(third.delivery.token.get());
    scene.settle(&third, completed()).await;
    scene.advance(60);
    assert_eq!(scene.sends("a").await, Some((first, sent)), "ended");
}

pub(super) async fn what_surely_was_not_sent_is_no_send<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.sent("a", not_sent()).await;
    assert_eq!(scene.sends("a").await, None);
    scene.advance(60);
    let claimed = scene.claim().await;
    let at = claimed.delivery.first_sent_at.unwrap();
    scene.settle(&claimed, Outcome::Accepted { evidence: "202".into() }).await;
    assert_eq!(scene.sends("a").await, Some((at, at)));
}

/// A restore put it in doubt, and its story did not say so.
pub(super) async fn a_restore_stands_in_the_story_of_what_it_found_open<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.sent("ended", completed()).await;
    scene.sent("again", completed()).await;
    scene.enqueue("open").await;
    scene.advance(10);
    let backup = scene.store.now().unwrap();
    scene.advance(10);
    scene.store.restored(backup, "ada").await.unwrap();
    scene.advance(10);
    let again = Act::Redeliver { may_act_twice: false };
    assert!(matches!(scene.does_so("again", again, false).await, Acted::Done { .. }));
    scene.enqueue("later").await;
    let restores = async |id: &str| {
        let actions = scene.story(id).await.actions.into_iter();
        actions.filter(|told| told.what == "restored").collect::<Vec<_>>()
    };
    let told = restores("open").await;
    assert_eq!((told.len(), told[0].outcome.as_str()), (1, "ada"));
    assert_eq!(restored_from(&told[0].reason), Some(backup));
    assert_eq!(scene.sends("open").await, None, "nobody sent it: the restore only doubts");
    for id in ["ended", "again", "later"] {
        assert_eq!(restores(id).await, [], "{id}");
    }
    for claimed in scene.look().await.claimed {
        scene.settle(&claimed, completed()).await;
    }
    assert_eq!(restores("open").await.len(), 1, "it stays told");
    assert!(scene.sends("open").await.unwrap().0 > backup, "by its receipt");
}

pub(super) async fn what_can_expire_is_counted_while_it_is_pending<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let now = scene.store.now().unwrap();
    let at = |secs| now.plus(Span::from_secs(secs));
    for (id, secs) in [("a", 90), ("b", 60), ("c", 30)] {
        scene.store.enqueue(vec![mortal(id, at(secs))]).await.unwrap();
    }
    scene.enqueue("never").await;
    let expiring = async || scene.store.status().await.unwrap().expiring.get(SHOP).copied();
    assert_eq!(expiring().await, Some(Expiring { count: 3, first: at(30) }));
    scene.advance(30);
    scene.store.sweep(10, None).await.unwrap();
    assert_eq!(expiring().await, Some(Expiring { count: 2, first: at(60) }));
    assert_eq!(scene.look().await.claimed.len(), 3);
    assert_eq!(expiring().await, None, "what is under way does not expire");
}

/// One store began again from the start, the other answered nothing.
pub(super) async fn a_cursor_that_stands_nowhere_is_refused<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    for state in [None, Some("pending".to_owned()), Some("parked".to_owned())] {
        let filter = Filter { state, after: Some("never".into()), ..all() };
        let refused = Err(StoreError::NoCursor { id: "never".into() });
        assert_eq!(scene.store.list(filter).await, refused);
    }
}

pub(super) async fn a_contradiction_is_answered_by_who_looked_into_it<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.sent("a", completed()).await;
    let says = |completed: bool| {
        let verdict =
            if completed { Verdict::Completed { result: None } } else { Verdict::Rejected };
        Act::Resolve(verdict)
    };
    let ended = Acted::Refused(Reason::Ended);
    assert_eq!(scene.does_so("a", says(true), false).await, ended, "nothing contradicts it");
    assert_eq!(scene.report("a", ReceiptOutcome::Rejected).await, Reported::Contradiction);
    assert_eq!(scene.broken().await, [law::CONTRADICTED.code]);
    let story = scene.story("a").await;
    assert!(story.contradicted);
    assert_eq!(scene.does_so("a", Act::Resolve(Verdict::NotDone), false).await, ended);
    assert_eq!(scene.does_so("a", says(true), true).await, ended, "by a filter nobody looks");
    scene.advance(5);
    let done = Acted::Done { before: "completed", after: "completed" };
    assert_eq!(scene.does_so("a", says(false), false).await, done, "whichever is true");
    assert_eq!(scene.broken().await, [""; 0]);
    let after = scene.story("a").await;
    assert_eq!((&after.receipts, &after.tries), (&story.receipts, &story.tries), "nothing else");
    assert!(!after.contradicted);
    let told = &after.actions[0];
    assert_eq!((told.what.as_str(), told.reason.as_str()), ("resolve", "rang them"));
    assert_eq!(scene.does_so("a", says(true), false).await, ended, "it is answered");
    scene.report("a", ReceiptOutcome::Rejected).await;
    assert_eq!(scene.broken().await, [""; 0], "the same again says nothing new");
}

/// It knew no expiry, and for a redelivery no contract.
pub(super) async fn a_dry_run_foresees_what_the_store_says<H: Hands>(hands: H) {
    let mut terms = window();
    terms.pace.max_attempts = 1;
    let scene = Scene::new(hands, terms).await;
    let now = scene.store.now().unwrap();
    let end = now.plus(Span::from_secs(200_000));
    scene.sent("old", completed()).await;
    for (id, outcome) in [("dead-mortal", not_sent()), ("done-mortal", completed())] {
        scene.store.enqueue(vec![mortal(id, end)]).await.unwrap();
        let claimed = scene.claim().await;
        scene.settle(&claimed, outcome).await;
    }
    scene.advance(200_000);
    scene.sent("dead", not_sent()).await;
    scene.sent("doubt", Outcome::unknown("reset")).await;
    scene.sent("conflict", Outcome::Conflict { reason: "422".into() }).await;
    scene.sent("published", Outcome::Accepted { evidence: "202".into() }).await;
    scene.sent("done", completed()).await;
    scene.claimed("flying").await;
    scene.enqueue("waiting").await;
    scene.enqueue_to("elsewhere", "bank").await;
    let redeliver = |may_act_twice| Act::Redeliver { may_act_twice };
    let acts = [
        redeliver(false),
        RETRY,
        Act::Resolve(Verdict::Rejected),
        Act::Cancel,
        redeliver(true),
        Act::Resolve(Verdict::NotDone),
        Act::Resolve(Verdict::Completed { result: None }),
        redeliver(false),
    ];
    for act in acts {
        let foreseen = scene.bulk(act.clone(), true).await;
        let again = scene.bulk(act.clone(), true).await;
        assert_eq!(foreseen, again, "{act:?}: a dry run changes nothing");
        assert_eq!(scene.bulk(act.clone(), false).await, foreseen, "{act:?}");
    }
}
