//! P3 and G4: statements, fsyncs, bytes of WAL and dead rows a command, which do not depend on the
//! machine.
//!
//! Guarantees: the server's own counters, without full-page images. Does not: count what a user's
//! own rows cost.

use anyhow::Result;
use tokio_postgres::Client;

use super::drain::{drain, preload};
use super::enqueue::Payer;
use super::limit;
use super::server::Server;
use crate::figure::Figure;
use crate::load::{Ids, Scale};

use counterfoil_postgres::{Options, PostgresStore};

const RELOAD: &str = "SELECT pg_reload_conf()";

/// What the server has counted so far.
#[derive(Clone, Copy)]
struct Counted {
    statements: f64,
    syncs: f64,
    bytes: f64,
}

async fn counted_so_far(client: &Client) -> Result<Counted> {
    // Statistics are written at the end of a transaction, and at most so often.
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    let statements = "SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements s \
                      JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = current_database()";
    let wal = "SELECT wal_sync::float8, wal_bytes::float8 FROM pg_stat_wal";
    let statements = client.query_one(statements, &[]).await?.get(0);
    let wal = client.query_one(wal, &[]).await?;
    Ok(Counted { statements, syncs: wal.get(0), bytes: wal.get(1) })
}

/// P3: what a command adds to the user's own transaction, besides BEGIN, the order and COMMIT.
pub(crate) async fn enqueued(server: &Server) -> Result<Figure> {
    const PAID: u64 = 1000;
    server.create("p3").await?;
    PostgresStore::init(&server.url("p3"), Options::default(), None).await?;
    let client = server.connect("p3").await?;
    limit::create(&client).await?;
    client.batch_execute("CREATE EXTENSION pg_stat_statements").await?;
    let mut payer = Payer::new(server.connect("p3").await?, Ids::Orders).await?;
    client.execute("SELECT pg_stat_statements_reset()", &[]).await?;
    for i in 0..PAID {
        payer.pay_one(i, true).await?;
    }
    let calls = "SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements s \
                 JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = current_database() \
                 AND query !~ 'pg_stat_statements'";
    let calls: f64 = client.query_one(calls, &[]).await?.get(0);
    let more = calls / PAID as f64 - 3.0;
    Ok(figure("P3", "statements a command in the user's own transaction", more, 1.0))
}

/// P3 and G4.
pub(crate) async fn counted(scale: &Scale, server: &Server) -> Result<Vec<Figure>> {
    let items = scale.items;
    server.create("ours").await?;
    let store = PostgresStore::init(&server.url("ours"), Options::default(), None).await?;
    let client = server.connect("ours").await?;
    client.batch_execute("CREATE EXTENSION pg_stat_statements").await?;
    // Each by itself: it runs in no transaction, which several at once would be.
    for sql in ["ALTER SYSTEM SET full_page_writes = off", RELOAD] {
        client.batch_execute(sql).await?;
    }
    client.batch_execute("ALTER TABLE counterfoil.delivery SET (autovacuum_enabled = off)").await?;
    client.batch_execute("CHECKPOINT").await?;
    let before = counted_so_far(&client).await?;
    preload(&store, Ids::Orders, items).await?;
    let loaded = counted_so_far(&client).await?;
    drain(store, None).await?;
    let drained = counted_so_far(&client).await?;
    let dead = "SELECT n_dead_tup::float8 FROM pg_stat_user_tables \
                WHERE schemaname = 'counterfoil' AND relname = 'delivery'";
    let dead: f64 = client.query_one(dead, &[]).await?.get(0);
    for sql in ["ALTER SYSTEM RESET full_page_writes", RELOAD] {
        client.batch_execute(sql).await?;
    }
    let each = |after: f64, before: f64| (after - before) / items as f64;
    let statements = each(drained.statements, loaded.statements);
    let syncs = each(drained.syncs, loaded.syncs);
    let bytes = each(drained.bytes, before.bytes);
    let dead = dead / items as f64;
    Ok(vec![
        figure("P3", "statements a drained command", statements, 0.05),
        figure("P3", "fsyncs a drained command", syncs, 0.03),
        figure("G4", "bytes of WAL a command, recorded and drained", bytes, 1500.0),
        figure("G4", "dead rows of delivery a command", dead, 3.0),
    ])
}

fn figure(name: &str, what: &str, ours: f64, most: f64) -> Figure {
    Figure {
        name: name.into(),
        what: what.into(),
        ours,
        limit: most,
        unit: "",
        ratio: ours / most,
        goal: format!("≤ {most}"),
        met: ours <= most,
        more: vec![],
    }
}
