//! A command that lost its delivery: it becomes uncertain, never pending, and every law holds
//! again.

use counterfoil_core::domain::{OrderingKey, Outcome, State};
use counterfoil_core::port::store::Settled;
use counterfoil_core::port::{Act, Acted, Actor, Audited as _, Store as _};
use counterfoil_sqlite::{SqliteStore, open_own};
use tempfile::TempDir;

use crate::archive::{act, ann, broken, bury, end_as, shop};
use crate::store::{claim, command, completed, settle_all};

fn lose(folder: &TempDir, sql: &str) {
    open_own(&folder.path().join("s.db")).unwrap().0.execute_batch(sql).unwrap();
}

async fn mend(store: &SqliteStore, ids: &[&str]) -> u64 {
    let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    store.mend(&ids, ann()).await.unwrap()
}

#[tokio::test]
async fn a_lost_command_becomes_uncertain_and_nothing_is_sent() {
    let (folder, store) = shop().await;
    store.enqueue(["lost", "open", "done"].map(command).to_vec()).await.unwrap();
    let claimed = store.exchange(claim(1)).await.unwrap().claimed;
    lose(&folder, "DELETE FROM counterfoil_delivery WHERE n = 1");
    assert_eq!(broken(&store).await, ["CF0804", "CF0820"]);
    assert_eq!(mend(&store, &["lost", "lost", "open", "never"]).await, 1);
    assert_eq!(broken(&store).await, [""; 0]);
    assert_eq!(mend(&store, &["lost"]).await, 0, "once");
    let story = store.show("lost").await.unwrap().unwrap();
    let delivery = story.delivery.as_ref().unwrap();
    assert_eq!((delivery.state, delivery.in_doubt, delivery.round), (State::Uncertain, true, 1));
    assert_eq!(delivery.available_at, None, "no machine looks at it");
    assert!(delivery.last_outcome.as_ref().unwrap().starts_with("mended: "));
    assert_eq!(delivery.first_sent_at, Some(story.listed.recorded_at), "as early as can be");
    assert!(delivery.token > claimed[0].delivery.token, "whoever holds a lease settles late");
    let told = &story.actions[0];
    assert_eq!((told.what.as_str(), told.outcome.as_str()), ("mend", "ann"));
    let act = store.actions(0, 9).await.unwrap().remove(0);
    let (before, after) = (act.before.as_deref(), act.after.as_deref());
    assert_eq!(
        (before, after, act.reason.as_deref()),
        (Some("missing"), Some("uncertain"), Some("on request"))
    );
    let nobody = Actor { name: String::new(), reason: String::new() };
    assert!(store.mend(&["lost".into()], nobody).await.is_err());
    // The attempt that was under way all the time: its word ends it.
    let settled = settle_all(&store, &claimed, completed()).await.settled;
    assert_eq!(settled, [Settled::Ended("completed")]);
    assert_eq!(broken(&store).await, [""; 0]);
}

#[tokio::test]
async fn what_has_ended_or_is_archived_is_not_mended() {
    let (_folder, store) = shop().await;
    crate::archive::complete(&store, &["gone", "ended"]).await;
    store.enqueue(vec![command("open")]).await.unwrap();
    assert_eq!(bury(&store).await, 2);
    crate::archive::complete(&store, &["ended-2"]).await;
    assert_eq!(mend(&store, &["gone", "ended", "ended-2", "open"]).await, 0);
    assert_eq!(store.actions(0, 9).await.unwrap(), []);
}

/// Each act that began a round is counted, so that the round is one that may be.
#[tokio::test]
async fn a_later_round_stays_one() {
    let (folder, store) = shop().await;
    store.enqueue(vec![command("a"), command("open")]).await.unwrap();
    end_as(&store, Outcome::Conflict { reason: "other content".into() }).await;
    let again = act(&store, "a", Act::Retry { may_act_twice: false }).await;
    assert!(matches!(again, Acted::Done { .. }), "{again:?}");
    lose(&folder, "DELETE FROM counterfoil_delivery WHERE n = 1");
    assert_eq!(mend(&store, &["a"]).await, 1);
    assert_eq!(store.show("a").await.unwrap().unwrap().listed.round, 2);
    assert_eq!(broken(&store).await, [""; 0]);
    let again = act(&store, "a", Act::Retry { may_act_twice: true }).await;
    assert!(matches!(again, Acted::Done { .. }), "{again:?}");
    assert_eq!(broken(&store).await, [""; 0]);
}

async fn lane() -> (TempDir, SqliteStore) {
    let (folder, store) = shop().await;
    let key = || OrderingKey::new("A").unwrap();
    let lane: Vec<_> = (1..=6).map(|i| command(&format!("l{i}")).ordering_key(key())).collect();
    store.enqueue(lane).await.unwrap();
    (folder, store)
}

async fn place(store: &SqliteStore, id: &str) -> i64 {
    store.show(id).await.unwrap().unwrap().delivery.unwrap().key_seq.unwrap()
}

#[tokio::test]
async fn in_a_lane_it_gets_the_place_that_it_had() {
    let (folder, store) = lane().await;
    end_as(&store, completed()).await;
    lose(&folder, "DELETE FROM counterfoil_delivery WHERE n IN (3, 4, 6)");
    assert_eq!(mend(&store, &["l4"]).await, 1, "the one before it is lost, too");
    assert_eq!(mend(&store, &["l6", "l3"]).await, 2);
    for (id, at) in [("l3", 3), ("l4", 4), ("l6", 6)] {
        assert_eq!(place(&store, id).await, at, "{id}");
    }
    assert_eq!(broken(&store).await, [""; 0]);
    // What waits for a person holds up those behind it, and those before it go on.
    end_as(&store, completed()).await;
    let status = store.status().await.unwrap();
    assert_eq!(status.blocked[0].waiting, 1, "{:?}", status.blocked);
    assert_eq!(broken(&store).await, [""; 0]);
}

#[tokio::test]
async fn in_a_lane_of_which_some_are_archived_it_stays_in_order() {
    let (folder, store) = lane().await;
    end_as(&store, completed()).await;
    end_as(&store, completed()).await;
    assert_eq!(bury(&store).await, 2);
    lose(&folder, "DELETE FROM counterfoil_delivery WHERE n = 4");
    assert_eq!(mend(&store, &["l4"]).await, 1);
    assert!(place(&store, "l4").await > 3 && place(&store, "l4").await < 5);
    assert_eq!(broken(&store).await, [""; 0]);
}

#[tokio::test]
async fn where_no_place_is_left_nothing_is_made_up() {
    let (folder, store) = lane().await;
    lose(
        &folder,
        "DELETE FROM counterfoil_delivery WHERE n = 4;
         UPDATE counterfoil_delivery SET key_seq = 4 WHERE n = 5;",
    );
    assert_eq!(mend(&store, &["l4"]).await, 0);
    assert!(broken(&store).await.contains(&"CF0804"), "it is told until the lane is put right");
    let (folder, store) = lane().await;
    lose(&folder, "DELETE FROM counterfoil_delivery WHERE n = 6; DELETE FROM counterfoil_lane;");
    assert_eq!(mend(&store, &["l6"]).await, 0);
    assert_eq!(store.actions(0, 9).await.unwrap(), []);
}
