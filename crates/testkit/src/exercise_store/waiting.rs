//! What waits in a lane: what it is counted as, and what its expiry and its doubt come to.
//!
//! Guarantees: whatever frees a lane in a look is followed up in that look; what waits is worked on
//! when its turn comes, and keeps no relay before. Does not: order; see the cases of lanes.

use counterfoil_core::domain::laws::of_lane;
use counterfoil_core::domain::{Asking, Command, OrderingKey, Outcome, Span, State, Terms};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::{Remaining, Settled, Swept};

use super::Hands;
use super::scene::{SHOP, Scene, command, completed, destination, forever, ids, window};

fn in_lane(id: &str) -> Command {
    Command { ordering_key: Some(OrderingKey::new("A").unwrap()), ..command(id) }
}

fn window_and_ask() -> Terms {
    let mut terms = window();
    terms.contract.ask = Some(Asking::new(Span::from_secs(60)));
    terms
}

impl<H: Hands> Scene<H> {
    async fn record(&self, commands: Vec<Command>) {
        for answer in self.store.enqueue(commands).await.unwrap() {
            answer.unwrap();
        }
    }

    async fn left(&self) -> Remaining {
        let left = self.store.remaining(&[destination(SHOP)]).await.unwrap();
        for lane in self.store.lane_facts(None, 10).await.unwrap() {
            assert_eq!(of_lane(&lane), []);
        }
        left
    }

    fn in_secs(&self, secs: i64) -> counterfoil_core::domain::Micros {
        self.store.now().unwrap().plus(Span::from_secs(secs))
    }
}

fn busy(busy: u64) -> Remaining {
    Remaining { busy, ..Remaining::default() }
}

pub(super) async fn an_expired_head_is_followed_in_the_same_look<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let expires_at = Some(scene.in_secs(60));
    let many = (0..20).map(|at| Command { expires_at, ..in_lane(&format!("old-{at}")) });
    scene.record(many.chain([in_lane("fresh"), in_lane("next")]).collect()).await;
    scene.advance(61);
    let looked = scene.look().await;
    assert_eq!((looked.expired.len(), ids(&looked.claimed)), (20, vec!["fresh"]));
    assert_eq!(scene.left().await, busy(2));
}

pub(super) async fn in_doubt_and_expired_it_is_asked_about_in_its_turn<H: Hands>(hands: H) {
    let scene = Scene::new(hands, window_and_ask()).await;
    let expires_at = Some(scene.in_secs(60));
    scene.record(vec![in_lane("a-1"), Command { expires_at, ..in_lane("a-2") }]).await;
    let both = scene.store.restored(scene.store.now().unwrap(), "ada").await.unwrap();
    assert_eq!(both, 2);
    scene.advance(61);
    assert_eq!(scene.store.sweep(10, None).await.unwrap(), Swept::default(), "it has no turn");
    let first = scene.claim().await;
    assert_eq!(first.command.command_id.as_str(), "a-1");
    scene.settle(&first, completed()).await;
    let second = scene.claim().await;
    let found = (second.command.command_id.as_str(), second.delivery.state);
    assert_eq!(found, ("a-2", State::Asking));
    assert_eq!(scene.left().await, busy(1));
}

pub(super) async fn behind_a_delayed_head_nobody_is_busy<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let not_before = Some(scene.in_secs(60));
    scene.record(vec![Command { not_before, ..in_lane("a-1") }, in_lane("a-2")]).await;
    assert_eq!(scene.left().await, busy(0));
    scene.advance(61);
    assert_eq!(scene.left().await, busy(2));
    let later = Some(scene.in_secs(60));
    scene.record(vec![Command { not_before: later, ..in_lane("a-3") }]).await;
    assert_eq!(scene.left().await, busy(2), "its own not_before is ahead");
}

pub(super) async fn behind_a_published_one_nobody_is_busy<H: Hands>(hands: H) {
    let mut terms = forever();
    terms.contract.completion = counterfoil_core::domain::Completion::Receipt;
    let scene = Scene::new(hands, terms).await;
    scene.record(vec![in_lane("a-1"), in_lane("a-2")]).await;
    let first = scene.claim().await;
    assert_eq!(scene.left().await, busy(2), "it is sent, and then the next");
    let accepted = Outcome::Accepted { evidence: "202".into() };
    assert_eq!(scene.settle(&first, accepted).await, Settled::Open(State::Published));
    assert_eq!(scene.left().await, busy(0), "a receipt is the receiver's to send");
    let retried = scene.look().await;
    assert_eq!(retried.claimed, [], "the next waits for the receipt");
}
