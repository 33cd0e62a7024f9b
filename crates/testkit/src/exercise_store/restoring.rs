//! What stands after a restore from a backup: every open command in doubt, and contracts decide.
//!
//! Guarantees: each state is covered, and the next look at it. Does not: restore anything.

use counterfoil_core::domain::{Answer, Micros, Outcome, ResultBody, Span, State};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::{Ended, Settled};

use super::Hands;
use super::scene::{SHOP, Scene, askable, completed, forever, keyless, window};

impl<H: Hands> Scene<H> {
    fn now(&self) -> Micros {
        self.store.now().unwrap()
    }

    async fn restored(&self, at: Micros) -> u64 {
        self.store.restored(at, "ada").await.unwrap()
    }

    async fn first_sent(&self, id: &str) -> Option<Micros> {
        self.story(id).await.first_sent_at
    }
}

pub(super) async fn every_open_command_is_in_doubt<H: Hands>(hands: H) {
    let mut terms = askable();
    terms.pace.max_attempts = 1;
    let scene = Scene::new(hands, terms).await;
    let ends = [
        ("published", Outcome::Accepted { evidence: "202".into() }, State::Published),
        ("asking", Outcome::unknown("reset"), State::Asking),
        ("dead", Outcome::not_sent("refused"), State::Dead),
        ("conflict", Outcome::Conflict { reason: "422".into() }, State::Conflict),
    ];
    for (id, outcome, state) in ends.clone() {
        assert_eq!(scene.sent(id, outcome).await.1, Settled::Open(state), "{id}");
    }
    scene.sent("ended", completed()).await;
    scene.claimed("sending").await;
    scene.enqueue("pending").await;
    scene.enqueue_to("unserved", "bank").await;
    let ended = scene.story("ended").await;
    assert_eq!(scene.restored(scene.now()).await, 7);
    for (id, state) in [
        ("published", "published"),
        ("asking", "asking"),
        ("dead", "uncertain"),
        ("conflict", "conflict"),
        ("sending", "sending"),
        ("pending", "pending"),
        ("unserved", "pending"),
    ] {
        let listed = scene.listed(id).await;
        assert_eq!((listed.state.as_str(), listed.in_doubt), (state, true), "{id}");
        assert!(scene.first_sent(id).await.is_some(), "{id}");
    }
    assert_eq!(scene.story("ended").await, ended, "what has ended stays");
    for facts in scene.store.facts(all(), 100).await.unwrap().commands {
        assert_eq!(counterfoil_core::domain::laws::of_command(&facts), []);
    }
}

/// All facts from the first.
pub(super) fn all() -> counterfoil_core::port::read::FactsFrom {
    counterfoil_core::port::read::FactsFrom::default()
}

pub(super) async fn the_earlier_first_send_counts<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let backup = scene.now();
    scene.advance(100);
    let (before, _) = scene.sent("later", Outcome::unknown("reset")).await;
    scene.enqueue("never").await;
    let later = before.delivery.first_sent_at.unwrap();
    assert!(later > backup);
    assert_eq!(scene.restored(later.plus(Span::from_secs(50))).await, 2);
    assert_eq!(scene.first_sent("later").await, Some(later), "its own is earlier");
    assert_eq!(scene.first_sent("never").await, Some(later.plus(Span::from_secs(50))));
    assert_eq!(scene.restored(backup).await, 2, "again, from an older backup");
    assert_eq!(scene.first_sent("later").await, Some(backup));
    assert_eq!(scene.first_sent("never").await, Some(backup));
    scene.restored(later).await;
    assert_eq!(scene.first_sent("never").await, Some(backup), "never back to a later time");
}

pub(super) async fn after_it_the_window_decides_at_the_claim<H: Hands>(hands: H) {
    let scene = Scene::new(hands, window()).await;
    scene.enqueue("a").await;
    scene.enqueue("b").await;
    let backup = scene.now();
    scene.advance(80_000);
    assert_eq!(scene.restored(backup).await, 2);
    let one = scene.exchange(scene.claims(1)).await.claimed.remove(0);
    assert_eq!(one.command.command_id.as_str(), "a");
    assert_eq!((one.delivery.in_doubt, one.delivery.first_sent_at), (true, Some(backup)));
    assert_eq!(one.command.body, b"body of a", "the same bytes, inside the window");
    assert_eq!(scene.settle(&one, completed()).await, Settled::Ended("completed"));
    scene.advance(2_060);
    let done = scene.look().await;
    assert_eq!((done.claimed.len(), done.parked.len()), (0, 1));
    assert_eq!(scene.state("b").await, "uncertain", "its window is over");
}

pub(super) async fn without_keys_nothing_is_sent_again<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    scene.enqueue("a").await;
    scene.restored(scene.now()).await;
    let done = scene.look().await;
    assert_eq!((done.claimed.len(), done.parked.len()), (0, 1), "it may have been sent");
    assert_eq!(scene.state("a").await, "uncertain");
}

pub(super) async fn who_can_be_asked_is_asked<H: Hands>(hands: H) {
    let scene = Scene::new(hands, askable()).await;
    scene.enqueue("a").await;
    scene.restored(scene.now()).await;
    scene.advance(59);
    assert_eq!(scene.look().await.claimed.len(), 0, "what was sent since may be on its way");
    scene.advance(1);
    let question = scene.claim().await;
    assert_eq!((question.delivery.state, question.delivery.asks), (State::Asking, 1));
    assert_eq!(question.delivery.attempts, 0, "it is not sent before it is asked about");
    let listed = scene.listed("a").await;
    let stored = (listed.state.as_str(), listed.attempts, listed.token);
    assert_eq!(stored, ("asking", 0, question.delivery.token.get()), "as claimed, so stored");
    let done = Answer::Done { result: ResultBody::whole("job 7"), evidence: "GET 200".into() };
    assert_eq!(scene.end(&question, Ended::Answer(done)).await, Settled::Ended("completed"));
}

pub(super) async fn a_restore_is_recorded_even_of_nothing<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    assert_eq!(scene.restored(scene.now()).await, 0);
    let acts = scene.hands.acts().await;
    assert_eq!(acts.len(), 1);
    assert!(acts[0].starts_with("restored store by ada: "), "{acts:?}");
    scene.enqueue_to("a", SHOP).await;
    assert!(!scene.listed("a").await.in_doubt, "what comes later is not");
}

pub(super) async fn a_long_backlog_is_in_doubt_to_its_end<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let batch = (0..2_300).map(|at| super::scene::command(&format!("c-{at}"))).collect();
    scene.store.enqueue(batch).await.unwrap();
    assert_eq!(scene.restored(scene.now()).await, 2_300);
    for id in ["c-0", "c-999", "c-1000", "c-2299"] {
        assert!(scene.listed(id).await.in_doubt, "{id}");
    }
}
