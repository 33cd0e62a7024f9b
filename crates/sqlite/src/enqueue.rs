//! Records bare commands on the store's own connection.
//!
//! Guarantees: the rules of the SQL guard, kept in Rust, since triggers are off here: values,
//! archived ids, one id one intent, a delivery beside each row. Does not: write events.

use counterfoil_core::domain::{Command, CommandId, Micros, OrderingKey};
use counterfoil_core::port::intent::{self, Address, Standing, Tombstone};
use counterfoil_core::port::store::{Recorded, WriteRefused};
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Row, params};

use crate::group::Group;
use crate::lane::{self, Lane};
use crate::member::Work;
use crate::row::{Body, bytes, digest};
use crate::sql::Sql;

/// Bare commands, each by itself.
pub(crate) struct Enqueue {
    pub(crate) commands: Vec<Command>,
    pub(crate) body_bytes_max: usize,
}

/// What enqueueing each came to.
pub(crate) type Enqueued = Vec<Result<Recorded, WriteRefused>>;

impl Work for Enqueue {
    type Answer = Enqueued;

    fn size(&self) -> usize {
        self.commands.len().saturating_mul(2)
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Enqueued> {
        let record = |command| record_bare(group, command, self.body_bytes_max);
        self.commands.iter().map(record).collect()
    }

    /// Each command that was new must stand now with its content.
    fn stands(&self, store: &Connection, answer: &Enqueued) -> rusqlite::Result<Option<bool>> {
        for (command, answer) in self.commands.iter().zip(answer) {
            if let (Ok(Recorded::Recorded), Some(id)) = (answer, &command.id) {
                let mut twin = store.prepare_cached(Sql::OutboxTwin.text())?;
                if !find_twin(&mut twin, id, command)?.unwrap_or(false) {
                    return Ok(Some(false));
                }
            }
        }
        Ok(Some(true))
    }

    fn wakes(&self, answer: &Enqueued) -> bool {
        answer.contains(&Ok(Recorded::Recorded))
    }
}

/// Records a bare command, unless its id stands.
pub(crate) fn record_bare(
    group: &mut Group<'_>,
    command: &Command,
    body_bytes_max: usize,
) -> rusqlite::Result<Result<Recorded, WriteRefused>> {
    let id = match intent::check_bare(command, body_bytes_max) {
        Ok(id) => id,
        Err(refused) => return Ok(Err(refused)),
    };
    let archived = group.sql(Sql::ArchivedRow)?;
    let same =
        archived.query_row([id.as_str()], |row| is_archived_twin(row, command)).optional()?;
    let same = match same {
        Some(same) => same,
        None if insert(group, id, None, command)?.is_some() => {
            return Ok(Ok(Recorded::Recorded));
        }
        None => find_twin(group.sql(Sql::OutboxTwin)?, id, command)?.unwrap_or(false),
    };
    Ok(if same { Ok(Recorded::Repeated) } else { Err(intent::conflict(id)) })
}

/// Where a command of a decision stands.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) stream: &'a str,
    pub(crate) seq: i64,
    pub(crate) idx: i64,
}

/// Inserts the outbox row and its delivery, unless the id stands; gives its `n`.
pub(crate) fn insert(
    group: &mut Group<'_>,
    id: &CommandId,
    place: Option<Place<'_>>,
    command: &Command,
) -> rusqlite::Result<Option<i64>> {
    let now = group.now;
    if insert_row(group.sql(Sql::OutboxInsert)?, id, place, command, Some(now))? == 0 {
        return Ok(None);
    }
    let n = group.connection.last_insert_rowid();
    let due = command.not_before.unwrap_or(now).get();
    let destination = command.destination.as_str();
    let key = command.ordering_key.as_ref().map(OrderingKey::as_str);
    let lane = key.map(|key| Lane::of(destination, key));
    let arrival = lane.map(|lane| lane::draw(group, lane, n)).transpose()?;
    let turn = arrival.as_ref().and_then(|arrival| arrival.turn);
    let due = match (lane, turn) {
        (None, _) => Some(due),
        // As whoever is given the turn later.
        (Some(_), Some(_)) => Some(due.max(now.get())),
        (Some(_), None) => None,
    };
    let key_seq = arrival.as_ref().map(|arrival| arrival.key_seq);
    let expires_at = command.expires_at.map(Micros::get);
    let delivery = group.sql(Sql::DeliveryInsert)?;
    delivery.execute(params![n, destination, due, turn, expires_at, key, key_seq])?;
    if let (Some(lane), true) = (lane, arrival.is_some_and(|arrival| arrival.is_freed)) {
        lane::turn(group, lane, None)?;
    }
    Ok(Some(n))
}

/// Inserts the outbox row alone; gives how many rows were inserted.
pub(crate) fn insert_row(
    statement: &mut CachedStatement<'_>,
    id: &CommandId,
    place: Option<Place<'_>>,
    command: &Command,
    recorded_at: Option<Micros>,
) -> rusqlite::Result<usize> {
    statement.execute(params![
        id.as_str(),
        place.map(|place| place.stream),
        place.map(|place| place.seq),
        place.map(|place| place.idx),
        command.destination.as_str(),
        command.kind.as_str(),
        Body { bytes: &command.body, is_text: command.body_is_text },
        command.content_type,
        command.headers_json(),
        command.core_digest.map(|digest| digest.to_hex()),
        command.not_before.map(Micros::get),
        command.expires_at.map(Micros::get),
        recorded_at.map(Micros::get),
        command.ordering_key.as_ref().map(OrderingKey::as_str),
    ])
}

/// Whether what stands under the id is the same intent; `None` if nothing stands.
pub(crate) fn find_twin(
    statement: &mut CachedStatement<'_>,
    id: &CommandId,
    command: &Command,
) -> rusqlite::Result<Option<bool>> {
    statement.query_row([id.as_str()], |row| is_twin(row, command)).optional()
}

/// Whether the row is the same intent.
fn is_twin(row: &Row<'_>, command: &Command) -> rusqlite::Result<bool> {
    let Some(body) = bytes(row, 3)? else { return Ok(false) };
    let (core_digest, erased) = (bytes(row, 4)?, row.get(5)?);
    Ok(Standing { address: address(row)?, body, core_digest, erased }.is_same(command))
}

/// Whether the archived command is the same intent.
pub(crate) fn is_archived_twin(row: &Row<'_>, command: &Command) -> rusqlite::Result<bool> {
    Ok(Tombstone { address: address(row)?, digest: digest(row, 3)? }.is_same(command))
}

/// The first three columns.
fn address<'row>(row: &'row Row<'_>) -> rusqlite::Result<Address<'row>> {
    let text = |column| Ok::<_, rusqlite::Error>(bytes(row, column)?.unwrap_or_default());
    Ok(Address { destination: text(0)?, kind: text(1)?, ordering_key: bytes(row, 2)? })
}
