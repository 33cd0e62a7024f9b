//! What people see: counts, lists, stories, and what keeps a relay from being idle.
//!
//! Guarantees: cursors and filters are covered. Does not: print.

use counterfoil_core::domain::{
    Command, Event, Kind, OrderingKey, Outcome, ReceiptOutcome, Span, State, Stream,
};
use counterfoil_core::port::Store;
use counterfoil_core::port::read::Filter;
use counterfoil_core::port::store::{Append, Remaining};

use super::Hands;
use super::scene::{SHOP, Scene, command, completed, destination, forever, keyless};

/// A filter that lets all through.
pub(super) fn all() -> Filter {
    Filter::default()
}

async fn listed<H: Hands>(scene: &Scene<H>, filter: Filter) -> Vec<String> {
    let listed = scene.store.list(filter).await.unwrap();
    listed.into_iter().map(|listed| listed.command_id).collect()
}

fn in_state(state: &str) -> Filter {
    Filter { state: Some(state.into()), ..all() }
}

pub(super) async fn status_counts_by_destination_and_state<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    scene.sent("done", completed()).await;
    scene.sent("doubt", Outcome::unknown("reset")).await;
    scene.claimed("flying").await;
    scene.enqueue("waiting").await;
    scene.enqueue_to("far", "bank").await;
    scene.advance(7);
    let status = scene.store.status().await.unwrap();
    assert_eq!(status.now, scene.store.now().unwrap());
    let shop = &status.destinations[SHOP];
    for state in ["completed", "uncertain", "sending", "pending"] {
        assert_eq!(shop.get(state), Some(&1), "{state}: {shop:?}");
    }
    assert_eq!(shop.values().sum::<u64>(), 4);
    assert_eq!(status.destinations["bank"].get("pending"), Some(&1));
    assert_eq!(status.oldest_due.get(SHOP), Some(&Span::from_secs(7)));
    assert_eq!(status.declared, [SHOP]);
    assert!(status.paused.is_empty());
}

/// A status names the lane that a parked head blocks, and a story who is ahead.
pub(super) async fn people_see_who_blocks_a_lane<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    let key = |key: &str| Some(OrderingKey::new(key).unwrap());
    for (id, lane) in [("a-1", "A"), ("a-2", "A"), ("b-1", "B"), ("a-3", "A")] {
        let command = Command { ordering_key: key(lane), ..command(id) };
        scene.store.enqueue(vec![command]).await.unwrap();
    }
    let flying = scene.story("a-3").await.lane.unwrap();
    assert_eq!((flying.ordering_key.as_str(), flying.place, flying.ahead), ("A", 3, 2));
    assert_eq!(flying.turn, Some(("a-1".to_owned(), "pending".to_owned())));
    for claimed in scene.look().await.claimed {
        scene.settle(&claimed, Outcome::unknown("reset")).await;
    }
    let status = scene.store.status().await.unwrap();
    let [lane] = status.blocked.as_slice() else { panic!("{:?}", status.blocked) };
    assert_eq!((lane.destination.as_str(), lane.ordering_key.as_str()), (SHOP, "A"));
    assert_eq!((lane.waiting, &lane.parked_head), (2, &Some(("a-1".into(), State::Uncertain))));
    let last = scene.story("a-3").await.lane.unwrap();
    let waits = |id: &str, state: &str| (id.to_owned(), state.to_owned());
    assert_eq!(last.first, [waits("a-1", "uncertain"), waits("a-2", "pending")]);
    assert_eq!((last.turn, last.behind), (None, 0));
    let head = scene.story("a-1").await.lane.unwrap();
    assert_eq!((head.place, head.ahead, head.behind), (1, 0, 2));
    assert_eq!(scene.story("b-1").await.lane.map(|lane| lane.behind), Some(0));
}

pub(super) async fn a_list_has_all_in_the_order_of_recording<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.sent("b", completed()).await;
    scene.enqueue("a").await;
    scene.enqueue_to("c", "bank").await;
    assert_eq!(listed(&scene, all()).await, ["b", "a", "c"]);
    let lines = scene.store.list(all()).await.unwrap();
    let line = |at: usize| (lines[at].state.as_str(), lines[at].kind.as_str(), lines[at].attempts);
    assert_eq!((line(0), line(1)), (("completed", "order.paid", 1), ("pending", "order.paid", 0)));
    assert_eq!((lines[0].available_at, lines[0].round), (None, 1));
}

pub(super) async fn a_list_is_paged_by_its_cursor<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let batch = (0..120).map(|at| command(&format!("c-{at:03}"))).collect();
    scene.store.enqueue(batch).await.unwrap();
    assert_eq!(listed(&scene, all()).await.len(), 100, "the limit when none is given");
    let mut seen = Vec::new();
    for expected in [50, 50, 20, 0] {
        let filter = Filter { limit: 50, after: seen.last().cloned(), ..all() };
        let page = listed(&scene, filter).await;
        assert_eq!(page.len(), expected, "after {:?}", seen.last());
        seen.extend(page);
    }
    let expected: Vec<_> = (0..120).map(|at| format!("c-{at:03}")).collect();
    assert_eq!(seen, expected);
}

pub(super) async fn a_list_is_filtered_by_state_and_outcome<H: Hands>(hands: H) {
    let mut terms = keyless();
    terms.pace.max_attempts = 1;
    let scene = Scene::new(hands, terms).await;
    scene.sent("done", completed()).await;
    scene.sent("dead", Outcome::not_sent("connection refused")).await;
    scene.sent("doubt", Outcome::unknown("reset")).await;
    scene.sent("conflict", Outcome::Conflict { reason: "422".into() }).await;
    scene.enqueue("waiting").await;
    assert_eq!(listed(&scene, in_state("completed")).await, ["done"]);
    assert_eq!(listed(&scene, in_state("uncertain")).await, ["doubt"]);
    assert_eq!(listed(&scene, in_state("parked")).await, ["dead", "doubt", "conflict"]);
    assert_eq!(listed(&scene, in_state("pending")).await, ["waiting"]);
    assert_eq!(listed(&scene, in_state("rejected")).await, [""; 0]);
    let reason = Filter { reason: Some("connection".into()), ..all() };
    assert_eq!(listed(&scene, reason).await, ["dead"]);
}

pub(super) async fn a_list_is_filtered_by_what_was_recorded<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.enqueue("a").await;
    scene.advance(10);
    let middle = scene.store.now().unwrap();
    let lost = Command::bytes("b", "bank", "order.lost", "x").unwrap();
    scene.store.enqueue(vec![lost]).await.unwrap();
    let event = Event { kind: Kind::new("placed").unwrap(), body: b"{}".to_vec(), cause: None };
    let unnamed = Command { id: None, ..command("x") };
    let stream = Stream::new("o-1").unwrap();
    let append = Append { stream, expected_seq: 0, events: vec![event], commands: vec![unnamed] };
    scene.store.append(append).await.unwrap().unwrap();
    let some = |text: &str| Some(text.to_owned());
    let filters = [
        (Filter { destination: some("bank"), ..all() }, vec!["b"]),
        (Filter { kind: some("order.paid"), ..all() }, vec!["a", "o-1:1:0"]),
        (Filter { stream: some("o-1"), ..all() }, vec!["o-1:1:0"]),
        (Filter { since: Some(middle), ..all() }, vec!["b", "o-1:1:0"]),
        (Filter { until: Some(middle), ..all() }, vec!["a"]),
        (Filter { kind: some("order.paid"), after: some("a"), limit: 1, ..all() }, vec!["o-1:1:0"]),
    ];
    for (filter, expected) in filters {
        assert_eq!(listed(&scene, filter.clone()).await, expected, "{filter:?}");
    }
}

pub(super) async fn a_story_tells_all<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let due = scene.store.now().unwrap();
    scene.store.enqueue(vec![command("a").header("X-Shop", "7").not_before(due)]).await.unwrap();
    let first = scene.claim().await;
    scene.settle(&first, Outcome::unknown("HTTP 500")).await;
    scene.advance(60);
    let second = scene.claim().await;
    scene.settle(&second, completed()).await;
    scene.report("a", ReceiptOutcome::Rejected).await;
    let story = scene.story("a").await;
    assert_eq!(story.body.as_deref(), Some(b"body of a".as_slice()));
    assert_eq!(story.content_type, "application/json");
    assert_eq!(story.headers.as_deref(), Some(r#"{"X-Shop":"7"}"#));
    assert_eq!((story.not_before, story.decision, story.lease), (Some(due), None, None));
    assert_eq!(story.first_sent_at, first.delivery.first_sent_at);
    assert_eq!((story.listed.attempts, story.receipts.len(), story.archived), (2, 1, false));
    assert_eq!(scene.tries("a").await, ["send unknown", "contradiction rejected"]);
    assert_eq!(story.tries[0].reason, "HTTP 500");
    assert!(story.actions.is_empty());
}

pub(super) async fn a_story_of_nothing_is_none<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    assert_eq!(scene.store.show("never").await.unwrap(), None);
    assert_eq!(scene.store.list(all()).await.unwrap(), []);
    assert!(scene.store.status().await.unwrap().destinations.is_empty());
}

async fn remaining<H: Hands>(scene: &Scene<H>) -> Remaining {
    scene.store.remaining(&[destination(SHOP)]).await.unwrap()
}

pub(super) async fn work_in_flight_or_waiting_keeps_busy<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    assert_eq!(remaining(&scene).await, Remaining::default());
    scene.enqueue("a").await;
    assert_eq!(remaining(&scene).await.busy, 1, "pending");
    let claimed = scene.claim().await;
    assert_eq!(remaining(&scene).await.busy, 1, "sending");
    scene.settle(&claimed, Outcome::not_sent("refused")).await;
    assert_eq!(remaining(&scene).await.busy, 1, "a retry that is not yet due");
    scene.advance(1);
    let claimed = scene.claim().await;
    scene.settle(&claimed, Outcome::Accepted { evidence: "202".into() }).await;
    assert_eq!(remaining(&scene).await, Remaining::default(), "published does not hold it");
}

pub(super) async fn what_waits_for_its_time_or_a_person_keeps_nobody_busy<H: Hands>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    scene.sent("doubt", Outcome::unknown("reset")).await;
    assert!(scene.store.awaiting().await.unwrap().is_empty(), "a parked one waits for a person");
    let later = scene.store.now().unwrap().plus(Span::from_secs(3600));
    scene.store.enqueue(vec![command("later").not_before(later)]).await.unwrap();
    let parked = Remaining { parked: 1, ..Remaining::default() };
    assert_eq!(remaining(&scene).await, parked, "not_before is ahead");
    assert_eq!(scene.store.awaiting().await.unwrap(), [SHOP]);
    scene.enqueue_to("far", "bank").await;
    assert_eq!(scene.store.awaiting().await.unwrap(), ["bank", SHOP]);
    let left = Remaining { unserved: 1, ..parked };
    assert_eq!(remaining(&scene).await, left);
    scene.advance(3600);
    assert_eq!(remaining(&scene).await, Remaining { busy: 1, ..left });
    scene.pause("maintenance").await;
    let left = remaining(&scene).await;
    assert_eq!((left.busy, left.unserved), (0, 1), "a pause keeps nobody busy");
    assert!(left.paused >= 1, "{left:?}");
}
