//! A grown store in a PostgreSQL database.
//!
//! Guarantees: filled by COPY and analysed, then measured as it is opened by default. Does not:
//! reuse a database.

use std::path::Path;

use anyhow::{Context as _, Result};
use counterfoil_postgres::PostgresStore;
use futures_util::SinkExt as _;
use tokio_postgres::Client;

use super::Age;
use super::books::beside;
use super::fill::{DESTINATION, KIND, declare, digests, row, times};
use super::measure::{Measured, measure as measure_store};
use crate::postgres::server::Server;

/// Bytes that are sent to the server at once.
const CHUNK: usize = 1 << 20;

/// Fills a database and measures it.
pub(crate) async fn measure(server: &Server, dir: &Path, age: Age) -> Result<Measured> {
    server.create("grown").await?;
    let store = PostgresStore::init(&server.url("grown"), Default::default(), None).await?;
    declare(&store).await?;
    let client = server.connect("grown").await?;
    fill(&client, age).await?;
    let folder = tempfile::tempdir_in(dir)?;
    let url = server.url("grown");
    // As autovacuum does, which comes once a minute.
    let rest = async || Ok(client.batch_execute("VACUUM counterfoil.delivery").await?);
    measure_store(&store, age, || beside(&url, folder.path()), rest).await
}

async fn fill(client: &Client, age: Age) -> Result<()> {
    client
        .batch_execute("SET session_replication_role = replica; SET synchronous_commit = off")
        .await?;
    let all = age.ended + age.waiting;
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let outbox = "COPY counterfoil.outbox(n, command_id, destination, kind, body, recorded_at)";
    copy(client, outbox, 1..=all, |n| {
        let row = row(n)?;
        let (id, body, at) = (row.command_id.as_str(), hex(&row.body), row.recorded_at.get());
        Ok(format!("{n}\t{id}\t{DESTINATION}\t{KIND}\t\\\\x{body}\t{at}\n"))
    })
    .await?;
    let receipt = "COPY counterfoil.receipt(n, round, outcome, evidence, source, destination, \
                   attempts, token, first_sent_at, digest, row_digest, recorded_at)";
    copy(client, receipt, 1..=age.ended, |n| {
        let row = row(n)?;
        let ((sent, ended), (digest, row_digest)) = (times(&row), digests(&row));
        let (digest, row_digest) = (hex(digest.as_bytes()), hex(row_digest.as_bytes()));
        let said = format!("completed\tbench\trelay\t{DESTINATION}");
        let sent = format!("1\t{sent}\t{sent}");
        Ok(format!("{n}\t1\t{said}\t{sent}\t\\\\x{digest}\t\\\\x{row_digest}\t{ended}\n"))
    })
    .await?;
    let delivery = "COPY counterfoil.delivery(n, destination, state, available_at)";
    copy(client, delivery, age.ended + 1..=all, |n| {
        Ok(format!("{n}\t{DESTINATION}\tpending\t{}\n", row(n)?.recorded_at.get()))
    })
    .await?;
    let count = i64::try_from(age.ended)?;
    let tally = "INSERT INTO counterfoil.tally(destination, outcome, count) \
                 VALUES ($1, 'completed', $2)";
    client.execute(tally, &[&DESTINATION, &count]).await?;
    let sequence = "SELECT setval(pg_get_serial_sequence('counterfoil.outbox', 'n'), $1)";
    client.query(sequence, &[&i64::try_from(all)?]).await?;
    for after in ["VACUUM (ANALYZE)", "CHECKPOINT"] {
        client.batch_execute(after).await.context(after)?;
    }
    Ok(())
}

async fn copy(
    client: &Client,
    into: &str,
    numbers: impl Iterator<Item = u64>,
    line: impl Fn(u64) -> Result<String>,
) -> Result<()> {
    let sink = client.copy_in(&format!("{into} FROM STDIN")).await?;
    let mut sink = std::pin::pin!(sink);
    let mut chunk = String::with_capacity(2 * CHUNK);
    for n in numbers {
        chunk.push_str(&line(n)?);
        if chunk.len() >= CHUNK {
            sink.send(std::mem::take(&mut chunk).into()).await?;
        }
    }
    let sending: bytes::Bytes = chunk.into();
    sink.send(sending).await?;
    sink.finish().await?;
    Ok(())
}
