//! What a sweep ends, what it leaves, and how much at once.
//!
//! Guarantees: pending commands past their expiry are covered in each kind of doubt, and each state
//! that a sweep must leave alone. Does not: wait for relays; a sweep is asked for.

use counterfoil_core::domain::{Asking, Command, Micros, Outcome, Span, State, Terms};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::{Ended, Recorded, Settled, Swept};

use super::Hands;
use super::scene::{
    SHOP, Scene, askable, command_to, completed, destination, forever, keyless, window,
};

/// How long the commands of these cases are wanted, in seconds.
const WANTED: i64 = 3600;

impl<H: Hands> Scene<H> {
    fn expiring(&self, id: &str, to: &str, secs: i64) -> Command {
        let expires_at = Some(self.store.now().unwrap().plus(Span::from_secs(secs)));
        Command { expires_at, ..command_to(id, to) }
    }

    /// Records a command that is wanted for an hour.
    pub(super) async fn enqueue_expiring(&self, id: &str, to: &str) {
        let expiring = self.expiring(id, to, WANTED);
        let answers = self.store.enqueue(vec![expiring]).await.unwrap();
        assert_eq!(answers, [Ok(Recorded::Recorded)], "enqueue of {id}");
    }

    async fn sweep(&self) -> Swept {
        self.store.sweep(10, None).await.unwrap()
    }

    /// Records a command that expires, claims it and lets that attempt end so.
    async fn tried(&self, id: &str, outcome: Outcome) -> Settled {
        self.enqueue_expiring(id, SHOP).await;
        let claimed = self.claim().await;
        self.settle(&claimed, outcome).await
    }

    async fn totals_hold(&self) {
        for totals in self.store.totals().await.unwrap() {
            assert_eq!(counterfoil_core::domain::laws::of_totals(&totals), []);
        }
    }
}

fn expired(ids: &[&str], to: &str) -> Swept {
    let expired = ids.iter().map(|id| ((*id).to_owned(), to.to_owned())).collect();
    Swept { expired, ..Swept::default() }
}

/// A receiver that keeps keys for a day, and can be asked.
fn window_and_ask() -> Terms {
    let mut terms = window();
    terms.contract.ask = Some(Asking::new(Span::from_secs(60)));
    terms
}

pub(super) async fn what_is_past_its_expiry_ends_unsent<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue_expiring("a", SHOP).await;
    scene.enqueue("wanted for ever").await;
    scene.advance(WANTED + 1);
    assert_eq!(scene.sweep().await, expired(&["a"], SHOP));
    let story = scene.story("a").await;
    assert_eq!((story.listed.state.as_str(), story.listed.attempts), ("expired", 0));
    let receipt = &story.receipts[0];
    assert_eq!((receipt.source.as_deref(), receipt.token), (Some("sweep"), 0));
    assert_eq!((receipt.result.as_deref(), receipt.digest.as_deref()), (None, None));
    assert_eq!(scene.sweep().await, Swept::default(), "once");
    assert_eq!(scene.claim().await.command.command_id.as_str(), "wanted for ever");
    scene.totals_hold().await;
}

pub(super) async fn a_sweep_with_nothing_to_do_writes_nothing<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue_expiring("a", SHOP).await;
    let before = scene.hands.commits().await;
    scene.advance(WANTED - 1);
    assert_eq!(scene.sweep().await, Swept::default());
    scene.advance(2);
    let none = scene.store.sweep(0, None).await.unwrap();
    assert_eq!(none, Swept { more: true, ..Swept::default() }, "no room is no end");
    assert_eq!(scene.hands.commits().await, before);
    assert_eq!(scene.sweep().await, expired(&["a"], SHOP));
    let after = scene.hands.commits().await;
    assert_ne!(after, before);
    assert_eq!(scene.sweep().await, Swept::default());
    assert_eq!(scene.hands.commits().await, after);
}

pub(super) async fn what_was_tried_in_vain_expires_with_its_digest<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    let settled = scene.tried("a", Outcome::not_sent("connection refused")).await;
    assert_eq!(settled, Settled::Open(State::Pending));
    scene.advance(WANTED + 1);
    assert_eq!(scene.sweep().await, expired(&["a"], SHOP));
    let receipt = scene.story("a").await.receipts.remove(0);
    assert_eq!((receipt.outcome.as_str(), receipt.attempts), ("expired", 1));
    let digest = counterfoil_core::domain::Digest::of(b"body of a").to_hex();
    assert_eq!(receipt.digest, Some(digest), "it was out there once");
}

pub(super) async fn in_doubt_it_is_asked_about_where_it_can_be<H: Hands>(hands: H) {
    let scene = Scene::new(hands, window_and_ask()).await;
    let settled = scene.tried("a", Outcome::unknown("reset")).await;
    assert_eq!(settled, Settled::Open(State::Pending), "inside its window it would be repeated");
    scene.advance(WANTED + 1);
    assert_eq!(scene.sweep().await, Swept { asking: 1, ..Swept::default() });
    assert_eq!(scene.sweep().await, Swept::default(), "a question is not swept");
    let question = scene.claim().await;
    assert_eq!((question.delivery.state, question.delivery.attempts), (State::Asking, 1));
    let not_there =
        counterfoil_core::domain::Answer::NotThere { believed: true, reason: "no such key".into() };
    let settled = scene.end(&question, Ended::Answer(not_there)).await;
    assert_eq!(settled, Settled::Open(State::Pending));
    assert_eq!(scene.sweep().await, expired(&["a"], SHOP), "without the doubt it ends");
    scene.totals_hold().await;
}

pub(super) async fn in_doubt_it_is_a_persons_where_nobody_can_be_asked<H: Hands>(hands: H) {
    let scene = Scene::new(hands, window()).await;
    scene.tried("a", Outcome::unknown("reset")).await;
    scene.advance(WANTED + 1);
    let swept = scene.sweep().await;
    let parked: Vec<_> = swept.parked.iter().map(|p| (p.command.as_str(), p.state)).collect();
    assert_eq!(parked, [("a", State::Uncertain)]);
    assert_eq!((swept.parked[0].destination.as_str(), swept.expired.len()), (SHOP, 0));
    assert!(!swept.parked[0].reason.is_empty());
    let listed = scene.listed("a").await;
    assert_eq!((listed.state.as_str(), listed.in_doubt), ("uncertain", true));
    assert_eq!(scene.sweep().await, Swept::default(), "announced once");
}

pub(super) async fn the_stored_contract_decides_and_without_one_a_person<H: Hands>(hands: H) {
    let scene = Scene::new(hands, window_and_ask()).await;
    scene.enqueue_expiring("asked", SHOP).await;
    scene.enqueue_expiring("unknown", "bank").await;
    let all = scene.store.restored(scene.store.now().unwrap(), "ada").await.unwrap();
    assert_eq!(all, 2, "both are in doubt");
    scene.advance(WANTED + 1);
    let swept = scene.sweep().await;
    let parked: Vec<_> = swept.parked.iter().map(|parked| parked.command.as_str()).collect();
    assert_eq!((parked, swept.asking), (vec!["unknown"], 1));
    assert_eq!(scene.state("asked").await, "asking");
}

pub(super) async fn a_pause_and_a_missing_relay_keep_nothing_alive<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue_expiring("paused", SHOP).await;
    scene.advance(1);
    scene.enqueue_expiring("unserved", "bank").await;
    scene.store.pause(&destination(SHOP), "ada", "maintenance").await.unwrap();
    scene.advance(WANTED + 1);
    let swept = scene.sweep().await;
    let ended: Vec<_> = swept.expired.iter().map(|(id, to)| (id.as_str(), to.as_str())).collect();
    assert_eq!(ended, [("paused", SHOP), ("unserved", "bank")]);
    scene.totals_hold().await;
}

pub(super) async fn what_is_under_way_or_parked_is_left_alone<H: Hands>(hands: H) {
    let mut terms = askable();
    terms.pace.max_attempts = 1;
    terms.contract.receipt_timeout = Span::from_secs(5 * WANTED);
    let scene = Scene::new(hands, terms).await;
    let ends = [
        ("published", Outcome::Accepted { evidence: "202".into() }, State::Published),
        ("asking", Outcome::unknown("reset"), State::Asking),
        ("dead", Outcome::not_sent("refused"), State::Dead),
        ("conflict", Outcome::Conflict { reason: "422".into() }, State::Conflict),
    ];
    for (id, outcome, state) in ends.clone() {
        assert_eq!(scene.tried(id, outcome).await, Settled::Open(state), "{id}");
    }
    scene.tried("completed", completed()).await;
    scene.advance(WANTED - 20);
    let late = scene.expiring("sending", SHOP, 20);
    scene.store.enqueue(vec![late]).await.unwrap()[0].clone().unwrap();
    let question_and_send = scene.look().await.claimed;
    assert_eq!(question_and_send.len(), 2);
    scene.advance(25);
    assert_eq!(scene.sweep().await, Swept::default());
    for (id, _, state) in ends {
        assert_eq!(scene.state(id).await, state.name(), "{id}");
    }
    let sending = question_and_send.iter().find(|c| c.delivery.state == State::Sending).unwrap();
    assert_eq!(scene.settle(sending, completed()).await, Settled::Ended("completed"));
    assert_eq!(scene.state("completed").await, "completed");
}

pub(super) async fn a_sweep_is_bounded_and_says_whether_more_is_left<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let ids = ["e", "d", "c", "b", "a"];
    for id in ids {
        scene.enqueue_expiring(id, SHOP).await;
        scene.advance(1);
    }
    scene.advance(WANTED);
    let more = |swept: Swept| Swept { more: true, ..swept };
    let two = scene.store.sweep(2, None).await.unwrap();
    assert_eq!(two, more(expired(&["e", "d"], SHOP)), "the longest past first");
    assert_eq!(scene.store.sweep(2, None).await.unwrap(), more(expired(&["c", "b"], SHOP)));
    assert_eq!(scene.store.sweep(2, None).await.unwrap(), expired(&["a"], SHOP));
    assert_eq!(scene.store.status().await.unwrap().destinations[SHOP].get("expired"), Some(&5));
}

pub(super) async fn sweepers_at_once_end_each_command_once<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let batch: Vec<_> =
        (0..60).map(|at| scene.expiring(&format!("c-{at:02}"), SHOP, WANTED)).collect();
    scene.store.enqueue(batch).await.unwrap();
    scene.advance(WANTED + 1);
    let other = scene.hands.reopen().await;
    let drain = async |store: &H::Store| {
        let mut ended = Vec::new();
        loop {
            let swept = store.sweep(7, None).await.unwrap();
            let last = !swept.more && swept.expired.is_empty();
            ended.extend(swept.expired);
            if last {
                return ended;
            }
        }
    };
    let (mut ended, others) = tokio::join!(drain(&scene.store), drain(&other));
    ended.extend(others);
    ended.sort();
    ended.dedup();
    assert_eq!(ended.len(), 60);
    scene.totals_hold().await;
}

pub(super) async fn a_claim_that_comes_upon_an_expired_command_ends_it<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.tried("a", Outcome::not_sent("refused")).await;
    scene.enqueue("b").await;
    scene.advance(WANTED + 1);
    let done = scene.look().await;
    assert_eq!(super::scene::ids(&done.claimed), ["b"]);
    assert_eq!(done.expired, [("a".to_owned(), SHOP.to_owned())], "told, as a sweep tells it");
    let receipt = scene.story("a").await.receipts.remove(0);
    assert_eq!((receipt.outcome.as_str(), receipt.attempts), ("expired", 1));
    assert!(receipt.digest.is_some(), "it was out there once");
    assert_eq!(scene.sweep().await, Swept::default());
    scene.totals_hold().await;
}

pub(super) async fn an_expiry_comes_back_as_it_was_recorded<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let at = |micros| Command { expires_at: Some(Micros::new(micros)), ..command_to("a", SHOP) };
    let expires_at = Micros::LATEST.get();
    assert_eq!(scene.store.enqueue(vec![at(expires_at)]).await.unwrap(), [Ok(Recorded::Recorded)]);
    let earlier = scene.store.enqueue(vec![at(expires_at - 1)]).await.unwrap();
    assert_eq!(earlier, [Ok(Recorded::Repeated)], "times are not compared");
    assert_eq!(scene.claim().await.command.expires_at, Some(Micros::LATEST));
    for seconds in [expires_at + 1, Micros::EARLIEST.get() - 1, 1_764_421_200] {
        let answer = scene.store.enqueue(vec![at(seconds)]).await.unwrap().remove(0);
        assert!(answer.unwrap_err().to_string().contains("expires_at"), "{seconds}");
    }
}
