//! The seal of the newest audit that held: read, and written over the one that was read.
//!
//! Guarantees: of two that write over one version, one does; the store clock is saved with it, so
//! that no later start reads an earlier time. Does not: know what a seal says.

use counterfoil_core::port::Actor;
use counterfoil_core::port::archive::SealChange;
use counterfoil_core::port::seal::Sealed;
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, params};

use crate::group::Group;
use crate::member::Work;
use crate::pause::{Action, insert_action};
use crate::read::status::totals;
use crate::row::{int, lossy, time};
use crate::spelled::Unspelled;
use crate::sql::Sql;

/// The seal that stands.
pub(crate) fn read(store: &Connection) -> rusqlite::Result<Option<Sealed>> {
    find(&mut store.prepare_cached(Sql::SealRow.text())?)
}

fn find(row: &mut CachedStatement<'_>) -> rusqlite::Result<Option<Sealed>> {
    let sealed = row.query_row([], |row| {
        Ok(Sealed {
            version: int(row, 0)?.unwrap_or_default(),
            seal: lossy(row, 1)?.unwrap_or_default(),
            recorded_at: time(row, 2)?.unwrap_or_default(),
        })
    });
    sealed.optional()
}

/// Writes a seal over the one of its version, 0 where none stands; whether it did.
pub(crate) fn change(group: &mut Group<'_>, change: &SealChange) -> rusqlite::Result<bool> {
    let stands = find(group.sql(Sql::SealRow)?)?.map_or(0, |sealed| sealed.version);
    if stands != change.version {
        return Ok(false);
    }
    let now = group.now.get();
    let write = group.sql(Sql::SealWrite)?;
    write.execute(params![stands.saturating_add(1), change.seal, now])?;
    group.save_clock();
    Ok(true)
}

/// Writes a seal over the one of its version, or, without one, looks that none stands; whether so.
pub(crate) fn turn(group: &mut Group<'_>, change: Option<&SealChange>) -> rusqlite::Result<bool> {
    match change {
        Some(change) => self::change(group, change),
        None => Ok(find(group.sql(Sql::SealRow)?)?.is_none()),
    }
}

/// Adds to every tally what it lacks of what receipts and tombstones say.
fn recount(group: &mut Group<'_>) -> rusqlite::Result<()> {
    // What others of this commit have ended is in their receipts already.
    group.flush()?;
    for totals in totals(group.connection)? {
        let destination = Unspelled::of(&totals.destination);
        let wrong = totals.tally.iter().filter(|(_, count, found)| count != found);
        for (outcome, count, found) in wrong {
            let add = params![destination, Unspelled::of(outcome), found - count];
            group.sql(Sql::TallyAdd)?.execute(add)?;
        }
    }
    Ok(())
}

/// A seal alone, or with the record of who gave up the one before.
pub(crate) struct Sealing {
    pub(crate) change: SealChange,
    pub(crate) reseal: Option<Actor>,
    /// With every tally as receipts and tombstones say.
    pub(crate) recount: bool,
}

impl Work for Sealing {
    /// Whether it was written.
    type Answer = bool;

    fn size(&self) -> usize {
        2
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<bool> {
        let written = change(group, &self.change)?;
        if let Some(actor) = self.reseal.as_ref().filter(|_| written) {
            let action = Action { verb: "reseal", about: "store", actor: &actor.name };
            let reason = (!actor.reason.is_empty()).then_some(actor.reason.as_str());
            insert_action(group, &action, reason, (Some("sealed"), "sealed anew"))?;
        }
        if self.recount && written {
            recount(group)?;
        }
        Ok(written)
    }

    fn stands(&self, store: &Connection, written: &bool) -> rusqlite::Result<Option<bool>> {
        let SealChange { version, seal } = &self.change;
        let is_ours =
            |sealed: Sealed| sealed.version == version.saturating_add(1) && sealed.seal == *seal;
        Ok(Some(!written || read(store)?.is_some_and(is_ours)))
    }
}

#[cfg(test)]
mod tests {
    use counterfoil_core::domain::Micros;

    use super::*;

    /// After a COMMIT that failed: another's seal of the same version is not ours.
    #[test]
    fn whether_a_seal_stands_is_told_from_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let (own, _) = crate::connection::init(&folder.path().join("s.db"), None).unwrap();
        let change = |seal: &str| SealChange { version: 0, seal: seal.into() };
        let sealing = |seal: &str| Sealing { change: change(seal), reseal: None, recount: false };
        let (ours, theirs) = (sealing("ours"), sealing("theirs"));
        assert_eq!(ours.stands(&own, &true).unwrap(), Some(false));
        let mut group = Group::new(&own, Micros::EARLIEST);
        assert!(ours.run(&mut group).unwrap());
        assert!(!theirs.run(&mut group).unwrap());
        drop(group);
        assert_eq!(ours.stands(&own, &true).unwrap(), Some(true));
        assert_eq!(theirs.stands(&own, &true).unwrap(), Some(false));
        assert_eq!(theirs.stands(&own, &false).unwrap(), Some(true), "a refusal stands");
    }
}
