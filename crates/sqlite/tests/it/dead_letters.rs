//! Rows that a hand wrote and no relay can send: each parks by itself, by its own reason.

use std::sync::Arc;

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::{Command, Destination, Kind, OrderingKey, Outcome, State, Terms};
use counterfoil_core::port::store::{Exchange, Settled};
use counterfoil_core::port::{Announce, Store as _};
use counterfoil_sqlite::{Options, SqliteStore};

use crate::guards::Fixture;
use crate::store::{claim, command, declare, settle, shipping, terms};

/// Id, kind, body, content type and ordering key, as SQL; the state; and what the reason says.
const ROWS: [(&str, &str, &str); 7] = [
    ("CAST(x'ff41' AS TEXT), 'k', 'b', 'text/plain', NULL", "pending", "UTF-8"),
    ("'a' || char(10), 'k', 'b', 'text/plain', NULL", "pending", "control character"),
    ("'', 'k', 'b', 'text/plain', NULL", "pending", "empty"),
    ("'kind', 'k' || char(7), 'b', 'text/plain', NULL", "pending", "control character"),
    ("'long', 'k', zeroblob(101), 'text/plain', NULL", "pending", "101 bytes"),
    ("'type', 'k', 'b', CAST(x'fe' AS TEXT), NULL", "pending", "content_type is not UTF-8"),
    ("'state', 'k', 'b', 'text/plain', NULL", "lost", "\"lost\" is none"),
];

fn announce() -> Option<Announce> {
    let (destination, kind) = (Destination::new("ops").unwrap(), Kind::new("alert").unwrap());
    Some(Announce { destination, kind })
}

/// So many settles are several writes, each of which announces what it parks.
#[tokio::test]
async fn three_hundred_at_once_make_three_hundred_alerts() {
    let fixture = Fixture::empty();
    let store = SqliteStore::open(&fixture.path, Options::default()).unwrap();
    declare(&store).await;
    let ids: Vec<_> = (0..300).map(|at| format!("c-{at}")).collect();
    store.enqueue(ids.iter().map(|id| command(id)).collect()).await.unwrap();
    let mut claimed = Vec::new();
    while claimed.len() < ids.len() {
        claimed.extend(store.exchange(claim(300)).await.unwrap().claimed);
    }
    let refused = || Outcome::Conflict { reason: "another body".into() };
    let settles = claimed.iter().map(|claimed| settle(claimed, refused())).collect();
    let exchange = Exchange { settles, announce: announce(), ..Exchange::default() };
    let settled = store.exchange(exchange).await.unwrap().settled;
    let parked =
        settled.iter().filter(|one| matches!(one, Settled::Open(state) if state.is_parked()));
    let parked = parked.count().to_string();
    let alerts = "SELECT CAST(count(*) AS TEXT) FROM counterfoil_outbox WHERE kind = 'alert'";
    assert_eq!((parked.as_str(), fixture.text(alerts).as_str()), ("300", "300"));
}

#[tokio::test]
async fn each_parks_alone_with_its_own_reason_and_alert() {
    let fixture = Fixture::empty();
    let store = SqliteStore::open(&fixture.path, Options::default().body_bytes_max(100)).unwrap();
    declare(&store).await;
    for ((row, state, _), n) in ROWS.iter().zip(1..) {
        fixture
            .own
            .execute_batch(&format!(
                "INSERT INTO counterfoil_outbox(command_id, kind, body, content_type, ordering_key,
                   n, destination) VALUES ({row}, {n}, 'shipping');
                 INSERT INTO counterfoil_delivery(n, destination, state, available_at)
                   VALUES ({n}, 'shipping', '{state}', 1764421200000000 + {n});"
            ))
            .unwrap();
    }
    let orphan = "INSERT INTO counterfoil_delivery(n, destination, state, available_at)
                  VALUES (100, 'shipping', 'pending', 1764421200000008)";
    fixture.own.execute_batch(orphan).unwrap();
    fixture.ok("INSERT INTO counterfoil_outbox(command_id, destination, kind, body)
                VALUES ('good', 'shipping', 'k', 'b')");
    let looking = Exchange { announce: announce(), ..claim(3) };
    let looked = store.exchange(looking).await.unwrap();
    assert_eq!(looked.claimed.len(), 1, "the good one is not held up");
    let reasons: Vec<_> = looked.parked.iter().map(|parked| parked.reason.as_str()).collect();
    assert_eq!(reasons.len(), 8, "{reasons:?}");
    let wanted = ROWS.iter().map(|row| row.2).chain(["its outbox row is missing"]);
    for (reason, wanted) in reasons.iter().zip(wanted) {
        assert!(reason.contains(wanted), "{reason} does not say {wanted}");
    }
    let states: Vec<_> = looked.parked.iter().map(|parked| parked.state).collect();
    assert_eq!(states[..6], [State::Dead; 6], "what was never sent is in no doubt");
    assert_eq!(states[6], State::Uncertain, "a state that is none may have been a send");
    let alerts = "SELECT CAST(count(*) AS TEXT) FROM counterfoil_outbox WHERE kind = 'alert'";
    assert_eq!(fixture.text(alerts), "8");
    let again = store.exchange(claim(9)).await.unwrap();
    assert_eq!((again.claimed.len(), again.parked.len()), (0, 0));
}

/// A head that cannot be read is in the way of its lane as any other that is parked, no longer.
#[tokio::test]
async fn an_unreadable_head_gives_its_turn_on_as_the_contract_says() {
    for (on_parked, then) in [(OnParked::Skip, &["next"][..]), (OnParked::Block, &[])] {
        let fixture = Fixture::empty();
        let writer = SqliteStore::open(&fixture.path, Options::default()).unwrap();
        let limit = Options::default().body_bytes_max(100);
        let store = SqliteStore::open(&fixture.path, limit).unwrap();
        let mut terms = Terms::clone(&terms());
        terms.contract.on_parked = on_parked;
        store.declare(&shipping(), &terms.contract, false).await.unwrap();
        let key = OrderingKey::new("k").unwrap();
        let long = Command::json("long", "shipping", "k", &"x".repeat(200)).unwrap();
        let two = [long, command("next")].map(|one| one.ordering_key(key.clone()));
        assert!(writer.enqueue(two.into()).await.unwrap().iter().all(Result::is_ok));
        let mut looking = claim(3);
        looking.claim_from[0].terms = Arc::new(terms);
        let looked = store.exchange(looking.clone()).await.unwrap();
        assert_eq!(looked.parked.len(), 1, "{looked:?}");
        let again = store.exchange(looking).await.unwrap();
        let claimed = looked.claimed.iter().chain(&again.claimed);
        let claimed: Vec<_> = claimed.map(|one| one.command.command_id.as_str()).collect();
        assert_eq!(claimed, then, "{on_parked:?}");
    }
}
