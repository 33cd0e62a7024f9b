//! What an incremental audit asks of a store: a horizon, what came since, the seal, mending.
//!
//! Guarantees: each rule of the port is tried with the store alone. Does not: judge; `sealing` runs
//! whole audits.

use counterfoil_core::domain::laws::ReceiptFacts;
use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::domain::{Event, Kind, OrderingKey, ReceiptOutcome, Span, Stream};
use counterfoil_core::port::read::FactsFrom;
use counterfoil_core::port::seal::Arrived;
use counterfoil_core::port::store::Append;
use counterfoil_core::port::{Act, Acted, Archive, Audited, Deed, Store};

use super::Hands;
use super::archiving::ann;
use super::scene::{Scene, command, completed, forever};

/// All receipts by arrival, in pages of `limit`, and where they end.
async fn arrived<S: Audited>(
    store: &S,
    mut after: Arrived,
    limit: usize,
) -> (Vec<ReceiptFacts>, Arrived) {
    let mut all = Vec::new();
    loop {
        let (facts, next) = store.ended_since(after, limit).await.unwrap();
        let place = |it: Arrived| (it.arrival, it.n, it.round);
        for command in facts.commands {
            let here = command.receipts.into_iter().filter(|entry| {
                let at = (entry.arrival, command.n, entry.receipt.round);
                place(after) < at && at <= place(next)
            });
            all.extend(here);
        }
        if facts.last {
            return (all, next);
        }
        assert!(place(next) > place(after), "pages go on");
        after = next;
    }
}

pub(super) async fn nothing_at_or_below_a_horizon_comes_later<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    scene.done("a").await;
    scene.report("a", ReceiptOutcome::Rejected).await;
    scene.store.pause(&super::scene::destination("bank"), "ann", "lunch").await.unwrap();
    scene.advance(1);
    let horizon = scene.store.horizon().await.unwrap().expect("nobody left a transaction open");
    let (known, end) = arrived(&scene.store, Arrived::default(), 9).await;
    assert_eq!(known.len(), 1);
    assert!(known[0].arrival <= horizon.receipt, "{horizon:?}");
    scene.done("b").await;
    scene.report("b", ReceiptOutcome::Rejected).await;
    scene.store.pause(&super::scene::destination("mail"), "ann", "lunch").await.unwrap();
    let (new, _) = arrived(&scene.store, end, 9).await;
    assert_eq!(new.len(), 1);
    assert!(new[0].arrival > horizon.receipt, "{horizon:?}");
    assert!(new[0].receipt.n > horizon.n, "{horizon:?}");
    let acts = scene.store.actions(horizon.action, 9).await.unwrap();
    assert_eq!(acts.iter().map(|act| act.about.as_str()).collect::<Vec<_>>(), ["mail"]);
    let said = scene.store.contradictions(horizon.contradiction, 9).await.unwrap();
    assert_eq!(said.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["b"]);
    assert!(horizon.event < scene.store.now().unwrap());
}

pub(super) async fn what_ended_since_comes_in_the_order_of_arrival<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    for at in 0..5 {
        scene.enqueue(&format!("c-{at}")).await;
    }
    // They end in another order than they were recorded, and one more than once.
    for at in [3, 1, 4, 0, 2] {
        scene.report(&format!("c-{at}"), ReceiptOutcome::Completed).await;
        scene.advance(1);
    }
    for limit in [1, 2, 9] {
        let (all, end) = arrived(&scene.store, Arrived::default(), limit).await;
        let order: Vec<i64> = all.iter().map(|entry| entry.receipt.n).collect();
        assert_eq!(order.len(), 5, "in pages of {limit}");
        let mut sorted: Vec<_> = all.iter().map(|entry| (entry.arrival, entry.receipt.n)).collect();
        sorted.sort_unstable();
        assert_eq!(sorted.iter().map(|(_, n)| *n).collect::<Vec<_>>(), order, "by {limit}");
        assert_eq!(order.iter().min(), order.get(3), "c-0 ended fourth");
        assert_eq!(arrived(&scene.store, end, limit).await.0, [], "nothing came since");
    }
}

pub(super) async fn events_and_acts_and_contradictions_come_in_pages<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    for stream in ["o-1", "o-2"] {
        for seq in 0..2 {
            let event =
                Event { kind: Kind::new("placed").unwrap(), body: b"{}".to_vec(), cause: None };
            let stream = Stream::new(stream).unwrap();
            let append =
                Append { stream, expected_seq: seq, events: vec![event], commands: vec![] };
            scene.store.append(append).await.unwrap().unwrap();
        }
    }
    let (mut events, mut after) = (Vec::new(), None);
    loop {
        let page = scene.store.events(after.clone(), 3).await.unwrap();
        let page: Vec<_> = page.into_iter().map(Result::unwrap).collect();
        let Some(last) = page.last() else { break };
        after = Some((last.stream.to_string(), last.seq));
        events.extend(page);
    }
    let places: Vec<_> = events.iter().map(|it| (it.stream.as_str(), it.seq)).collect();
    assert_eq!(places, [("o-1", 1), ("o-1", 2), ("o-2", 1), ("o-2", 2)]);
    assert_eq!((events[0].kind.as_str(), events[0].body.as_slice()), ("placed", &b"{}"[..]));
    for id in ["a", "b"] {
        scene.done(id).await;
        scene.report(id, ReceiptOutcome::Rejected).await;
        let named = super::scene::destination(id);
        scene.store.pause(&named, "ann", "lunch").await.unwrap();
    }
    let first = scene.store.contradictions(0, 1).await.unwrap();
    assert_eq!((first[0].0.as_str(), first[0].1.outcome.as_str()), ("a", "rejected"));
    assert_eq!(first[0].1.result.as_deref(), Some(&b"job 7"[..]));
    let second = scene.store.contradictions(first[0].1.arrival, 1).await.unwrap();
    assert_eq!(second[0].0, "b");
    assert_eq!(scene.store.contradictions(second[0].1.arrival, 1).await.unwrap(), []);
    let first = scene.store.actions(0, 1).await.unwrap();
    assert_eq!((first[0].verb.as_str(), first[0].about.as_str()), ("pause", "a"));
    let second = scene.store.actions(first[0].arrival, 1).await.unwrap();
    assert_eq!(second[0].about, "b");
    assert_eq!(scene.store.actions(second[0].arrival, 1).await.unwrap(), []);
}

pub(super) async fn commands_are_known_by_their_numbers<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    for id in ["a", "b"] {
        scene.done(id).await;
    }
    scene.last().await;
    scene.buried("a").await;
    let facts = scene.store.facts(FactsFrom::default(), 9).await.unwrap().commands;
    let n = |id: &str| facts.iter().find(|facts| facts.id == id).map(|facts| facts.n);
    let asked = ["last", "a", "never", "b", "b"].map(String::from);
    let told = scene.store.numbers(&asked).await.unwrap();
    assert_eq!(told, [n("last"), Some(0), None, n("b"), n("b")]);
    assert_eq!(scene.store.numbers(&[]).await.unwrap(), []);
}

pub(super) async fn a_seal_is_written_over_the_one_that_was_read<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    assert_eq!(scene.store.sealed().await.unwrap(), None);
    assert!(!scene.store.save_seal(1, "none stands").await.unwrap());
    assert!(scene.store.save_seal(0, "one").await.unwrap());
    assert!(!scene.store.save_seal(0, "twice").await.unwrap());
    let one = scene.store.sealed().await.unwrap().unwrap();
    assert_eq!((one.version, one.seal.as_str()), (1, "one"));
    scene.advance(1);
    assert!(scene.store.save_seal(1, "two").await.unwrap());
    let two = scene.hands.reopen().await.sealed().await.unwrap().unwrap();
    assert_eq!((two.version, two.seal.as_str()), (2, "two"));
    assert!(two.recorded_at > one.recorded_at);
    let savers = (0..8).map(|at| {
        let store = scene.hands.store();
        tokio::spawn(async move { store.save_seal(2, &format!("saver {at}")).await.unwrap() })
    });
    let mut saved = 0;
    for saver in savers.collect::<Vec<_>>() {
        saved += u32::from(saver.await.unwrap());
    }
    assert_eq!(saved, 1, "one of eight");
}

pub(super) async fn what_was_lost_is_uncertain_and_recorded<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    for id in ["a", "b"] {
        scene.enqueue(id).await;
        scene.hands.lose_delivery(id).await;
    }
    let ids = ["a".to_owned(), "b".to_owned(), "never heard of".to_owned()];
    assert_eq!(scene.store.mend(&ids, ann()).await.unwrap(), 2);
    assert_eq!(scene.store.mend(&ids, ann()).await.unwrap(), 0, "once");
    let story = scene.story("a").await;
    assert_eq!((story.listed.state.as_str(), story.listed.in_doubt), ("uncertain", true));
    assert_eq!(story.listed.available_at, None);
    // The receiver's memory is counted from its recording; that it was sent then nobody saw.
    assert_eq!(story.first_sent_at, Some(story.listed.recorded_at));
    assert_eq!(story.sends(), None);
    assert_eq!(story.body.as_deref(), Some(&b"body of a"[..]));
    let acts = scene.hands.acts().await;
    assert_eq!(acts, ["mend a by ann: looked", "mend b by ann: looked"]);
    scene.is_sound().await;
    scene.advance(86_400);
    assert_eq!(scene.look().await.claimed.len(), 0, "it is never sent by itself");
    for (id, verdict) in [("a", Verdict::Completed { result: None }), ("b", Verdict::NotDone)] {
        let deed = Deed { command_id: id.into(), act: Act::Resolve(verdict), by_filter: false };
        let acted = scene.store.act(vec![deed], ann()).await.unwrap();
        assert!(matches!(acted[0], Acted::Done { .. }), "{acted:?}");
        scene.is_sound().await;
    }
    let ended = scene.story("a").await;
    assert_eq!((ended.listed.state.as_str(), ended.sends()), ("completed", None));
    assert_eq!(scene.look().await.claimed.len(), 1, "what a person says was not done is sent");
}

pub(super) async fn what_stands_is_not_mended<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    scene.done("ended").await;
    scene.enqueue("open").await;
    let ids = ["ended".to_owned(), "open".to_owned()];
    assert_eq!(scene.store.mend(&ids, ann()).await.unwrap(), 0);
    assert_eq!(
        (scene.state("ended").await, scene.state("open").await),
        ("completed".into(), "pending".into())
    );
    assert_eq!(scene.hands.acts().await, [""; 0]);
}

pub(super) async fn a_lost_one_of_a_lane_has_a_place_again<H>(hands: H)
where
    H: Hands<Store: Audited + Archive>,
{
    let scene = Scene::new(hands, forever()).await;
    let key = || OrderingKey::new("k").unwrap();
    for id in ["a", "b", "c"] {
        scene.store.enqueue(vec![command(id).ordering_key(key())]).await.unwrap();
    }
    scene.hands.lose_delivery("b").await;
    assert_eq!(scene.store.mend(&["b".to_owned()], ann()).await.unwrap(), 1);
    scene.is_sound().await;
    let claimed = scene.claim().await;
    assert_eq!(claimed.command.command_id.as_str(), "a");
    scene.settle(&claimed, completed()).await;
    scene.hands.advance(Span::from_secs(60));
    assert_eq!(scene.look().await.claimed.len(), 0, "b is before c, and waits for a person");
}
