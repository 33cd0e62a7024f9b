//! Removes ended commands and writes their tombstones.
//!
//! Guarantees: one transaction; receipts are locked first, then the outbox rows, in the order of
//! `n`, and what another transaction holds is left; what stands is compared with what was read,
//! after it was locked. Does not: wait for a row but the seal's.

use std::collections::{BTreeMap, HashSet};

use counterfoil_core::domain::Digest;
use counterfoil_core::port::archive::{Buried, Entry, SealChange, Tombstone};

use super::{entry, tombstone, young};
use crate::books::seal;
use crate::failure::Failure;
use crate::position::int;
use crate::row;
use crate::statement::{Statement, statement};
use crate::tx::Tx;
use crate::work::Work;

const RECEIPTS: Statement = statement!("archive_receipts");
const OUTBOX: Statement = statement!("archive_outbox");
const BURY: Statement = statement!("archive_bury");

/// One burial.
pub(super) struct Bury {
    /// Each with the tombstone that it would get; `None`: it has no digest, and stays.
    entries: Vec<(Entry, Option<Tombstone>)>,
    numbers: Vec<i64>,
    file: String,
    seal: Option<SealChange>,
}

impl Bury {
    pub(super) fn new(file: &str, entries: Vec<Entry>, seal: Option<SealChange>) -> Self {
        let mut numbers: Vec<i64> = entries.iter().map(|entry| entry.outbox.n).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let entries = entries.into_iter().map(|entry| {
            let tombstone = tombstone_of(&entry, file);
            (entry, tombstone)
        });
        Self { entries: entries.collect(), numbers, file: file.to_owned(), seal }
    }

    pub(super) fn numbers(&self) -> &Vec<i64> {
        &self.numbers
    }

    /// The commands that are ours until the transaction ends, and stand exactly as they were read.
    async fn unchanged(&self, tx: &Tx<'_>) -> Result<HashSet<i64>, Failure> {
        let young: HashSet<i64> = young::among(tx, &self.numbers).await?.into_iter().collect();
        let old: Vec<i64> = self.numbers.iter().copied().filter(|n| !young.contains(n)).collect();
        let receipts = tx.query(RECEIPTS, &[&old]).await?;
        let receipts: HashSet<(i64, u32)> = receipts
            .iter()
            .map(|row| (row::int(row, 0).unwrap_or(0), row::count(row, 1)))
            .collect();
        let free = tx.query(OUTBOX, &[&old]).await?;
        let free: Vec<i64> = free.iter().filter_map(|row| row::int(row, 0)).collect();
        // A look of its own, behind the locks: it sees what was committed before them.
        let stands = entry::of(tx, &free).await?;
        let stands: BTreeMap<i64, Entry> =
            stands.into_iter().map(|entry| (entry.outbox.n, entry)).collect();
        let same = |entry: &Entry| {
            let held = |round| receipts.contains(&(entry.outbox.n, round));
            stands.get(&entry.outbox.n) == Some(entry)
                && entry.receipts.iter().all(|ended| held(ended.receipt.round))
        };
        let same = self.entries.iter().filter(|(entry, _)| same(entry));
        Ok(same.map(|(entry, _)| entry.outbox.n).collect())
    }

    /// Writes the tombstones of those that may go and takes away the rest of them; the ids of those
    /// that are gone.
    async fn bury(&self, tx: &Tx<'_>, may_go: &HashSet<i64>) -> Result<HashSet<String>, Failure> {
        let mut going: BTreeMap<i64, &Tombstone> = BTreeMap::new();
        for (entry, tombstone) in &self.entries {
            if let Some(tombstone) = tombstone.as_ref().filter(|_| may_go.contains(&entry.outbox.n))
            {
                going.insert(entry.outbox.n, tombstone);
            }
        }
        if going.is_empty() {
            return Ok(HashSet::new());
        }
        let all = || going.values().copied();
        let numbers: Vec<i64> = going.keys().copied().collect();
        let ids: Vec<&str> = all().map(|it| it.command_id.as_str()).collect();
        let destinations: Vec<&str> = all().map(|it| it.destination.as_str()).collect();
        let kinds: Vec<&str> = all().map(|it| it.kind.as_str()).collect();
        let keys: Vec<Option<&str>> = all().map(|it| it.ordering_key.as_deref()).collect();
        let digests: Vec<&[u8]> = all().map(|it| it.digest.as_bytes().as_slice()).collect();
        let outcomes: Vec<&str> = all().map(|it| it.outcome.as_str()).collect();
        let rounds: Vec<i32> = all().map(|it| int(it.rounds)).collect();
        let rows: Vec<Option<Vec<u8>>> =
            all().map(|it| it.row_digest.map(|digest| digest.as_bytes().to_vec())).collect();
        let columns: [&dyn crate::param::Param; 10] = [
            &numbers,
            &ids,
            &destinations,
            &kinds,
            &keys,
            &digests,
            &outcomes,
            &rounds,
            &rows,
            &self.file,
        ];
        let gone = tx.query(BURY, &columns).await?;
        Ok(gone.iter().filter_map(|row| row::string(row, 0)).collect())
    }

    fn answer(&self, gone: &HashSet<String>) -> Buried {
        // An entry that was given twice is removed once.
        let mut told = HashSet::new();
        let mut removed = Vec::with_capacity(self.entries.len());
        for (entry, _) in &self.entries {
            let id = entry.outbox.command_id.as_str();
            removed.push(gone.contains(id) && told.insert(id));
        }
        Buried::Done(removed)
    }
}

impl Work for Bury {
    type Answer = Buried;

    async fn run(&self, tx: &Tx<'_>) -> Result<Buried, Failure> {
        let may_go = self.unchanged(tx).await?;
        // The seal speaks of all of them.
        let all = self
            .entries
            .iter()
            .all(|(entry, tombstone)| tombstone.is_some() && may_go.contains(&entry.outbox.n));
        if self.seal.is_some() && !all {
            return Ok(self.answer(&HashSet::new()));
        }
        if !seal::turn(tx, self.seal.as_ref()).await? {
            return Ok(Buried::SealMoved);
        }
        Ok(self.answer(&self.bury(tx, &may_go).await?))
    }

    /// Its tombstones tell whether it was committed; else it is done now.
    async fn look_again(&self, tx: &Tx<'_>) -> Result<Option<Buried>, Failure> {
        let ids: Vec<String> =
            self.entries.iter().map(|(entry, _)| entry.outbox.command_id.to_string()).collect();
        let stands = tombstone::of(tx, &ids).await?;
        let ours = stands
            .iter()
            .zip(&self.entries)
            .filter(|(stands, (_, ours))| stands.is_some() && stands.as_ref() == ours.as_ref());
        let gone: HashSet<String> =
            ours.filter_map(|(stands, _)| Some(stands.as_ref()?.command_id.clone())).collect();
        if !gone.is_empty() || seal::is_turned(tx, self.seal.as_ref()).await? {
            return Ok(Some(self.answer(&gone)));
        }
        self.run(tx).await.map(Some)
    }
}

/// What stays of an entry in `file`; `None` where its body is gone and its digest does not stand.
fn tombstone_of(entry: &Entry, file: &str) -> Option<Tombstone> {
    let newest = entry.newest()?;
    let digest = match entry.erased_at {
        Some(_) => newest.digest?,
        None => Digest::of(&entry.outbox.body),
    };
    let row = &entry.outbox;
    let tombstone = Tombstone {
        command_id: row.command_id.to_string(),
        destination: row.destination.to_string(),
        kind: row.kind.to_string(),
        ordering_key: row.ordering_key.as_ref().map(ToString::to_string),
        digest,
        outcome: newest.receipt.outcome.name().to_owned(),
        rounds: newest.receipt.round,
        file: file.to_owned(),
        row_digest: None,
    };
    Some(Tombstone { row_digest: Some(tombstone.row_digest()), ..tombstone })
}
