//! A claim is durable before the first byte leaves, whatever the user's role says.

use std::time::Duration;

use counterfoil_core::domain::{Idempotent, Span};
use counterfoil_core::port::{Attempt, Store};
use counterfoil_postgres::{Options, PostgresStore};
use counterfoil_relay::transport::handler::{HandlerError, handler};
use tokio::sync::mpsc;

use super::scene::{AtWork, KEYLESS, command, prepared, served};
use crate::private::{PrivateServer, Stop, signal};
use crate::server::connect_to;

/// A role and a server that both commit asynchronously, and nobody who writes the log behind them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_outlives_a_crash_though_the_role_commits_asynchronously() {
    let late = [("synchronous_commit", "off"), ("autovacuum", "off"), ("fsync", "on")];
    let mut server = PrivateServer::start(&late);
    let url = server.url();
    prepared(&url).await;
    let admin = connect_to(&url).await;
    let role = "ALTER ROLE postgres SET synchronous_commit = off";
    admin.batch_execute(role).await.unwrap();
    let store = PostgresStore::open(&url, Options::default()).await.unwrap();
    store.enqueue(vec![command(KEYLESS, "A")]).await.unwrap();
    // What is on the disk now does not count.
    admin.batch_execute("CHECKPOINT").await.unwrap();
    let writer = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'";
    let writer: i32 = admin.query_one(writer, &[]).await.unwrap().get(0);
    signal("STOP", u32::try_from(writer).unwrap());
    // The server loses what is not flushed: else this would prove nothing.
    let lost = "SET synchronous_commit = off; INSERT INTO orders VALUES ('lost')";
    let stranger = connect_to(&url).await;

    let (called, mut calls) = mpsc::unbounded_channel();
    let transport = handler(move |attempt: Attempt| {
        let called = called.clone();
        async move {
            called.send(attempt.token.get()).unwrap();
            std::future::pending::<()>().await;
            Ok::<_, HandlerError>("never")
        }
    });
    let served = served(KEYLESS, Idempotent::No, Span::from_secs(600), transport);
    let options = counterfoil_relay::Options::default().drain(Duration::ZERO);
    let relay = AtWork::start(&store, vec![served], options);
    let within = tokio::time::timeout(Duration::from_secs(60), calls.recv());
    let token = within.await.expect("never called").unwrap();
    stranger.batch_execute(lost).await.unwrap();
    server.stop(Stop::Crash);
    server.go_on();

    let admin = connect_to(&url).await;
    let count = "SELECT count(*) FROM orders WHERE id = 'lost'";
    let kept: i64 = admin.query_one(count, &[]).await.unwrap().get(0);
    assert_eq!(kept, 0, "this server lost nothing, so nothing is proved");
    let row = "SELECT d.state, d.token, d.attempts, d.first_sent_at IS NOT NULL
        FROM counterfoil.delivery d";
    let row = admin.query_one(row, &[]).await.unwrap();
    let claimed: (&str, i64, i32, bool) = (row.get(0), row.get(1), row.get(2), row.get(3));
    assert_eq!(claimed, ("sending", token, 1, true), "the claim was sent, and is not known");
    relay.stop().await;
}
