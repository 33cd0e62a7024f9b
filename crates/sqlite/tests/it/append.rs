//! Decisions: what they refuse, and that they leave nothing behind then.

use counterfoil_core::domain::{Command, Event, Stream};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::{Append, WriteRefused};
use rusqlite::Connection;

use crate::store::{command, fresh};

fn decision(expected_seq: i64) -> Append {
    Append {
        stream: Stream::new("订单-1").unwrap(),
        expected_seq,
        events: vec![Event::json("paid", &1).unwrap()],
        commands: vec![Command::unnamed("shipping", "ship", &3).unwrap(); 3],
    }
}

#[tokio::test]
async fn a_taken_id_takes_back_the_commands_before_it() {
    let (folder, store) = fresh();
    // The last of three: two were inserted before it was seen.
    store.enqueue(vec![command("订单-1:1:2")]).await.unwrap();
    let taken = store.append(decision(0)).await.unwrap().unwrap_err();
    assert_eq!(taken, WriteRefused::Conflict { id: "订单-1:1:2".into() });
    let stranger = Connection::open(folder.path().join("s.db")).unwrap();
    for (table, stand) in [("outbox", 1), ("delivery", 1), ("event", 0)] {
        let sql = format!("SELECT count(*) FROM counterfoil_{table}");
        let found: i64 = stranger.query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(found, stand, "{table}");
    }
    let mut next = decision(0);
    next.commands.truncate(2);
    store.append(next).await.unwrap().unwrap();
    assert!(store.known(&["订单-1:1:1".into()]).await.unwrap()[0]);
}

#[tokio::test]
async fn a_cause_stands_once() {
    let (_folder, store) = fresh();
    let caused = |expected_seq, cause: &str| {
        let mut append = decision(expected_seq);
        append.events[0].cause = Some(cause.into());
        append
    };
    store.append(caused(0, "signal-1")).await.unwrap().unwrap();
    let again = store.append(caused(1, "signal-1")).await.unwrap().unwrap_err();
    assert!(matches!(again, WriteRefused::CauseTaken { .. }), "{again}");
    let mut twice = caused(1, "signal-2");
    twice.events.push(twice.events[0].clone());
    let twice = store.append(twice).await.unwrap().unwrap_err();
    assert!(matches!(twice, WriteRefused::CauseTaken { .. }), "{twice}");
    let control = store.append(caused(1, "a\nb")).await.unwrap().unwrap_err();
    assert!(control.to_string().contains("cause"), "{control}");
}

#[tokio::test]
async fn an_archived_id_is_taken_too() {
    let (folder, store) = fresh();
    let (own, _) = counterfoil_sqlite::open_own(&folder.path().join("s.db")).unwrap();
    own.execute_batch(
        "INSERT INTO counterfoil_archived(command_id, destination, kind, ordering_key, \
         digest, outcome, rounds, file) VALUES \
         ('订单-1:1:1', 'shipping', 'ship', NULL, x'00', 'completed', 1, 'f')",
    )
    .unwrap();
    let taken = store.append(decision(0)).await.unwrap().unwrap_err();
    assert_eq!(taken, WriteRefused::Conflict { id: "订单-1:1:1".into() });
}

#[tokio::test]
async fn an_archived_stream_goes_on_from_its_head() {
    let (folder, store) = fresh();
    let (own, _) = counterfoil_sqlite::open_own(&folder.path().join("s.db")).unwrap();
    own.execute("INSERT INTO counterfoil_stream(stream, head) VALUES ('订单-1', 7)", []).unwrap();
    let stale = store.append(decision(0)).await.unwrap().unwrap_err();
    assert!(matches!(stale, WriteRefused::VersionConflict { actual: 7, .. }), "{stale}");
    assert_eq!(store.append(decision(7)).await.unwrap().unwrap().seq, 8);
}

#[tokio::test]
async fn a_decision_needs_an_event_and_bodies_within_bounds() {
    let (_folder, store) = fresh();
    let empty = Append { events: Vec::new(), ..decision(0) };
    let refused = store.append(empty).await.unwrap().unwrap_err();
    assert!(matches!(refused, WriteRefused::NoEvent { .. }), "{refused}");
    let mut large = decision(0);
    large.events[0].body = vec![b'x'; 1_048_577];
    let refused = store.append(large).await.unwrap().unwrap_err();
    assert!(refused.to_string().contains("body_bytes_max"), "{refused}");
    assert_eq!(store.load(&Stream::new("订单-1").unwrap(), 0, 9).await.unwrap(), []);
}

/// A rule of the user's own stops the decision after its commands were inserted.
#[tokio::test]
async fn a_decision_whose_event_fails_leaves_no_command() {
    let (folder, store) = fresh();
    let stranger = Connection::open(folder.path().join("s.db")).unwrap();
    let once = "CREATE UNIQUE INDEX mine ON counterfoil_event(kind)";
    stranger.execute_batch(once).unwrap();
    store.append(decision(0)).await.unwrap().unwrap();
    store.append(decision(1)).await.unwrap_err();
    let commands = "SELECT (SELECT count(*) FROM counterfoil_outbox), \
                    (SELECT sum(commands) FROM counterfoil_event)";
    let counts = stranger.query_row(commands, [], |row| Ok((row.get(0)?, row.get(1)?)));
    assert_eq!(counts.unwrap(), (3, 3));
}

/// Whatever moment a reader takes, each event stands there with all of its commands.
#[test]
fn no_snapshot_shows_a_decision_in_part() {
    let (folder, store) = fresh();
    let stranger = Connection::open(folder.path().join("s.db")).unwrap();
    let differ = "SELECT (SELECT count(*) FROM counterfoil_outbox) \
                  - (SELECT total(commands) FROM counterfoil_event)";
    let mut differ = stranger.prepare(differ).unwrap();
    std::thread::scope(|scope| {
        let deciding = scope.spawn(|| {
            for seq in 0..100 {
                store.append_blocking(decision(seq)).unwrap().unwrap();
            }
        });
        while !deciding.is_finished() {
            let differ: f64 = differ.query_row([], |row| row.get(0)).unwrap();
            assert!(differ.abs() < 0.5, "{differ} commands without their event");
        }
    });
}
