//! The door while an archive moves an id from the outbox into its own table.

use counterfoil_core::domain::Command;
use counterfoil_core::port::store::{Recorded, WriteRefused};
use counterfoil_postgres::{EnqueueError, Outbox as _, OutboxSql};
use tokio_postgres::IsolationLevel;

use crate::server::{TestSchema, wait_for_lock};

/// What an archive does with the command `a` of the body `one`, in one transaction.
const MOVES: &str = "DELETE FROM cf.delivery; DELETE FROM cf.outbox WHERE command_id = 'a';
    INSERT INTO cf.archived(rounds, command_id, destination, kind, outcome, file, digest)
    VALUES (1, 'a', 'shipping', 'order.paid', 'completed', 'f', sha256('one'))";

fn command(body: &str) -> Command {
    Command::bytes("a", "shipping", "order.paid", body.as_bytes().to_vec()).unwrap()
}

/// Whoever waits for the archive could insert the id, and finds it archived.
#[tokio::test]
async fn an_id_that_is_archived_meanwhile_is_compared_and_nothing_is_written() {
    for (body, wanted) in [("one", Some(Recorded::Repeated)), ("two", None)] {
        let schema = TestSchema::new().await;
        let (archive, mut user) = (schema.forger().await, schema.stranger().await);
        let sql = OutboxSql::of_schema(schema.name());
        user.run("SELECT cf.enqueue('a', 'shipping', 'order.paid', 'one')").await.unwrap();
        archive.run(&format!("BEGIN; {MOVES}")).await.unwrap();
        let order = user.client.transaction().await.unwrap();
        let twin = command(body);
        let (said, ()) = tokio::join!(async { sql.on(&order).enqueue(&twin).await }, async {
            wait_for_lock(&archive).await;
            archive.run("COMMIT").await.unwrap();
        });
        match wanted {
            Some(wanted) => assert_eq!(said.unwrap(), wanted),
            None => {
                assert!(matches!(said, Err(EnqueueError::Refused(WriteRefused::Conflict { .. }))));
            }
        }
        order.commit().await.unwrap();
        for table in ["outbox", "delivery"] {
            assert_eq!(user.number(&format!("SELECT count(*) FROM cf.{table}")).await, 0);
        }
    }
}

/// Above READ COMMITTED one sees what stood at the beginning: there it is no new intent either.
#[tokio::test]
async fn an_old_snapshot_records_no_archived_id_anew() {
    for isolation in [IsolationLevel::RepeatableRead, IsolationLevel::Serializable] {
        let schema = TestSchema::new().await;
        let (archive, mut user) = (schema.forger().await, schema.stranger().await);
        let sql = OutboxSql::of_schema(schema.name());
        user.run("SELECT cf.enqueue('a', 'shipping', 'order.paid', 'one')").await.unwrap();
        let builder = user.client.build_transaction().isolation_level(isolation);
        let order = builder.start().await.unwrap();
        order.query("SELECT 1", &[]).await.unwrap();
        archive.run(&format!("BEGIN; {MOVES}; COMMIT")).await.unwrap();
        let said = sql.on(&order).enqueue(&command("one")).await.unwrap();
        assert_eq!(said, Recorded::Repeated);
        order.commit().await.unwrap();
        assert_eq!(user.number("SELECT count(*) FROM cf.outbox").await, 0);
    }
}
