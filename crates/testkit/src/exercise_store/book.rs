//! What the audit reads: facts page by page, events, totals, and the user's own queries.
//!
//! Guarantees: orphans are told, pages end. Does not: judge; the laws do.

use counterfoil_core::domain::laws::{CommandFacts, Totals};
use counterfoil_core::domain::{Command, Digest, Event, Kind, Outcome, ReceiptOutcome, Stream};
use counterfoil_core::port::Store;
use counterfoil_core::port::read::FactsFrom;
use counterfoil_core::port::store::{Append, StoreError};

use super::Hands;
use super::scene::{SHOP, Scene, command, completed, forever};

/// All facts, read in pages of `page`.
async fn facts<H: Hands>(scene: &Scene<H>, open_only: bool, page: usize) -> Vec<CommandFacts> {
    let mut all: Vec<CommandFacts> = Vec::new();
    loop {
        let n = all.last().map_or(i64::MIN, |facts| facts.n + 1);
        let facts = scene.store.facts(FactsFrom { n, open_only }, page).await.unwrap();
        assert!(facts.commands.len() <= page);
        assert!(facts.commands.iter().all(|facts| facts.n >= n), "pages go on");
        assert!(facts.last || !facts.commands.is_empty(), "a page that is not the last has rows");
        all.extend(facts.commands);
        if facts.last {
            return all;
        }
    }
}

fn named(all: &[CommandFacts]) -> Vec<&str> {
    all.iter().map(|facts| facts.id.as_str()).collect()
}

fn unnamed() -> Command {
    Command { id: None, ..command("x") }
}

fn append(stream: &str, expected_seq: i64, events: usize, commands: usize) -> Append {
    let event = Event { kind: Kind::new("placed").unwrap(), body: b"{}".to_vec(), cause: None };
    let stream = Stream::new(stream).unwrap();
    let (events, commands) = (vec![event; events], vec![unnamed(); commands]);
    Append { stream, expected_seq, events, commands }
}

pub(super) async fn facts_come_in_pages_by_rising_n<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    assert_eq!(facts(&scene, false, 3).await, []);
    let names: Vec<_> = (0..7).map(|at| format!("c-{at}")).collect();
    scene.store.enqueue(names.iter().map(|id| command(id)).collect()).await.unwrap();
    for page in [1, 3, 7, 100] {
        let all = facts(&scene, false, page).await;
        assert_eq!(named(&all), names, "in pages of {page}");
        assert!(all.windows(2).all(|pair| pair[0].n < pair[1].n));
    }
}

pub(super) async fn facts_of_open_commands_only<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.sent("done", completed()).await;
    scene.claimed("flying").await;
    scene.enqueue("waiting").await;
    assert_eq!(named(&facts(&scene, true, 1).await), ["flying", "waiting"]);
    assert_eq!(named(&facts(&scene, false, 2).await), ["done", "flying", "waiting"]);
}

pub(super) async fn facts_tell_all_that_stands<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let (claimed, _) = scene.sent("a", Outcome::unknown("500")).await;
    let open = facts(&scene, false, 9).await.remove(0);
    assert!(open.has_outbox && !open.erased && !open.archived && open.receipts.is_empty());
    assert_eq!(open.outbox.as_ref(), Some(&*claimed.command));
    let delivery = open.delivery.unwrap();
    assert_eq!((delivery.state_name.as_str(), delivery.destination.as_str()), ("pending", SHOP));
    assert!(delivery.delivery.in_doubt && delivery.delivery.first_sent_at.is_some());
    assert_eq!(delivery.digest, Some(claimed.digest), "kept when the attempt ended");
    assert_eq!(delivery.row_digest, Some(claimed.row_digest));
    let attempt = &open.attempts[0];
    assert_eq!((attempt.round, attempt.purpose.as_str()), (1, "send"));
    assert_eq!(attempt.outcome, "unknown");
    scene.report("a", ReceiptOutcome::Completed).await;
    let ended = facts(&scene, false, 9).await.remove(0);
    assert_eq!(ended.delivery, None);
    let receipt = &ended.receipts[0];
    assert_eq!((receipt.receipt.round, receipt.destination.as_str()), (1, SHOP));
    assert_eq!(receipt.digest, Some(claimed.digest), "a report keeps what the delivery knew");
    assert_eq!(receipt.row_digest, Some(claimed.row_digest));
    assert_eq!(receipt.receipt.token, claimed.delivery.token);
}

pub(super) async fn digests_come_from_what_was_sent<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let (claimed, _) = scene.sent("a", completed()).await;
    let ended = facts(&scene, false, 9).await.remove(0);
    let row = ended.outbox.unwrap();
    let digest = Digest::of(&row.body);
    assert_eq!(ended.receipts[0].digest, Some(digest));
    assert_eq!(ended.receipts[0].row_digest, Some(row.row_digest(digest)));
    assert_eq!(claimed.row_digest, row.row_digest(digest), "the row reads back as it was claimed");
}

pub(super) async fn facts_tell_orphans<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.sent("a", completed()).await;
    scene.sent("b", Outcome::not_sent("refused")).await;
    scene.hands.lose_outbox_row("a").await;
    scene.hands.lose_outbox_row("b").await;
    let all = facts(&scene, false, 1).await;
    assert_eq!(all.len(), 2, "what has no outbox row is told, too");
    assert!(all.iter().all(|facts| !facts.has_outbox && facts.outbox.is_none()));
    assert_eq!((all[0].receipts.len(), all[1].attempts.len()), (1, 1));
    assert_eq!(all[0].id, format!("n={}", all[0].n));
    assert!(all[1].delivery.is_some());
}

pub(super) async fn facts_tell_unreadable_rows<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let Some(bad) = scene.hands.put_unreadable(SHOP).await else { return };
    let facts = facts(&scene, false, 9).await.remove(0);
    assert_eq!(facts.id, bad);
    assert!(facts.has_outbox && facts.outbox.is_none() && facts.delivery.is_some());
}

pub(super) async fn event_facts_count_what_was_issued<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    for decision in [append("o-1", 0, 2, 2), append("o-2", 0, 1, 0), append("o-1", 2, 1, 1)] {
        scene.store.append(decision).await.unwrap().unwrap();
    }
    for page in [1, 2, 9] {
        let mut all = Vec::new();
        loop {
            let after = all.last().map(|facts: &counterfoil_core::domain::laws::EventFacts| {
                (facts.stream.clone(), facts.seq)
            });
            let facts = scene.store.event_facts(after, page).await.unwrap();
            if facts.is_empty() {
                break;
            }
            all.extend(facts);
            assert!(all.len() <= 4, "pages go on: {all:#?}");
        }
        let told: Vec<_> = all
            .iter()
            .map(|f| (f.stream.as_str(), f.seq, f.seq_before, f.commands, f.found))
            .collect();
        let expected =
            [("o-1", 1, 0, 0, 0), ("o-1", 2, 1, 2, 2), ("o-1", 3, 2, 1, 1), ("o-2", 1, 0, 0, 0)];
        assert_eq!(told, expected, "in pages of {page}");
    }
    scene.hands.lose_outbox_row("o-1:2:1").await;
    let facts = scene.store.event_facts(Some(("o-1".into(), 1)), 1).await.unwrap();
    assert_eq!((facts[0].commands, facts[0].found), (2, 1));
}

pub(super) async fn totals_count_rows_and_receipts<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.sent("a", completed()).await;
    scene.enqueue("b").await;
    scene.report("b", ReceiptOutcome::Rejected).await;
    scene.enqueue("c").await;
    scene.enqueue_to("d", "bank").await;
    let totals = scene.store.totals().await.unwrap();
    let of = |name: &str| totals.iter().find(|t| t.destination == name).cloned().unwrap();
    let shop = Totals { tally: of(SHOP).tally, ..of(SHOP) };
    assert_eq!((shop.outbox, shop.archived, shop.open), (3, 0, 1));
    let mut tally: Vec<_> =
        shop.tally.into_iter().filter(|(_, one, other)| one + other > 0).collect();
    tally.sort();
    assert_eq!(tally, [("completed".into(), 1, 1), ("rejected".into(), 1, 1)]);
    assert_eq!((of("bank").outbox, of("bank").open), (1, 1));
}

pub(super) async fn known_ids_are_told_from_others<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    scene.sent("done", completed()).await;
    scene.enqueue("订单").await;
    let asked = ["done", "never", "订单", "", "done"].map(String::from);
    let known = scene.store.known(&asked).await.unwrap();
    assert_eq!(known, [true, false, true, false, true]);
    assert_eq!(scene.store.known(&[]).await.unwrap(), [false; 0]);
}

pub(super) async fn the_users_query_is_read_in_pages<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let Some(sql) = scene.hands.query_of(&["a", "b", "c"]).await else { return };
    assert_eq!(scene.store.expected(&sql, 0, 2).await.unwrap(), ["a", "b"]);
    assert_eq!(scene.store.expected(&sql, 2, 2).await.unwrap(), ["c"]);
    assert_eq!(scene.store.expected(&sql, 3, 2).await.unwrap(), [""; 0]);
    let asked = ["b", "x", "c"].map(String::from);
    assert_eq!(scene.store.expected_has(&sql, &asked).await.unwrap(), [true, false, true]);
}

pub(super) async fn a_query_that_fails_is_told_in_words<H: Hands>(hands: H) {
    let scene = Scene::new(hands, forever()).await;
    let failed = scene.store.expected("SELEC nothing", 0, 2).await;
    assert!(matches!(failed, Err(StoreError::Broken(_))), "{failed:?}");
}
