//! The raw limits: what bare rusqlite reaches with the same durability and no rules at all.
//!
//! Guarantees: WAL, `synchronous=FULL`, one text index, statements held prepared. Does not: keep
//! leases, receipts, digests or guards; that is the difference that the ratio shows.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use rusqlite::{Connection, params};

use crate::load::{Ids, body};

const SCHEMA: &str = "
CREATE TABLE events(pos INTEGER PRIMARY KEY, stream TEXT NOT NULL, version INTEGER NOT NULL,
  kind TEXT NOT NULL, body BLOB NOT NULL, at INTEGER NOT NULL, UNIQUE(stream, version));
CREATE TABLE outbox(id INTEGER PRIMARY KEY, command_id TEXT NOT NULL UNIQUE,
  destination TEXT NOT NULL, body BLOB NOT NULL, state INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0);
CREATE INDEX due ON outbox(due_at) WHERE state = 0;";
const EVENT: &str = "INSERT INTO events(stream, version, kind, body, at)
  VALUES(?1, 1, 'order.paid', ?2, 1000)";
const OUTBOX: &str =
    "INSERT INTO outbox(command_id, destination, body, due_at) VALUES(?1, 'shipping', ?2, 1000)";
const CLAIM: &str = "UPDATE outbox SET due_at = 32000, attempts = attempts + 1 WHERE id IN
  (SELECT id FROM outbox WHERE state = 0 AND due_at <= 2000 ORDER BY due_at, id LIMIT ?1)
  RETURNING id, body";
const DONE: &str = "UPDATE outbox SET state = 2 WHERE id = ?1";

/// A connection with full durability.
pub(crate) fn open(path: &Path) -> Result<Connection> {
    let conn = Connection::open(path)?;
    conn.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA busy_timeout=10000;",
    )?;
    conn.set_prepared_statement_cache_capacity(32);
    Ok(conn)
}

fn fresh(path: &Path) -> Result<Connection> {
    let conn = open(path)?;
    conn.execute_batch(SCHEMA)?;
    Ok(conn)
}

fn put(conn: &Connection, id: &str, body: &[u8]) -> rusqlite::Result<()> {
    conn.prepare_cached(EVENT)?.execute(params![id, body])?;
    conn.prepare_cached(OUTBOX)?.execute(params![format!("{id}:1:0"), body])?;
    Ok(())
}

fn tx(conn: &Connection, work: impl FnOnce() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    work()?;
    conn.prepare_cached("COMMIT")?.execute([])?;
    Ok(())
}

/// Two inserts a transaction, one committer.
pub(crate) struct TwoInserts {
    conn: Connection,
    ids: Ids,
    body: Vec<u8>,
    next: u64,
}

impl TwoInserts {
    pub(crate) fn new(path: &Path, ids: Ids) -> Result<Self> {
        Ok(Self { conn: fresh(path)?, ids, body: body(), next: 0 })
    }

    /// One commit; how long it took, in µs.
    pub(crate) fn commit(&mut self) -> Result<f64> {
        let started = Instant::now();
        tx(&self.conn, || put(&self.conn, &self.ids.id(self.next), &self.body))?;
        self.next += 1;
        Ok(started.elapsed().as_secs_f64() * 1e6)
    }
}

/// Two inserts a decision, `committers` threads, one writer that commits what waits: decisions a
/// second.
pub(crate) fn group_commit(path: &Path, ids: Ids, committers: u64, seconds: f64) -> Result<f64> {
    type Job = (u64, std::thread::Thread, Arc<AtomicBool>);
    let (jobs, inbox) = mpsc::sync_channel::<Job>(4096);
    let conn = fresh(path)?;
    let writer = std::thread::spawn(move || -> Result<()> {
        let (body, mut batch) = (body(), Vec::new());
        while let Ok(job) = inbox.recv() {
            batch.push(job);
            batch.extend(inbox.try_iter().take(999));
            tx(&conn, || batch.iter().try_for_each(|job| put(&conn, &ids.id(job.0), &body)))?;
            for (_, thread, done) in batch.drain(..) {
                done.store(true, Ordering::Release);
                thread.unpark();
            }
        }
        Ok(())
    });
    let (next, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let begun = Instant::now();
    let threads: Vec<_> = (0..committers)
        .map(|_| {
            let (jobs, next, stop) = (jobs.clone(), Arc::clone(&next), Arc::clone(&stop));
            std::thread::spawn(move || {
                let (mut count, done) = (0_u64, Arc::new(AtomicBool::new(false)));
                while !stop.load(Ordering::Relaxed) {
                    done.store(false, Ordering::Relaxed);
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if jobs.send((i, std::thread::current(), Arc::clone(&done))).is_err() {
                        break;
                    }
                    while !done.load(Ordering::Acquire) {
                        std::thread::park();
                    }
                    count += 1;
                }
                count
            })
        })
        .collect();
    drop(jobs);
    std::thread::sleep(Duration::from_secs_f64(seconds));
    stop.store(true, Ordering::Relaxed);
    let elapsed = begun.elapsed().as_secs_f64();
    let count: u64 = threads.into_iter().filter_map(|thread| thread.join().ok()).sum();
    writer.join().map_err(|_| anyhow!("the raw writer panicked"))??;
    Ok(count as f64 / elapsed)
}

fn preload(conn: &Connection, ids: Ids, from: u64, items: usize) -> Result<()> {
    let body = body();
    let numbers: Vec<u64> = (from..from + items as u64).collect();
    for chunk in numbers.chunks(10_000) {
        tx(conn, || {
            chunk.iter().try_for_each(|i| {
                conn.prepare_cached(OUTBOX)?.execute(params![ids.id(*i), body]).map(|_| ())
            })
        })?;
    }
    Ok(conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?)
}

fn claim(conn: &Connection, batch: usize, claimed: &mut Vec<i64>) -> rusqlite::Result<()> {
    claimed.clear();
    let mut statement = conn.prepare_cached(CLAIM)?;
    let mut rows = statement.query([batch as i64])?;
    while let Some(row) = rows.next()? {
        let _body: Vec<u8> = row.get(1)?;
        claimed.push(row.get(0)?);
    }
    Ok(())
}

fn done(conn: &Connection, claimed: &[i64]) -> rusqlite::Result<()> {
    let mut statement = conn.prepare_cached(DONE)?;
    claimed.iter().try_for_each(|id| statement.execute([id]).map(|_| ()))
}

/// Done of one batch fused with the claim of the next, batch 100: items a second.
pub(crate) fn fused_drain(path: &Path, ids: Ids, items: usize) -> Result<f64> {
    let conn = fresh(path)?;
    preload(&conn, ids, 0, items)?;
    let (mut claimed, mut count, begun) = (vec![], 0, Instant::now());
    loop {
        count += claimed.len();
        let last = claimed.clone();
        tx(&conn, || {
            done(&conn, &last)?;
            claim(&conn, 100, &mut claimed)
        })?;
        if claimed.is_empty() {
            break;
        }
    }
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}

/// One writer, one transaction = done(100) + claim(100) + 100 decisions: decisions and deliveries
/// a second.
pub(crate) fn one_writer(path: &Path, ids: Ids, items: usize, seconds: f64) -> Result<(f64, f64)> {
    let conn = fresh(path)?;
    preload(&conn, ids, 0, items)?;
    let body = body();
    let (mut claimed, mut delivered, mut decided) = (vec![], 0, 0);
    let (base, begun) = (items as u64, Instant::now());
    while begun.elapsed().as_secs_f64() < seconds {
        delivered += claimed.len();
        let last = claimed.clone();
        tx(&conn, || {
            done(&conn, &last)?;
            claim(&conn, 100, &mut claimed)?;
            (0..100).try_for_each(|i| put(&conn, &ids.id(base + decided + i), &body))
        })?;
        decided += 100;
    }
    let elapsed = begun.elapsed().as_secs_f64();
    Ok((decided as f64 / elapsed, delivered as f64 / elapsed))
}
