//! A command without a delivery waits for a person, and is never sent by itself.

use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::domain::{Micros, State};
use counterfoil_core::port::archive::Archive as _;
use counterfoil_core::port::seal::Audited as _;
use counterfoil_core::port::{Act, Acted, Store as _};

use super::scene::{Books, ann, command, in_lane};

async fn lose(books: &Books, ids: &str) {
    let sql = format!(
        "DELETE FROM cf.delivery WHERE n IN (SELECT n FROM cf.outbox WHERE command_id IN ({ids}))"
    );
    books.schema.forger().await.run(&sql).await.unwrap();
}

async fn mend(books: &Books, ids: &[&str]) -> u64 {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    books.store.mend(&ids, ann()).await.unwrap()
}

async fn places(books: &Books) -> String {
    let places = "SELECT string_agg(o.command_id || coalesce(d.key_seq, r.key_seq), ' ' ORDER BY n)
        FROM cf.outbox o LEFT JOIN cf.delivery d USING (n) LEFT JOIN cf.receipt r USING (n)";
    books.sql.text(places).await.unwrap()
}

#[tokio::test]
async fn what_is_lost_is_uncertain_and_in_doubt() {
    let books = Books::new().await;
    books.reported(&["ended"]).await;
    for id in ["lost", "open"] {
        books.enqueue(command(id)).await;
    }
    lose(&books, "'lost'").await;
    let n = books.sql.number("SELECT n FROM cf.outbox WHERE command_id = 'lost'").await;
    let attempt = format!(
        "INSERT INTO cf.attempt(n, round, token, purpose, outcome, ended_at)
         VALUES ({n}, 1, 70, 'send', 'unknown', 1764421200000000)"
    );
    books.schema.forger().await.run(&attempt).await.unwrap();
    assert_eq!(mend(&books, &["ended", "open", "never", "a\0"]).await, 0);
    assert_eq!(mend(&books, &["ended", "lost", "lost", "open"]).await, 1);
    assert_eq!(mend(&books, &["lost"]).await, 0);
    books.is_sound().await;
    let story = books.store.show("lost").await.unwrap().unwrap();
    let open = story.delivery.unwrap();
    assert_eq!((open.state, open.in_doubt, open.available_at), (State::Uncertain, true, None));
    assert!(open.round == 1 && open.token.get() > story.listed.recorded_at.get(), "{open:?}");
    assert_eq!(open.first_sent_at, Some(story.listed.recorded_at), "at the earliest");
    assert!(open.last_lease_until.unwrap() > Micros::EARLIEST, "it may be on its way");
    assert!(open.last_outcome.unwrap().contains("lost"));
    let act = &story.actions[0];
    assert_eq!((&*act.what, &*act.outcome, &*act.reason), ("mend", "ann", "she looked"));
    let acts = books.store.actions(0, 9).await.unwrap();
    assert_eq!((acts.len(), acts[0].after.as_deref()), (1, Some("uncertain")));
    // Nobody sends it, and a person ends it.
    books.drained().await;
    assert_eq!(books.store.show("lost").await.unwrap().unwrap().listed.state, "uncertain");
    let verdict = Verdict::Completed { result: None };
    assert!(matches!(books.act("lost", Act::Resolve(verdict)).await, Acted::Done { .. }));
    books.is_sound().await;
    books.buried("lost").await;
}

#[tokio::test]
async fn in_a_lane_it_takes_the_place_that_it_left() {
    let books = Books::new().await;
    for id in ["a", "b", "c", "d", "e"] {
        books.enqueue(in_lane(id)).await;
    }
    books.sql.run("SELECT cf.complete('a')").await.unwrap();
    lose(&books, "'b', 'd', 'e'").await;
    assert_eq!(mend(&books, &["e", "d", "b"]).await, 3);
    assert_eq!(places(&books).await, "a1 b2 c3 d4 e5");
    books.is_sound().await;
    // The lane stands behind its parked head until a person has looked.
    for id in ["b", "d", "e"] {
        books.act(id, Act::Resolve(Verdict::Completed { result: None })).await;
    }
    books.store.sweep(9, None).await.unwrap();
    books.drained().await;
    assert_eq!(books.count("delivery").await, 0);
    books.is_sound().await;
}

#[tokio::test]
async fn where_the_lane_was_lost_too_it_begins_anew() {
    let books = Books::new().await;
    for id in ["a", "b", "c"] {
        books.enqueue(in_lane(id)).await;
    }
    lose(&books, "'a', 'c'").await;
    books.schema.forger().await.run("DELETE FROM cf.lane").await.unwrap();
    assert_eq!(mend(&books, &["a", "c"]).await, 2);
    assert_eq!(places(&books).await, "a1 b2 c3");
    books.is_sound().await;
    books.enqueue(in_lane("next")).await;
    assert_eq!(places(&books).await, "a1 b2 c3 next4");
    books.is_sound().await;
}

/// Archived ones leave gaps of their own.
#[tokio::test]
async fn a_place_is_behind_those_that_were_recorded_before() {
    let books = Books::new().await;
    for id in ["a", "b", "c", "d"] {
        books.enqueue(in_lane(id)).await;
    }
    books.sql.run("SELECT cf.complete('a'), cf.complete('b')").await.unwrap();
    books.buried("a").await;
    lose(&books, "'c'").await;
    assert_eq!(mend(&books, &["c"]).await, 1);
    assert_eq!(places(&books).await, "b2 c3 d4");
    books.is_sound().await;
    assert_eq!(books.store.entry("c").await.unwrap(), None);
}
