//! Alerts: what is parked becomes a command of its own.
//!
//! Guarantees: settles, claims and sweeps announce what they park, once a round, in the same
//! commit; an alert makes no alert. Does not: look at the words of a reason.

use counterfoil_core::domain::{Command, Kind, Outcome, Span, State, Terms};
use counterfoil_core::port::read::Filter;
use counterfoil_core::port::store::{Ended, Exchange, Exchanged, Recorded, Settled};
use counterfoil_core::port::{Act, Acted, Actor, Announce, Deed, Store};

use super::Hands;
use super::scene::{SHOP, Scene, command, completed, destination, forever, keyless, window};

const OPS: &str = "ops";
const ALERT: &str = "alert";

fn announce() -> Option<Announce> {
    Some(Announce { destination: destination(OPS), kind: Kind::new(ALERT).unwrap() })
}

fn one_attempt() -> Terms {
    let mut terms = forever();
    terms.pace.max_attempts = 1;
    terms
}

impl<H: Hands> Scene<H> {
    /// The ids of all alerts, oldest first.
    async fn alerts(&self) -> Vec<String> {
        let filter = Filter { destination: Some(OPS.into()), limit: 100, ..Filter::default() };
        let listed = self.store.list(filter).await.unwrap();
        listed.into_iter().map(|listed| listed.command_id).collect()
    }

    /// One look at the shop, with room for ten claims, that announces.
    async fn watched_look(&self) -> Exchanged {
        self.exchange(Exchange { announce: announce(), ..self.claims(10) }).await
    }

    /// Records, claims and settles, and announces what that parks.
    async fn watched(&self, id: &str, outcome: Outcome) -> Settled {
        let claimed = self.claimed(id).await;
        let settles = vec![self.settling(&claimed, Ended::Outcome(outcome))];
        let exchange = Exchange { settles, announce: announce(), ..Exchange::default() };
        self.exchange(exchange).await.settled.remove(0)
    }

    /// The body of the alert that is due.
    async fn alert(&self) -> serde_json::Value {
        self.declare(OPS, false).await;
        let looked = self.exchange(self.claims_from(vec![self.claim_from(OPS, 9)], 9)).await;
        let [claimed] = &looked.claimed[..] else { panic!("one alert: {looked:?}") };
        assert_eq!(claimed.command.kind.as_str(), ALERT);
        assert_eq!(claimed.command.content_type, "application/json");
        serde_json::from_slice(&claimed.command.body).unwrap()
    }

    async fn retry(&self, id: &str) {
        let act = Act::Retry { may_act_twice: false };
        let deed = Deed { command_id: id.into(), act, by_filter: false };
        let actor = Actor { name: "ann".into(), reason: String::new() };
        let acted = self.store.act(vec![deed], actor).await.unwrap();
        assert!(matches!(acted[0], Acted::Done { .. }), "{acted:?}");
    }
}

fn uncertain() -> Settled {
    Settled::Open(State::Uncertain)
}

pub(super) async fn a_settle_that_parks_announces<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    let claimed = scene.claimed("a").await;
    let settles = vec![scene.settling(&claimed, Ended::Outcome(Outcome::unknown("reset")))];
    let before = scene.hands.commits().await;
    let exchange = Exchange { settles, announce: announce(), ..Exchange::default() };
    assert_eq!(scene.exchange(exchange).await.settled, [uncertain()]);
    assert_ne!(scene.hands.commits().await, before);
    assert_eq!(scene.alerts().await, ["alert:a:1"]);
    let mut alert = scene.alert().await;
    let at = alert["at"].take().as_i64().unwrap();
    assert_eq!(at, scene.store.now().unwrap().get());
    assert!(alert["reason"].take().as_str().unwrap().contains("reset"));
    let said = serde_json::json!({
        "at": null, "reason": null, "command_id": "a", "destination": SHOP, "kind": "order.paid",
        "state": "uncertain", "round": 1, "in_doubt": true,
    });
    assert_eq!(alert, said);
}

pub(super) async fn a_claim_that_parks_announces<H: Hands>(hands: H) {
    let scene = Scene::new(hands, window()).await;
    scene.sent("a", Outcome::unknown("reset")).await;
    scene.advance(3 * 86_400);
    scene.enqueue("fresh").await;
    let looked = scene.watched_look().await;
    assert_eq!((looked.parked.len(), looked.claimed.len()), (1, 1), "{looked:?}");
    let parked = &looked.parked[0];
    let about = (parked.command.as_str(), parked.kind.as_str(), parked.round, parked.in_doubt);
    assert_eq!(about, ("a", "order.paid", 1, true));
    assert_eq!(scene.alerts().await, ["alert:a:1"]);
    assert_eq!(scene.alert().await["reason"], parked.reason.as_str());
    assert!(scene.watched_look().await.parked.is_empty());
    assert_eq!(scene.alerts().await.len(), 1);
}

pub(super) async fn an_unreadable_one_is_announced<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let Some(id) = scene.hands.put_unreadable(SHOP).await else { return };
    let looked = scene.watched_look().await;
    assert_eq!(looked.parked[0].command, id);
    assert_eq!(scene.alerts().await.len(), 1);
    let alert = scene.alert().await;
    assert_eq!((&alert["command_id"], &alert["state"]), (&id.into(), &"dead".into()));
}

pub(super) async fn a_sweep_that_parks_announces<H: Hands>(hands: H) {
    let scene = Scene::new(hands, window()).await;
    let expires_at = Some(scene.store.now().unwrap().plus(Span::from_secs(60)));
    let wanted = Command { expires_at, ..command("a") };
    assert_eq!(scene.store.enqueue(vec![wanted]).await.unwrap(), [Ok(Recorded::Recorded)]);
    let claimed = scene.claim().await;
    scene.settle(&claimed, Outcome::unknown("reset")).await;
    scene.advance(61);
    let swept = scene.store.sweep(10, announce()).await.unwrap();
    assert_eq!(swept.parked.len(), 1, "{swept:?}");
    assert_eq!(scene.alerts().await, ["alert:a:1"]);
    assert_eq!(scene.alert().await["reason"], swept.parked[0].reason.as_str());
    scene.store.sweep(10, announce()).await.unwrap();
    assert_eq!(scene.alerts().await.len(), 1);
}

pub(super) async fn each_round_is_announced_once<H: Hands>(hands: H) {
    let scene = Scene::new(hands, one_attempt()).await;
    let claimed = scene.claimed("a").await;
    for expected in [1, 1] {
        let refused = Ended::Outcome(Outcome::not_sent("refused"));
        let settles = vec![scene.settling(&claimed, refused)];
        let exchange = Exchange { settles, announce: announce(), ..Exchange::default() };
        scene.exchange(exchange).await;
        assert_eq!(scene.alerts().await.len(), expected, "also repeated");
    }
    scene.retry("a").await;
    let claimed = scene.claim().await;
    let refused = Ended::Outcome(Outcome::not_sent("refused"));
    let settles = vec![scene.settling(&claimed, refused)];
    scene.exchange(Exchange { settles, announce: announce(), ..Exchange::default() }).await;
    assert_eq!(scene.alerts().await, ["alert:a:1", "alert:a:2"]);
}

pub(super) async fn an_alert_never_alerts<H: Hands>(hands: H) {
    let scene = Scene::new(hands, one_attempt()).await;
    scene.watched("a", Outcome::not_sent("refused")).await;
    scene.declare(OPS, false).await;
    let looked = scene.exchange(scene.claims_from(vec![scene.claim_from(OPS, 9)], 9)).await;
    let refused = Ended::Outcome(Outcome::not_sent("no pager"));
    let settles = vec![scene.settling(&looked.claimed[0], refused)];
    let exchange = Exchange { settles, announce: announce(), ..Exchange::default() };
    assert_eq!(scene.exchange(exchange).await.settled, [Settled::Open(State::Dead)]);
    assert_eq!(scene.alerts().await, ["alert:a:1"]);
}

pub(super) async fn only_what_is_parked_is_announced<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.watched("a", completed()).await;
    scene.watched("b", Outcome::not_sent("refused")).await;
    assert_eq!(scene.alerts().await, [""; 0]);
    let silent = Scene::new(scene.hands, one_attempt()).await;
    silent.sent("c", Outcome::not_sent("refused")).await;
    assert_eq!((silent.state("c").await.as_str(), silent.alerts().await.len()), ("dead", 0));
}

pub(super) async fn an_alerts_id_that_is_taken_stops_nothing<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    let taken = Command::bytes("alert:a:1", SHOP, "order.paid", "mine").unwrap();
    assert_eq!(scene.store.enqueue(vec![taken]).await.unwrap(), [Ok(Recorded::Recorded)]);
    let mine = scene.claim().await;
    scene.settle(&mine, completed()).await;
    assert_eq!(scene.watched("a", Outcome::unknown("reset")).await, uncertain());
    assert_eq!(scene.watched("b", Outcome::unknown("reset")).await, uncertain());
    assert_eq!(scene.alerts().await, ["alert:b:1"]);
}

pub(super) async fn the_longest_id_is_announced<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    let longest = ["i".repeat(255), format!("{}j", "i".repeat(254))];
    for id in &longest {
        assert_eq!(scene.watched(id, Outcome::unknown("reset")).await, uncertain());
    }
    let alerts = scene.alerts().await;
    assert_eq!(alerts.len(), 2, "each has its own");
    assert!(alerts.iter().all(|id| id.starts_with("alert:") && id.len() == 6 + 64), "{alerts:?}");
}

pub(super) async fn no_exchange_claims_its_own_alerts<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    scene.declare(OPS, false).await;
    let claimed = scene.claimed("a").await;
    let unknown = Ended::Outcome(Outcome::unknown("reset"));
    let settles = vec![scene.settling(&claimed, unknown)];
    let looking = scene.claims_from(vec![scene.claim_from(OPS, 9)], 9);
    let looking = Exchange { settles, announce: announce(), ..looking };
    assert_eq!(scene.exchange(looking.clone()).await.claimed, []);
    let next = Exchange { settles: Vec::new(), ..looking };
    assert_eq!(scene.exchange(next).await.claimed.len(), 1);
}
