//! What a tombstone answers: to repeats, to late words, to people.

use counterfoil_core::audit::{AuditOptions, How, audit_sealed};
use counterfoil_core::domain::transition::{Report, Verdict};
use counterfoil_core::domain::{Command, Outcome, ReceiptOutcome};
use counterfoil_core::port::archive::{Archive as _, Tombstone};
use counterfoil_core::port::store::{Recorded, Reported, Settled, WriteRefused};
use counterfoil_core::port::{Act, Acted, Store as _};
use counterfoil_sqlite::{Outbox as _, open_own};
use rusqlite::Connection;

use crate::archive::{REDELIVER, act, broken, bury, completed_shop, id, rejected};
use crate::store::{claim, command, completed, settle_all};

#[tokio::test]
async fn tombstones_are_paged_by_the_bytes_of_their_ids() {
    let (_folder, store) = completed_shop(&["b", "a", "ä", "Z"]).await;
    assert_eq!(bury(&store).await, 4);
    let of = |page: Vec<Tombstone>| page.into_iter().map(|one| one.command_id).collect::<Vec<_>>();
    assert_eq!(of(store.tombstones(None, 3).await.unwrap()), ["Z", "a", "b"]);
    assert_eq!(of(store.tombstones(Some("b"), 3).await.unwrap()), ["ä"]);
    let two = store.tombstones_of(&["never".into(), "a".into()]).await.unwrap();
    assert!(two[0].is_none() && two[1].is_some());
}

/// Its lossy id was the cursor of the next page, which was the same page again.
#[tokio::test]
async fn an_id_that_is_no_text_stops_no_audit() {
    let (folder, store) = completed_shop(&["a", "b", "c"]).await;
    assert_eq!(bury(&store).await, 3);
    let (own, _) = open_own(&folder.path().join("s.db")).unwrap();
    let spoil = "UPDATE counterfoil_archived SET command_id = CAST(x'ff41' AS TEXT) \
                 WHERE command_id = 'b'";
    assert_eq!(own.execute(spoil, []).unwrap(), 1);
    for page in [1, 2, 99] {
        let options = AuditOptions::default().page(page);
        let report = audit_sealed(&store, options, How::default().full()).await.unwrap();
        let changed = report.violations.iter().filter(|found| found.code == "CF0828");
        let ids: Vec<_> = changed.map(|found| found.ids.clone()).collect();
        assert_eq!(ids, [["\u{1a}ffA"]], "in pages of {page}: {:#?}", report.violations);
        assert_eq!(report.checked.archived, 3);
    }
}

#[tokio::test]
async fn a_repeat_of_an_archived_id_is_compared_by_its_digest() {
    let (folder, store) = completed_shop(&["a"]).await;
    assert_eq!(bury(&store).await, 1);
    let other = Command::json("a", "shipping", "order.paid", &1).unwrap();
    let conflict = WriteRefused::Conflict { id: "a".into() };
    let answers = store.enqueue(vec![command("a"), other.clone()]).await.unwrap();
    assert_eq!(answers, [Ok(Recorded::Repeated), Err(conflict)]);
    let user = Connection::open(folder.path().join("s.db")).unwrap();
    user.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(user.enqueue(&command("a")).unwrap(), Recorded::Repeated);
    assert!(user.enqueue(&other).unwrap_err().to_string().contains('a'));
    let sql = "INSERT INTO counterfoil_outbox(command_id, destination, kind, body) \
               VALUES ('a', 'shipping', 'order.paid', '{\"order\":\"a\"}')";
    for verb in ["INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE"] {
        let refused = user.execute(&sql.replacen("INSERT", verb, 1), []).unwrap_err();
        assert!(refused.to_string().contains("CF0103"), "{verb}: {refused}");
    }
    user.execute_batch("COMMIT").unwrap();
    assert_eq!(store.known(&["a".into()]).await.unwrap(), [true]);
    for table in ["archived", "seal", "receipt", "attempt", "outbox"] {
        let gone = user.execute(&format!("DELETE FROM counterfoil_{table}"), []);
        let gone = gone.map_or_else(|error| error.to_string(), |rows| format!("{rows} rows"));
        assert!(gone.contains("CF01") || gone == "0 rows", "{table}: {gone}");
    }
    assert_eq!(broken(&store).await, [""; 0]);
}

#[tokio::test]
async fn a_late_word_about_an_archived_command_is_heard() {
    let (folder, store) = completed_shop(&["a", "b"]).await;
    store.enqueue(vec![command("c")]).await.unwrap();
    let frozen = store.exchange(claim(9)).await.unwrap().claimed;
    for late in ["open", "c"] {
        store.report(&id(late), rejected("no")).await.unwrap();
    }
    store.enqueue(vec![command("last")]).await.unwrap();
    assert_eq!(bury(&store).await, 4);
    let same = Report { outcome: ReceiptOutcome::Completed, ..rejected("yes") };
    assert_eq!(store.report(&id("a"), same).await.unwrap(), Reported::Repeated);
    assert_eq!(store.report(&id("a"), rejected("no")).await.unwrap(), Reported::Contradiction);
    let story = store.show("a").await.unwrap().unwrap();
    assert!(story.archived && story.contradicted);
    let user = Connection::open(folder.path().join("s.db")).unwrap();
    let view = "INSERT INTO counterfoil_report(command_id, outcome) VALUES ('b', ?1)";
    for outcome in ["completed", "rejected"] {
        user.execute(view, [outcome]).unwrap();
    }
    assert!(store.show("b").await.unwrap().unwrap().contradicted);
    // A relay that was frozen since before: what its receiver did was rejected here.
    let settled = settle_all(&store, &frozen, completed()).await.settled;
    assert_eq!(settled, [Settled::Contradicted, Settled::Contradicted]);
    assert!(store.show("c").await.unwrap().unwrap().contradicted);
    let unsure = settle_all(&store, &frozen, Outcome::unknown("reset")).await.settled;
    assert!(unsure.iter().all(|one| matches!(one, Settled::Ignored(_))), "{unsure:?}");
    assert_eq!(broken(&store).await, [""; 0], "no attempt without its command");
}

#[tokio::test]
async fn people_are_told_that_it_is_archived() {
    let (_folder, store) = completed_shop(&["a"]).await;
    assert_eq!(bury(&store).await, 1);
    let verdict = Verdict::Rejected;
    let acts = [REDELIVER, Act::Retry { may_act_twice: true }, Act::Cancel, Act::Resolve(verdict)];
    for verb in acts {
        assert_eq!(act(&store, "a", verb.clone()).await, Acted::Archived, "{verb:?}");
    }
}
