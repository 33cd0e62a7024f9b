//! Removes ended commands and leaves their tombstones.
//!
//! Guarantees: of each command either all rows stand or its tombstone does; what has changed since
//! it was read, or must stay, is left; without a seal the lock is held no longer than a relay may;
//! the bytes of removed rows are overwritten, so that an erasure later on finds none in the
//! database. Does not: touch lanes, tallies, events, contradictions, or what people did; give a
//! number twice that a removed receipt or attempt had.

use std::sync::Arc;

use counterfoil_core::port::archive::{Buried, Entry, SealChange, Tombstone};
use counterfoil_core::port::store::StoreError;
use rusqlite::{Connection, params};

use crate::commit_queue::CommitQueue;
use crate::entry;
use crate::erasure;
use crate::group::Group;
use crate::member::Work;
use crate::seal;
use crate::sql::Sql;
use crate::tombstone;

/// So many are buried however long it takes, so that a slow machine makes progress too.
const FEW: usize = 4;

/// About how many rows are written for each.
const ROWS_EACH: usize = 4;

/// A command to be buried, and what will stay of it.
struct Grave {
    entry: Entry,
    tombstone: Option<Tombstone>,
}

/// Commands to be buried, from one of them on.
struct Burial {
    graves: Arc<[Grave]>,
    from: usize,
    seal: Option<SealChange>,
}

/// Buries the entries in as many short writes as it takes, in one where a seal goes with them.
pub(crate) async fn bury(
    queue: &CommitQueue,
    file: &str,
    entries: Vec<Entry>,
    seal: Option<SealChange>,
) -> Result<Buried, StoreError> {
    let file = file.to_owned();
    // Bodies are long; tasks' threads, and the lock, have more to do.
    let digging = tokio::task::spawn_blocking(move || {
        let dig = |entry| Grave { tombstone: tombstone::of(&entry, &file), entry };
        entries.into_iter().map(dig).collect::<Arc<[Grave]>>()
    });
    let failed = |error| StoreError::Broken(format!("the digests of a burial: {error}"));
    let graves = digging.await.map_err(failed)?;
    let mut buried = Vec::with_capacity(graves.len());
    if graves.is_empty() && seal.is_none() {
        return Ok(Buried::Done(buried));
    }
    loop {
        let part = Burial { graves: Arc::clone(&graves), from: buried.len(), seal: seal.clone() };
        match queue.commit(part).await {
            Ok(Buried::Done(part)) => buried.extend(part),
            Ok(Buried::SealMoved) if buried.is_empty() => return Ok(Buried::SealMoved),
            // Somebody sealed what is left; parts before this one stand.
            Ok(Buried::SealMoved) => buried.resize(graves.len(), false),
            Err(error) if buried.is_empty() => return Err(error),
            // Parts before this one stand.
            Err(error) => return Err(StoreError::NotKnown(error.to_string())),
        }
        if buried.len() >= graves.len() {
            return Ok(Buried::Done(buried));
        }
    }
}

impl Work for Burial {
    type Answer = Buried;

    fn size(&self) -> usize {
        (self.graves.len() - self.from).saturating_mul(ROWS_EACH)
    }

    fn is_relay(&self) -> bool {
        true
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Buried> {
        erasure::overwrite(group.connection, true)?;
        let buried = self.bury(group);
        // Whatever came of it: for other work it costs too much.
        erasure::overwrite(group.connection, false)?;
        buried
    }

    /// Each that is removed has this tombstone now, and no row.
    fn stands(&self, store: &Connection, answer: &Buried) -> rusqlite::Result<Option<bool>> {
        let Buried::Done(buried) = answer else { return Ok(Some(true)) };
        for (grave, _) in self.graves[self.from..].iter().zip(buried).filter(|(_, it)| **it) {
            let id = grave.entry.outbox.command_id.as_str();
            let is_here = store.prepare_cached(Sql::OutboxNumber.text())?.exists([id])?;
            if is_here || tombstone::find(store, id)? != grave.tombstone {
                return Ok(Some(false));
            }
        }
        // Of a seal alone it is not told who wrote it.
        Ok((self.seal.is_none() || buried.contains(&true)).then_some(true))
    }
}

impl Burial {
    fn bury(&self, group: &mut Group<'_>) -> rusqlite::Result<Buried> {
        let before = Arrivals::read(group)?;
        if self.seal.is_some() {
            // The seal speaks of all of them.
            for grave in &self.graves[self.from..] {
                if !grave.may_go(group, before.n)? {
                    return Ok(Buried::Done(vec![false; self.graves.len() - self.from]));
                }
            }
        }
        if !seal::turn(group, self.seal.as_ref())? {
            return Ok(Buried::SealMoved);
        }
        let mut buried = Vec::new();
        for grave in &self.graves[self.from..] {
            let may_stop = self.seal.is_none() && buried.len() >= FEW;
            if may_stop && group.is_long() {
                break;
            }
            buried.push(grave.bury(group, before.n)?);
        }
        if buried.contains(&true) {
            before.keep(group)?;
        }
        Ok(Buried::Done(buried))
    }
}

impl Grave {
    /// Whether it stands as it was read, and nothing keeps it.
    fn may_go(&self, group: &Group<'_>, newest: i64) -> rusqlite::Result<bool> {
        let n = self.entry.outbox.n;
        if self.tombstone.is_none() || n >= newest {
            return Ok(false);
        }
        let Some(Ok(stands)) = entry::read(group.connection, n)? else { return Ok(false) };
        let must_stay = stands.is_contradicted || stands.is_of_workflow;
        Ok(!must_stay && stands.entry == self.entry)
    }

    /// Whether it is removed; one that is not what was read, or must stay, is left.
    fn bury(&self, group: &mut Group<'_>, newest: i64) -> rusqlite::Result<bool> {
        let Some(tombstone) = &self.tombstone else { return Ok(false) };
        if !self.may_go(group, newest)? || !tombstone::insert(group, tombstone)? {
            return Ok(false);
        }
        let n = self.entry.outbox.n;
        for sql in [Sql::OutboxRemove, Sql::ReceiptRemove, Sql::AttemptRemove] {
            group.sql(sql)?.execute([n])?;
        }
        Ok(true)
    }
}

/// The newest number of each table that a burial takes rows from.
#[derive(Clone, Copy)]
struct Arrivals {
    n: i64,
    receipt: i64,
    attempt: i64,
}

impl Arrivals {
    fn read(group: &mut Group<'_>) -> rusqlite::Result<Self> {
        group.sql(Sql::ArrivalNewest)?.query_row([], |row| {
            Ok(Self { n: row.get(0)?, receipt: row.get(1)?, attempt: row.get(2)? })
        })
    }

    /// Marks the numbers that would be given again: an audit goes on after the newest that it saw.
    fn keep(self, group: &mut Group<'_>) -> rusqlite::Result<()> {
        let (left, now) = (Self::read(group)?, group.now.get());
        if left.receipt < self.receipt {
            group.sql(Sql::ReceiptMark)?.execute(params![self.receipt, now])?;
        }
        if left.attempt < self.attempt {
            group.sql(Sql::AttemptRemove)?.execute([0])?;
            group.sql(Sql::AttemptMark)?.execute(params![self.attempt, now])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use counterfoil_core::domain::transition::Report;
    use counterfoil_core::domain::{Command, Micros, ReceiptOutcome};
    use counterfoil_core::port::{Archive as _, Store as _};

    use super::*;
    use crate::SqliteStore;
    use crate::connection::open_own;

    /// A file with so many ended commands that may go, and their graves.
    async fn dug(path: &std::path::Path, many: usize) -> (SqliteStore, Connection, Arc<[Grave]>) {
        let store = SqliteStore::init(path, None).unwrap();
        for i in 0..=many {
            let command = Command::json(format!("c{i}"), "shipping", "k", &i).unwrap();
            let id = command.id.clone().unwrap();
            store.enqueue(vec![command]).await.unwrap()[0].clone().unwrap();
            let (outcome, source) = (ReceiptOutcome::Completed, "report".into());
            let (result, evidence, token) = (None, None, None);
            let report = Report { outcome, result, evidence, source, token, equals_earlier: false };
            store.report(&id, report).await.unwrap();
        }
        let entries = store.ended(Micros::LATEST, 0, 100).await.unwrap().entries;
        let dig = |entry| Grave { tombstone: tombstone::of(&entry, "f"), entry };
        let graves = entries.into_iter().map(dig).collect();
        (store, open_own(path).unwrap().0, graves)
    }

    /// After a COMMIT that failed: what was answered is looked up.
    #[tokio::test]
    async fn whether_a_burial_stands_is_told_from_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let (_store, own, graves) = dug(&folder.path().join("s.db"), 2).await;
        for (seal, end, stands) in [
            (None, "ROLLBACK", Some(false)),
            (None, "COMMIT", Some(true)),
            (Some(SealChange { version: 0, seal: "s".into() }), "ROLLBACK", None),
        ] {
            own.execute_batch("BEGIN IMMEDIATE").unwrap();
            let part = Burial { graves: Arc::clone(&graves), from: 0, seal };
            let mut group = Group::new(&own, Micros::EARLIEST);
            let answer = part.run(&mut group).unwrap();
            drop(group);
            own.execute_batch(end).unwrap();
            assert_eq!(part.stands(&own, &answer).unwrap(), stands, "{answer:?}, {end}");
        }
    }

    #[tokio::test]
    async fn a_part_ends_once_the_lock_was_held_long_enough_but_not_with_a_seal() {
        let folder = tempfile::tempdir().unwrap();
        let many = FEW + 3;
        let (store, own, graves) = dug(&folder.path().join("s.db"), many).await;
        let seal = SealChange { version: 0, seal: "s".into() };
        for (seal, buried) in [(Some(seal), many), (None, FEW)] {
            own.execute_batch("BEGIN IMMEDIATE").unwrap();
            let part = Burial { graves: Arc::clone(&graves), from: 0, seal };
            let mut group = Group::new(&own, Micros::EARLIEST);
            std::thread::sleep(Duration::from_millis(6));
            assert_eq!(part.run(&mut group).unwrap(), Buried::Done(vec![true; buried]));
            drop(group);
            own.execute_batch("ROLLBACK").unwrap();
        }
        // In parts all of them go.
        let entries = store.ended(Micros::LATEST, 0, 100).await.unwrap().entries;
        assert_eq!(store.bury("f", entries, None).await.unwrap(), Buried::Done(vec![true; many]));
    }
}
