//! A grown store in a SQLite file.
//!
//! Guarantees: measured as it is opened by default. Does not: reuse a file.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use counterfoil::sqlite::SqliteStore;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, params};

use super::Age;
use super::books::beside;
use super::fill::{DESTINATION, KIND, declare, digests, row, times};
use super::measure::{Measured, measure as measure_store};
use crate::load::Scale;

/// Seconds for which the relay runs whose memory is taken.
const RELAY_SECONDS: f64 = 5.0;

/// Fills a file and measures it.
pub(crate) async fn measure(scale: &Scale, age: Age) -> Result<Measured> {
    let folder = scale.folder()?;
    let path = folder.path().join("grown.db");
    let store = SqliteStore::init(&path, None)?;
    declare(&store).await?;
    drop(store);
    fill(&path, age)?;
    let store = SqliteStore::open(&path, Default::default())?;
    let files = folder.path().join("archive");
    std::fs::create_dir(&files)?;
    let audit = mebibytes(&["--audit-memory".as_ref(), path.as_os_str()])?;
    let name = path.to_str().context("a path of UTF-8")?;
    let mut measured = measure_store(&store, age, || beside(name, &files), async || Ok(())).await?;
    drop(store);
    let seconds = RELAY_SECONDS.to_string();
    let args =
        ["--relay-memory".as_ref(), path.as_os_str(), "--seconds".as_ref(), seconds.as_ref()];
    measured.bounds.push(("memory of a relay", mebibytes(&args)?, "MiB", 100.0));
    measured.bounds.push(("memory of a full audit", audit, "MiB", 100.0));
    Ok(measured)
}

/// What a part of this benchmark says of its memory.
fn mebibytes(args: &[&OsStr]) -> Result<f64> {
    let part = Command::new(std::env::current_exe()?).args(args).output()?;
    ensure!(part.status.success(), "{args:?}: {}", String::from_utf8_lossy(&part.stderr));
    let kib: f64 = String::from_utf8(part.stdout)?.trim().parse().context("its memory")?;
    Ok(kib / 1024.0)
}

fn fill(path: &Path, age: Age) -> Result<()> {
    let connection = Connection::open(path)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; BEGIN",
    )?;
    {
        let mut outbox = connection.prepare(
            "INSERT INTO counterfoil_outbox(n, command_id, destination, kind, body, recorded_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        let mut receipt = connection.prepare(
            "INSERT INTO counterfoil_receipt(n, round, outcome, evidence, source, destination,
               attempts, token, first_sent_at, digest, row_digest, recorded_at)
             VALUES (?1, 1, 'completed', 'bench', 'relay', ?2, 1, ?3, ?3, ?4, ?5, ?6)",
        )?;
        let mut delivery = connection.prepare(
            "INSERT INTO counterfoil_delivery(n, destination, state, available_at)
             VALUES (?1, ?2, 'pending', ?3)",
        )?;
        for n in 1..=age.ended + age.waiting {
            let row = row(n)?;
            let (id, at) = (row.command_id.as_str(), row.recorded_at.get());
            outbox.execute(params![row.n, id, DESTINATION, KIND, row.body, at])?;
            if n <= age.ended {
                let ((sent, ended), (digest, row_digest)) = (times(&row), digests(&row));
                let digests = (digest.as_bytes(), row_digest.as_bytes());
                receipt.execute(params![row.n, DESTINATION, sent, digests.0, digests.1, ended])?;
            } else {
                delivery.execute(params![row.n, DESTINATION, at])?;
            }
        }
    }
    connection.execute(
        "INSERT INTO counterfoil_tally(destination, outcome, count) VALUES (?1, 'completed', ?2)",
        params![DESTINATION, i64::try_from(age.ended)?],
    )?;
    connection.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok(())
}
