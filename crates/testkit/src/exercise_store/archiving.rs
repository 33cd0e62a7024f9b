//! What an archive asks of a store: whole entries, a burial by proof, tombstones.
//!
//! Guarantees: each rule of the port is tried with the store alone. Does not: write files.

use std::collections::BTreeSet;

use counterfoil_core::domain::laws::{of_command, of_event, of_lane, of_totals};
use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::domain::{
    Digest, Event, Micros, OrderingKey, Outcome, Reason, ReceiptOutcome,
};
use counterfoil_core::port::archive::{Archive, Buried, EndedPage, Entry, SealChange, Tombstone};
use counterfoil_core::port::read::FactsFrom;
use counterfoil_core::port::store::{Append, Recorded, Reported, Settled, WriteRefused};
use counterfoil_core::port::{Act, Acted, Actor, Deed, Store};

use super::Hands;
use super::scene::{SHOP, Scene, command, completed, forever, keyless};

/// The file that tombstones name.
pub(super) const FILE: &str = "file-1.jsonl.zst";

impl<H: Hands<Store: Archive>> Scene<H> {
    /// All that ended before now, in pages of `limit`.
    pub(super) async fn ended(&self, limit: usize) -> EndedPage {
        self.ended_before(self.store.now().unwrap(), limit).await
    }

    async fn ended_before(&self, before: Micros, limit: usize) -> EndedPage {
        let mut all = EndedPage::default();
        loop {
            let page = self.store.ended(before, all.looked_at, limit).await.unwrap();
            assert!(page.entries.len() <= limit, "a page of {limit}");
            assert!(page.last || page.looked_at > all.looked_at, "pages go on");
            all.looked_at = page.looked_at;
            all.entries.extend(page.entries);
            all.kept.contradicted += page.kept.contradicted;
            all.kept.unreadable += page.kept.unreadable;
            all.kept.newest += page.kept.newest;
            if page.last {
                return all;
            }
        }
    }

    /// Ends it, and lets a second pass, so that it ended before now.
    pub(super) async fn done(&self, id: &str) {
        self.sent(id, completed()).await;
        self.advance(1);
    }

    /// The one that has the largest `n`, which may have to stay.
    pub(super) async fn last(&self) {
        self.enqueue_to("last", "bank").await;
    }

    pub(super) async fn entry(&self, id: &str) -> Entry {
        self.store.entry(id).await.unwrap().unwrap_or_else(|| panic!("no entry of {id}"))
    }

    pub(super) async fn bury(&self, entries: Vec<Entry>) -> Vec<bool> {
        match self.store.bury(FILE, entries, None).await.unwrap() {
            Buried::Done(done) => done,
            Buried::SealMoved => panic!("no seal was given"),
        }
    }

    pub(super) async fn buried(&self, id: &str) {
        let entry = self.entry(id).await;
        assert_eq!(self.bury(vec![entry]).await, [true], "burying {id}");
    }

    pub(super) async fn tombstone(&self, id: &str) -> Option<Tombstone> {
        self.store.tombstones_of(&[id.to_owned()]).await.unwrap().remove(0)
    }

    /// Every law of the design holds.
    pub(super) async fn is_sound(&self) {
        for facts in self.store.facts(FactsFrom::default(), 999).await.unwrap().commands {
            assert_eq!(of_command(&facts), [], "{}", facts.id);
        }
        for totals in self.store.totals().await.unwrap() {
            assert_eq!(of_totals(&totals), []);
        }
        for lane in self.store.lane_facts(None, 999).await.unwrap() {
            assert_eq!(of_lane(&lane), []);
        }
        for event in self.store.event_facts(None, 999).await.unwrap() {
            assert_eq!(of_event(&event), []);
        }
    }
}

pub(super) fn ann() -> Actor {
    Actor { name: "ann".into(), reason: "looked".into() }
}

async fn act<S: Store>(store: &S, id: &str, act: Act) {
    let deed = Deed { command_id: id.into(), act, by_filter: false };
    let acted = store.act(vec![deed], ann()).await.unwrap();
    assert!(matches!(acted[0], Acted::Done { .. }), "{acted:?}");
}

fn ids(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.outbox.command_id.as_str()).collect()
}

pub(super) async fn what_has_ended_comes_whole_in_pages<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    for at in 0..7 {
        scene.done(&format!("c-{at}")).await;
    }
    scene.sent("u", Outcome::unknown("reset by peer")).await;
    act(&scene.store, "u", Act::Resolve(Verdict::Completed { result: Some(b"r".to_vec()) })).await;
    scene.advance(1);
    scene.last().await;
    for limit in [1, 3, 100] {
        let page = scene.ended(limit).await;
        let named = ["c-0", "c-1", "c-2", "c-3", "c-4", "c-5", "c-6", "u"];
        assert_eq!(ids(&page.entries), named, "in pages of {limit}");
        assert!(page.entries.windows(2).all(|pair| pair[0].outbox.n < pair[1].outbox.n));
    }
    let whole = scene.ended(100).await.entries.remove(7);
    assert_eq!(whole, scene.entry("u").await);
    assert_eq!(whole.outbox.body, b"body of u");
    assert_eq!(whole.erased_at, None);
    let receipt = &whole.newest().unwrap().receipt;
    assert_eq!((receipt.round, receipt.outcome), (1, ReceiptOutcome::Completed));
    assert_eq!(receipt.result.as_deref(), Some(&b"r"[..]));
    let attempt = &whole.attempts[0];
    assert_eq!((attempt.outcome.as_str(), attempt.round), ("unknown", 1));
    assert!(attempt.reason.as_ref().is_some_and(|why| why.contains("reset by peer")));
    let told = &whole.actions[0];
    assert_eq!(
        (told.verb.as_str(), told.about.as_str(), told.actor.as_str()),
        ("resolve", "u", "ann")
    );
}

pub(super) async fn what_is_open_or_young_is_not_among_it<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.done("old").await;
    let before = scene.store.now().unwrap();
    scene.done("young").await;
    scene.sent("dead", Outcome::Conflict { reason: "422".into() }).await;
    scene.done("again").await;
    scene.enqueue("pending").await;
    act(&scene.store, "again", Act::Redeliver { may_act_twice: true }).await;
    scene.last().await;
    assert_eq!(ids(&scene.ended_before(before, 9).await.entries), ["old"]);
    let all = scene.ended(9).await;
    assert_eq!(ids(&all.entries), ["old", "young"]);
    for open in ["again", "dead", "pending", "never heard of"] {
        assert_eq!(scene.store.entry(open).await.unwrap(), None, "{open}");
    }
}

pub(super) async fn what_is_contradicted_waits_for_a_person<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.done("a").await;
    let said = scene.report("a", ReceiptOutcome::Rejected).await;
    assert_eq!(said, Reported::Contradiction);
    scene.last().await;
    scene.advance(1);
    let page = scene.ended(9).await;
    assert_eq!((ids(&page.entries), page.kept.contradicted), (vec![], 1));
    act(&scene.store, "a", Act::Resolve(Verdict::Completed { result: None })).await;
    let page = scene.ended(9).await;
    assert_eq!((ids(&page.entries), page.kept.contradicted), (vec!["a"], 0));
    assert_eq!(page.entries[0].contradictions[0].outcome, "rejected");
    assert_eq!(page.entries[0].contradictions[0].result.as_deref(), Some(&b"job 7"[..]));
    scene.buried("a").await;
    scene.is_sound().await;
}

pub(super) async fn what_is_buried_leaves_its_tombstone<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let key = OrderingKey::new("k").unwrap();
    scene.store.enqueue(vec![command("a").ordering_key(key)]).await.unwrap()[0].clone().unwrap();
    let claimed = scene.claim().await;
    scene.settle(&claimed, completed()).await;
    scene.done("b").await;
    act(&scene.store, "b", Act::Redeliver { may_act_twice: true }).await;
    let again = scene.claim().await;
    scene
        .settle(
            &again,
            Outcome::Rejected {
                reason: "sold out".into(),
                by: counterfoil_core::domain::Judge::Receiver,
            },
        )
        .await;
    scene.last().await;
    scene.is_sound().await;
    let (a, b) = (scene.entry("a").await, scene.entry("b").await);
    assert_eq!(b.receipts.len(), 2);
    assert_eq!(scene.bury(vec![a, b]).await, [true, true]);
    let tomb = scene.tombstone("a").await.unwrap();
    assert_eq!((tomb.destination.as_str(), tomb.kind.as_str()), (SHOP, "order.paid"));
    assert_eq!((tomb.ordering_key.as_deref(), tomb.file.as_str()), (Some("k"), FILE));
    assert_eq!((tomb.outcome.as_str(), tomb.rounds), ("completed", 1));
    assert_eq!(tomb.digest, Digest::of(b"body of a"));
    assert_eq!(tomb.row_digest, Some(tomb.row_digest()));
    let tomb = scene.tombstone("b").await.unwrap();
    assert_eq!((tomb.outcome.as_str(), tomb.rounds, tomb.ordering_key), ("rejected", 2, None));
    let facts = scene.store.facts(FactsFrom::default(), 99).await.unwrap().commands;
    assert_eq!(facts.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["last"]);
    let story = scene.story("b").await;
    assert!(story.archived && story.listed.state == "rejected");
    assert_eq!(scene.store.entry("a").await.unwrap(), None);
    scene.is_sound().await;
}

/// Its attempt was slow, its receiver reported meanwhile, and its rows went.
pub(super) async fn a_late_word_about_an_archived_command_is_kept<H: Hands<Store: Archive>>(
    hands: H,
) {
    let scene = Scene::new(hands, forever()).await;
    let mut late = Vec::new();
    for (id, outcome) in
        [("refused", ReceiptOutcome::Rejected), ("same", ReceiptOutcome::Completed)]
    {
        scene.enqueue(id).await;
        late.push(scene.claim().await);
        scene.report(id, outcome).await;
    }
    scene.last().await;
    scene.advance(1);
    let entries = scene.ended(9).await.entries;
    assert_eq!(scene.bury(entries).await, [true; 2]);
    let mut settled = Vec::new();
    for claimed in &late {
        settled.push(scene.settle(claimed, completed()).await);
    }
    let ignored = Settled::Ignored(Reason::Ended);
    assert_eq!(settled, [Settled::Contradicted, ignored.clone()]);
    assert_eq!(scene.settle(&late[0], Outcome::not_sent("refused")).await, ignored);
    assert!(scene.story("refused").await.contradicted && !scene.story("same").await.contradicted);
}

pub(super) async fn what_has_changed_is_left<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    for id in ["sent-again", "contradicted", "other-body", "same", "gone"] {
        scene.done(id).await;
    }
    scene.last().await;
    let mut entries = scene.ended(9).await.entries;
    assert_eq!(entries.len(), 5);
    act(&scene.store, "sent-again", Act::Redeliver { may_act_twice: true }).await;
    scene.report("contradicted", ReceiptOutcome::Rejected).await;
    entries[2].outbox.body = b"another".to_vec();
    scene.buried("gone").await;
    let stood = scene.store.facts(FactsFrom::default(), 99).await.unwrap().commands;
    let buried = scene.bury(entries.clone()).await;
    assert_eq!(buried, [false, false, false, true, false]);
    let stands = scene.store.facts(FactsFrom::default(), 99).await.unwrap().commands;
    let but_same: Vec<_> = stood.into_iter().filter(|facts| facts.id != "same").collect();
    assert_eq!(stands, but_same, "what is left is as it was");
    let again = scene.claim().await;
    scene.settle(&again, completed()).await;
    assert_eq!(scene.bury(entries).await, [false; 5], "it has another receipt now");
    assert!(scene.tombstone("sent-again").await.is_none());
}

pub(super) async fn a_buried_id_is_never_another_intent<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.done("a").await;
    scene.last().await;
    scene.buried("a").await;
    let answers = scene.store.enqueue(vec![command("a")]).await.unwrap();
    assert_eq!(answers, [Ok(Recorded::Repeated)]);
    let mut other = command("a");
    other.body = b"another".to_vec();
    let key = OrderingKey::new("k").unwrap();
    for other in [other, command("a").ordering_key(key)] {
        let answers = scene.store.enqueue(vec![other]).await.unwrap();
        assert_eq!(answers, [Err(WriteRefused::Conflict { id: "a".into() })]);
    }
    let deed = |act| vec![Deed { command_id: "a".into(), act, by_filter: false }];
    let acted = scene.store.act(deed(Act::Redeliver { may_act_twice: true }), ann()).await;
    assert_eq!(acted.unwrap(), [Acted::Archived]);
    scene.is_sound().await;
}

pub(super) async fn a_late_report_finds_the_tombstone<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let (claimed, _) = scene.sent("a", completed()).await;
    scene.last().await;
    scene.buried("a").await;
    assert_eq!(scene.report("a", ReceiptOutcome::Completed).await, Reported::Repeated);
    let fenced = scene.fenced("a", claimed.delivery.token).await;
    assert!(matches!(fenced, Reported::Refused(_)), "{fenced:?}");
    assert_eq!(scene.report("a", ReceiptOutcome::Rejected).await, Reported::Contradiction);
    assert_eq!(scene.tombstone("a").await.unwrap().outcome, "completed");
    assert!(scene.story("a").await.contradicted);
}

pub(super) async fn a_late_contradiction_is_looked_into_once<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.done("a").await;
    scene.done("b").await;
    scene.last().await;
    scene.buried("a").await;
    let completed = || Act::Resolve(Verdict::Completed { result: None });
    let done = |act, by_filter| Deed { command_id: "a".into(), act, by_filter };
    let acted = async |deed| scene.store.act(vec![deed], ann()).await.unwrap().remove(0);
    assert_eq!(acted(done(completed(), false)).await, Acted::Archived, "nothing contradicts it");
    scene.report("a", ReceiptOutcome::Rejected).await;
    scene.report("b", ReceiptOutcome::Rejected).await;
    scene.advance(1);
    let none = [
        done(completed(), true),
        done(Act::Resolve(Verdict::NotDone), false),
        done(Act::Cancel, false),
        done(Act::Retry { may_act_twice: true }, false),
        done(Act::Redeliver { may_act_twice: true }, false),
    ];
    for deed in none {
        assert_eq!(acted(deed.clone()).await, Acted::Archived, "{deed:?}");
    }
    assert_eq!(scene.hands.acts().await, [""; 0]);
    let stays = Acted::Done { before: "completed", after: "completed" };
    assert_eq!(acted(done(Act::Resolve(Verdict::Rejected), false)).await, stays);
    assert_eq!(scene.hands.acts().await, ["resolve a by ann: looked"]);
    let story = scene.story("a").await;
    assert_eq!((story.contradicted, story.listed.state.as_str()), (false, "completed"));
    assert!(scene.story("b").await.contradicted, "nobody has looked into that one");
    assert_eq!(acted(done(completed(), false)).await, Acted::Archived, "once");
    scene.report("a", ReceiptOutcome::Rejected).await;
    assert_eq!(acted(done(completed(), false)).await, Acted::Archived, "the same words again");
    scene.advance(1);
    scene.report("a", ReceiptOutcome::Cancelled).await;
    assert!(scene.story("a").await.contradicted, "a report that says something new");
    scene.advance(1);
    assert_eq!(acted(done(completed(), false)).await, stays);
    assert_eq!(scene.hands.acts().await.len(), 2);
}

pub(super) async fn decisions_and_lanes_stay_sound<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let unnamed = |id: &str| {
        let key = OrderingKey::new("k").unwrap();
        counterfoil_core::domain::Command { id: None, ..command(id) }.ordering_key(key)
    };
    let event = Event::json("placed", &1).unwrap();
    let append = Append {
        stream: counterfoil_core::domain::Stream::new("o-1").unwrap(),
        expected_seq: 0,
        events: vec![event],
        commands: vec![unnamed("x"), unnamed("y"), unnamed("z")],
    };
    scene.store.append(append).await.unwrap().unwrap();
    for _ in 0..2 {
        let claimed = scene.claim().await;
        scene.settle(&claimed, completed()).await;
    }
    scene.advance(1);
    scene.last().await;
    let page = scene.ended(9).await;
    assert_eq!(ids(&page.entries), ["o-1:1:0", "o-1:1:1"]);
    assert_eq!(scene.bury(page.entries).await, [true, true]);
    scene.is_sound().await;
    let claimed = scene.claim().await;
    assert_eq!(claimed.command.command_id.as_str(), "o-1:1:2");
    assert_eq!(claimed.delivery.key_seq, Some(3), "its lane goes on");
}

pub(super) async fn tombstones_come_in_the_order_of_ids<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let names = ["b", "订单", "a", "Z", "a:1", "ä"];
    for id in names {
        scene.done(id).await;
    }
    scene.last().await;
    for id in names {
        scene.buried(id).await;
    }
    let sorted: BTreeSet<String> = names.iter().map(ToString::to_string).collect();
    for limit in [1, 4, 99] {
        let mut told: Vec<Tombstone> = Vec::new();
        loop {
            let after = told.last().map(|tomb| tomb.command_id.clone());
            let page = scene.store.tombstones(after.as_deref(), limit).await.unwrap();
            if page.is_empty() {
                break;
            }
            assert!(page.len() <= limit);
            told.extend(page);
        }
        let told: Vec<_> = told.into_iter().map(|tomb| tomb.command_id).collect();
        assert_eq!(told, sorted.iter().cloned().collect::<Vec<_>>(), "in pages of {limit}");
    }
    let asked = ["a", "none", "订单", "a"].map(String::from);
    let told = scene.store.tombstones_of(&asked).await.unwrap();
    let told: Vec<_> = told.iter().map(|it| it.as_ref().map(|it| it.command_id.as_str())).collect();
    assert_eq!(told, [Some("a"), None, Some("订单"), Some("a")]);
}

pub(super) async fn no_n_is_given_twice<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.done("a").await;
    scene.done("b").await;
    let newest = scene.store.facts(FactsFrom::default(), 9).await.unwrap().commands[1].n;
    let page = scene.ended(9).await;
    let may_go = page.entries.len() as u64;
    assert_eq!(may_go + page.kept.newest, 2, "both ended long ago");
    scene.bury(page.entries).await;
    scene.enqueue("c").await;
    let facts = scene.store.facts(FactsFrom::default(), 9).await.unwrap().commands;
    assert!(facts.iter().find(|it| it.id == "c").unwrap().n > newest);
    scene.is_sound().await;
}

pub(super) async fn an_unreadable_one_is_counted<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, keyless()).await;
    let Some(_) = scene.hands.put_unreadable(SHOP).await else { return };
    scene.done("a").await;
    scene.last().await;
    let page = scene.ended(9).await;
    assert_eq!(ids(&page.entries), ["a"], "what cannot be read parks itself, and has not ended");
    assert_eq!(page.kept.contradicted, 0);
}

pub(super) async fn a_seal_that_moved_stops_a_burial<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.done("a").await;
    scene.done("b").await;
    scene.last().await;
    let seal = |version| Some(SealChange { version, seal: format!("after {version}") });
    let (a, b) = (vec![scene.entry("a").await], vec![scene.entry("b").await]);
    let moved = scene.store.bury(FILE, a.clone(), seal(7)).await.unwrap();
    assert_eq!(moved, Buried::SealMoved);
    assert!(scene.tombstone("a").await.is_none());
    let done = scene.store.bury(FILE, a, seal(0)).await.unwrap();
    assert_eq!(done, Buried::Done(vec![true]));
    let moved = scene.store.bury(FILE, b.clone(), seal(0)).await.unwrap();
    assert_eq!(moved, Buried::SealMoved, "the burial before wrote one");
    assert!(scene.tombstone("b").await.is_none());
    let done = scene.store.bury(FILE, b, seal(1)).await.unwrap();
    assert_eq!(done, Buried::Done(vec![true]));
}

pub(super) async fn buriers_at_once_bury_each_once<H: Hands<Store: Archive>>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    for at in 0..20 {
        scene.done(&format!("c-{at:02}")).await;
    }
    scene.last().await;
    let entries = scene.ended(99).await.entries;
    assert_eq!(entries.len(), 20);
    let mut buriers = Vec::new();
    for name in ["one", "two", "three"] {
        let (store, entries) = (scene.store.clone(), entries.clone());
        buriers.push(tokio::spawn(async move {
            let mut buried = 0;
            for some in entries.chunks(3) {
                match store.bury(name, some.to_vec(), None).await.unwrap() {
                    Buried::Done(done) => buried += done.iter().filter(|done| **done).count(),
                    Buried::SealMoved => panic!("no seal was given"),
                }
            }
            (name, buried)
        }));
    }
    let mut by_file = std::collections::BTreeMap::new();
    for burier in buriers {
        let (name, buried) = burier.await.unwrap();
        by_file.insert(name.to_owned(), buried);
    }
    // Who met another's lock may have left one; it is nobody's then, and goes next time.
    let rest = scene.bury(entries).await.into_iter().filter(|buried| *buried).count();
    by_file.insert(FILE.to_owned(), rest);
    assert_eq!(by_file.values().sum::<usize>(), 20, "{by_file:?}");
    for tomb in scene.store.tombstones(None, 99).await.unwrap() {
        *by_file.get_mut(&tomb.file).unwrap() -= 1;
    }
    assert!(by_file.values().all(|left| *left == 0), "each names the file of who buried it");
    scene.is_sound().await;
}
