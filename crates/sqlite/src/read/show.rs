//! All that stands about one command.
//!
//! Guarantees: one snapshot; of an archived command, its tombstone. Does not: read the archive's
//! files.

use counterfoil_core::domain::Micros;
use counterfoil_core::port::read::{Listed, ReceiptStory, Story, Told};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::lane;
use super::list::listed;
use crate::row::{self, bytes, count, int, lossy, stored, time};
use crate::sql::Sql;

/// The story of the command.
pub(crate) fn show(store: &Connection, command_id: &str) -> rusqlite::Result<Option<Story>> {
    let mut number = store.prepare_cached(Sql::OutboxNumber.text())?;
    let Some(n) = number.query_row([command_id], |row| row.get(0)).optional()? else {
        return archived(store, command_id);
    };
    let mut list = store.prepare_cached(Sql::ListAll.text())?;
    let none = None::<i64>;
    let line = params![i64::saturating_sub(n, 1), none, none, none, none, none, none, none, 1];
    let mut story = empty(list.query_row(line, listed)?);
    add_outbox(store, n, &mut story)?;
    let is_open = add_delivery(store, n, &mut story)?;
    add_lane(store, command_id, &mut story)?;
    add_receipts(store, n, is_open, &mut story)?;
    add_tries(store, n, &mut story)?;
    story.contradicted = is_contradicted(store, command_id, &story.tries)?;
    story.actions = actions(store, command_id)?;
    add_restores(store, &mut story)?;
    Ok(Some(story))
}

fn empty(listed: Listed) -> Story {
    Story {
        listed,
        decision: None,
        body: None,
        content_type: String::new(),
        headers: None,
        not_before: None,
        expires_at: None,
        first_sent_at: None,
        delivery: None,
        lease: None,
        lane: None,
        receipts: Vec::new(),
        tries: Vec::new(),
        actions: Vec::new(),
        contradicted: false,
        archived: false,
    }
}

fn archived(store: &Connection, command_id: &str) -> rusqlite::Result<Option<Story>> {
    let mut tombstone = store.prepare_cached(Sql::ArchivedRow.text())?;
    let found = tombstone.query_row([command_id], |row| {
        let text = |at| Ok::<_, rusqlite::Error>(lossy(row, at)?.unwrap_or_default());
        Ok(Listed {
            command_id: command_id.into(),
            destination: text(0)?,
            kind: text(1)?,
            state: text(4)?,
            round: count(row, 5)?,
            attempts: 0,
            in_doubt: false,
            available_at: None,
            token: 0,
            recorded_at: Micros::default(),
            last_outcome: None,
            expires_at: None,
            first_sent_at: None,
            is_erased: false,
        })
    });
    let Some(listed) = found.optional()? else { return Ok(None) };
    let actions = actions(store, command_id)?;
    let tries = contradictions(store, command_id)?;
    let contradicted = is_contradicted(store, command_id, &tries)?;
    Ok(Some(Story { archived: true, actions, contradicted, tries, ..empty(listed) }))
}

fn add_outbox(store: &Connection, n: i64, story: &mut Story) -> rusqlite::Result<()> {
    let mut outbox = store.prepare_cached(Sql::FactsOutbox.text())?;
    outbox.query_row([n, n], |row| {
        if let (Some(stream), Some(seq), Some(idx)) = (lossy(row, 2)?, int(row, 3)?, int(row, 4)?) {
            story.decision = Some((stream, seq, idx));
        }
        let is_erased: bool = row.get(15)?;
        story.body = if is_erased { None } else { bytes(row, 8)?.map(<[u8]>::to_vec) };
        story.content_type = lossy(row, 9)?.unwrap_or_default();
        story.headers = lossy(row, 10)?;
        story.not_before = time(row, 12)?;
        story.expires_at = time(row, 13)?;
        Ok(())
    })
}

/// Adds what the open delivery says; whether there is one.
fn add_delivery(store: &Connection, n: i64, story: &mut Story) -> rusqlite::Result<bool> {
    let mut delivery = store.prepare_cached(Sql::DeliveryRow.text())?;
    let open = delivery.query_row([n], |row| row::delivery(row, 0)).optional()?;
    let Some((open, known)) = open else { return Ok(false) };
    story.first_sent_at = open.first_sent_at;
    let owner = open.lease_owner.clone().unwrap_or_default();
    story.lease = open.lease_until.map(|until| (until, owner));
    // Of a state that nobody knows nothing follows.
    story.delivery = known.is_ok().then_some(open);
    Ok(true)
}

fn add_lane(store: &Connection, command_id: &str, story: &mut Story) -> rusqlite::Result<()> {
    let Some(place) = story.delivery.as_ref().and_then(|open| open.key_seq) else { return Ok(()) };
    let mut known = store.prepare_cached(Sql::OutboxAct.text())?;
    let lane = known
        .query_row([command_id], |row| Ok((lossy(row, 1)?.unwrap_or_default(), stored(row, 2)?)));
    if let (destination, Some(key)) = lane? {
        story.lane = Some(lane::place(store, &destination, &key, place)?);
    }
    Ok(())
}

fn add_receipts(
    store: &Connection,
    n: i64,
    is_open: bool,
    story: &mut Story,
) -> rusqlite::Result<()> {
    let mut receipts = store.prepare_cached(Sql::ReceiptOfCommand.text())?;
    let mut rows = receipts.query([n])?;
    while let Some(row) = rows.next()? {
        if !is_open {
            story.first_sent_at = time(row, 8)?;
        }
        story.receipts.push(ReceiptStory {
            round: count(row, 1)?,
            outcome: lossy(row, 2)?.unwrap_or_default(),
            result: bytes(row, 3)?.map(<[u8]>::to_vec),
            evidence: lossy(row, 4)?,
            source: lossy(row, 5)?,
            attempts: count(row, 6)?,
            token: int(row, 7)?.unwrap_or(0),
            first_sent_at: time(row, 8)?,
            digest: row::digest(row, 12)?.map(|digest| digest.to_hex()),
            recorded_at: time(row, 9)?.unwrap_or_default(),
        });
    }
    Ok(())
}

fn add_tries(store: &Connection, n: i64, story: &mut Story) -> rusqlite::Result<()> {
    let mut attempts = store.prepare_cached(Sql::AttemptOfCommand.text())?;
    let tries = attempts.query_map([n], |row| {
        let text = |at| Ok::<_, rusqlite::Error>(lossy(row, at)?.unwrap_or_default());
        Ok(Told {
            at: time(row, 5)?.unwrap_or_default(),
            what: text(2)?,
            outcome: text(3)?,
            reason: text(4)?,
            round: count(row, 0)?,
            token: int(row, 1)?.unwrap_or(0),
        })
    })?;
    story.tries = tries.collect::<rusqlite::Result<_>>()?;
    story.tries.extend(contradictions(store, &story.listed.command_id)?);
    story.tries.sort_by_key(|told| told.at);
    Ok(())
}

fn contradictions(store: &Connection, command_id: &str) -> rusqlite::Result<Vec<Told>> {
    let mut statement = store.prepare_cached(Sql::ContradictionOfCommand.text())?;
    let told = statement.query_map([command_id], |row| {
        Ok(Told {
            at: time(row, 5)?.unwrap_or_default(),
            what: "contradiction".into(),
            outcome: lossy(row, 1)?.unwrap_or_default(),
            reason: lossy(row, 3)?.unwrap_or_default(),
            round: count(row, 0)?,
            token: 0,
        })
    })?;
    told.collect()
}

/// Whether nobody has looked into the newest contradiction among the tries.
fn is_contradicted(store: &Connection, id: &str, tries: &[Told]) -> rusqlite::Result<bool> {
    let said = tries.iter().filter(|told| told.what == "contradiction").map(|told| told.at);
    let Some(last) = said.max() else { return Ok(false) };
    let mut statement = store.prepare_cached(Sql::ActionAcknowledging.text())?;
    let looked = statement.query_map([id], |row| time(row, 0))?;
    let looked = looked.collect::<rusqlite::Result<Vec<_>>>()?.into_iter().flatten().max();
    Ok(looked.is_none_or(|at| at < last))
}

fn actions(store: &Connection, command_id: &str) -> rusqlite::Result<Vec<Told>> {
    let mut statement = store.prepare_cached(Sql::ActionOfCommand.text())?;
    statement.query_map([command_id], action)?.collect()
}

/// Adds the restores that found it open: they put it in doubt.
fn add_restores(store: &Connection, story: &mut Story) -> rusqlite::Result<()> {
    let mut statement = store.prepare_cached(Sql::ActionRestored.text())?;
    let restores = statement.query_map([story.listed.recorded_at.get()], action)?;
    let restores = restores.collect::<rusqlite::Result<Vec<_>>>()?;
    let found: Vec<_> = restores.into_iter().filter(|told| story.was_open_at(told.at)).collect();
    story.actions.extend(found);
    story.actions.sort_by_key(|told| told.at);
    Ok(())
}

fn action(row: &Row<'_>) -> rusqlite::Result<Told> {
    let text = |at| Ok::<_, rusqlite::Error>(lossy(row, at)?.unwrap_or_default());
    let at = time(row, 3)?.unwrap_or_default();
    Ok(Told { at, what: text(0)?, outcome: text(1)?, reason: text(2)?, round: 0, token: 0 })
}
