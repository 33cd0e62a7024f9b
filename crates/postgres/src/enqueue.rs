//! Records bare commands on the store's own connections.
//!
//! Guarantees: the rules of the SQL guards, kept in Rust and in one statement, since the guards
//! trust us: values, archived ids, one id one intent, a delivery beside each row. Ids and lanes are
//! locked in order, so that batches do not deadlock. Does not: write events.

mod arrive;
mod twin;

use std::collections::{BTreeMap, BTreeSet};

use counterfoil_core::domain::{Command, CommandId, Micros, OrderingKey};
use counterfoil_core::port::intent;
use counterfoil_core::port::store::{Recorded, WriteRefused};
use tokio_postgres::Row;

pub(crate) use self::arrive::arrive;
use self::twin::Twin;
use crate::failure::Failure;
use crate::group::Group;
use crate::row::{self, micros};
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

const INSERT: Statement = statement!("outbox_insert");
const TWIN: Statement = statement!("outbox_twin");

/// What enqueueing each came to.
pub(crate) type Enqueued = Vec<Result<Recorded, WriteRefused>>;

/// Bare commands, each by itself.
pub(crate) struct Enqueue<'a> {
    store: &'a Inner,
    commands: Vec<Command>,
}

impl<'a> Enqueue<'a> {
    pub(crate) fn new(store: &'a Inner, commands: Vec<Command>) -> Self {
        Self { store, commands }
    }
}

impl Work for Enqueue<'_> {
    type Answer = Enqueued;

    async fn run(&self, tx: &Tx<'_>) -> Result<Enqueued, Failure> {
        let batch = Batch::new(&self.commands, self.store.body_bytes_max());
        // Told beforehand, since it commits with its last statement.
        made_due(tx, &batch.given, self.store.now());
        let new = if batch.has_lanes() {
            batch.insert(tx, self.store, None).await?
        } else {
            // One round trip; what is compared afterwards never changes.
            tx.commit_with(insert_rows(tx, &batch.given, None, None)).await?
        };
        if new.now > Micros::default() {
            self.store.told(new.now);
        }
        let standing = batch.read_twins(tx, &new).await?;
        Ok(batch.answer(&new, &standing))
    }

    /// By its ids it finds what it wrote, and waits for a COMMIT that is still under way.
    async fn look_again(&self, tx: &Tx<'_>) -> Result<Option<Enqueued>, Failure> {
        self.run(tx).await.map(Some)
    }

    fn wakes(&self, answer: &Enqueued) -> bool {
        answer.contains(&Ok(Recorded::Recorded))
    }
}

/// Records a bare command, unless its id stands.
pub(crate) async fn record_bare(
    group: &mut Group<'_>,
    command: &Command,
    body_bytes_max: usize,
) -> Result<Result<Recorded, WriteRefused>, Failure> {
    let batch = Batch::new(std::slice::from_ref(command), body_bytes_max);
    let new = batch.insert(group.tx, group.store, Some(group.now)).await?;
    let standing = batch.read_twins(group.tx, &new).await?;
    let mut answers = batch.answer(&new, &standing);
    answers.pop().ok_or_else(|| Failure::broken("no answer about a command"))
}

/// Bare commands that were checked; of each id the first is to be written.
struct Batch<'c> {
    /// Each with its id, or why it is refused.
    checked: Vec<(&'c Command, Result<&'c CommandId, WriteRefused>)>,
    given: Vec<Given<'c>>,
}

impl<'c> Batch<'c> {
    fn new(commands: &'c [Command], body_bytes_max: usize) -> Self {
        let check = |command| (command, intent::check_bare(command, body_bytes_max));
        let checked: Vec<_> = commands.iter().map(check).collect();
        let mut seen = BTreeSet::new();
        let first = |(command, checked): &(&'c Command, Result<&'c CommandId, _>)| {
            let id = *checked.as_ref().ok()?;
            seen.insert(id).then_some(Given { id, command, place: None })
        };
        let given = checked.iter().filter_map(first).collect();
        Self { checked, given }
    }

    fn has_lanes(&self) -> bool {
        self.given.iter().any(|given| given.command.ordering_key.is_some())
    }

    async fn insert(
        &self,
        tx: &Tx<'_>,
        store: &Inner,
        now: Option<Micros>,
    ) -> Result<Inserted, Failure> {
        let new = insert_rows(tx, &self.given, now, None).await?;
        made_due(tx, &self.given, new.now);
        arrive(&Group::at(tx, store, new.now), &new).await?;
        Ok(new)
    }

    /// What stands under the ids that were not inserted.
    async fn read_twins(&self, tx: &Tx<'_>, new: &Inserted) -> Result<Vec<Twin>, Failure> {
        let others = self.given.iter().map(|given| given.id.as_str());
        let others: Vec<&str> = others.filter(|id| !new.rows.contains_key(*id)).collect();
        if others.is_empty() {
            return Ok(Vec::new());
        }
        let rows = tx.query(TWIN, &[&others]).await?;
        if rows.len() < others.len() {
            return Err(Failure::Again("what stood under an id is gone".into()));
        }
        Ok(rows.into_iter().filter_map(Twin::of).collect())
    }

    fn answer(&self, new: &Inserted, standing: &[Twin]) -> Enqueued {
        let first: BTreeMap<&CommandId, &Command> =
            self.given.iter().map(|given| (given.id, given.command)).collect();
        let standing: BTreeMap<&str, &Twin> =
            standing.iter().map(|twin| (twin.id.as_str(), twin)).collect();
        let answer = |(command, checked): &(&Command, Result<&CommandId, WriteRefused>)| {
            let id = *checked.as_ref().map_err(WriteRefused::clone)?;
            let same = match first.get(id).filter(|_| new.has(id)) {
                Some(first) if std::ptr::eq(*first, *command) => return Ok(Recorded::Recorded),
                Some(first) => intent::is_same(first, command),
                None => standing.get(id.as_str()).is_some_and(|twin| twin.is_same(command)),
            };
            if same { Ok(Recorded::Repeated) } else { Err(intent::conflict(id)) }
        };
        self.checked.iter().map(answer).collect()
    }
}

/// Where a command of a decision stands.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) stream: &'a str,
    pub(crate) seq: i64,
    pub(crate) idx: i32,
}

/// A command to be written under an id.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) id: &'a CommandId,
    pub(crate) command: &'a Command,
    pub(crate) place: Option<Place<'a>>,
}

/// A row that was inserted.
struct NewRow {
    n: i64,
    lane: Option<(String, String, i64)>,
}

/// What was inserted, by id, and when.
#[derive(Default)]
pub(crate) struct Inserted {
    pub(crate) now: Micros,
    rows: BTreeMap<String, NewRow>,
}

impl Inserted {
    pub(crate) fn has(&self, id: &CommandId) -> bool {
        self.rows.contains_key(id.as_str())
    }
}

/// Inserts the outbox rows and deliveries of those whose ids are free, with one id once. `now`: the
/// server's time if it is `None`. `behind`: only if this transaction wrote that event.
pub(crate) async fn insert_rows(
    tx: &Tx<'_>,
    given: &[Given<'_>],
    now: Option<Micros>,
    behind: Option<(&str, i64)>,
) -> Result<Inserted, Failure> {
    if given.is_empty() {
        return Ok(Inserted::default());
    }
    let of = |field: fn(&Given<'_>) -> Option<i64>| given.iter().map(field).collect::<Vec<_>>();
    let command = || given.iter().map(|given| given.command);
    let ids: Vec<&str> = given.iter().map(|given| given.id.as_str()).collect();
    let place = || given.iter().map(|given| given.place);
    let streams: Vec<Option<&str>> = place().map(|place| Some(place?.stream)).collect();
    let idx: Vec<Option<i32>> = place().map(|place| Some(place?.idx)).collect();
    let destinations: Vec<&str> = command().map(|it| it.destination.as_str()).collect();
    let kinds: Vec<&str> = command().map(|it| it.kind.as_str()).collect();
    let keys: Vec<Option<&str>> =
        command().map(|it| it.ordering_key.as_ref().map(OrderingKey::as_str)).collect();
    let bodies: Vec<&[u8]> = command().map(|it| it.body.as_slice()).collect();
    let types: Vec<&str> = command().map(|it| it.content_type.as_str()).collect();
    let headers: Vec<Option<String>> = command().map(Command::headers_json).collect();
    let cores: Vec<Option<String>> =
        command().map(|it| it.core_digest.map(|digest| digest.to_hex())).collect();
    let seqs = of(|given| given.place.map(|place| place.seq));
    let not_before = of(|given| micros(given.command.not_before));
    let expires_at = of(|given| micros(given.command.expires_at));
    let (stream, seq) = behind.unzip();
    let rows = tx
        .query(
            INSERT,
            &[
                &ids,
                &streams,
                &seqs,
                &idx,
                &destinations,
                &kinds,
                &keys,
                &bodies,
                &types,
                &headers,
                &cores,
                &not_before,
                &expires_at,
                &micros(now),
                &stream,
                &seq,
            ],
        )
        .await?;
    Ok(read_inserted(&rows))
}

fn read_inserted(rows: &[Row]) -> Inserted {
    let now = rows.first().and_then(|row| row::time(row, 0)).unwrap_or_default();
    let new = |row: &Row| {
        let n = row::int(row, 1)?;
        let key = row::string(row, 4).zip(row::int(row, 5));
        let destination = || row::string(row, 3).unwrap_or_default();
        let lane = key.map(|(key, key_seq)| (destination(), key, key_seq));
        Some((row::string(row, 2)?, NewRow { n, lane }))
    };
    Inserted { now, rows: rows.iter().filter_map(new).collect() }
}

/// What is new may be due before what claims have come to, where its `not_before` is past or this
/// transaction takes its time; in any case it is news.
pub(crate) fn made_due(tx: &Tx<'_>, given: &[Given<'_>], now: Micros) {
    if !given.is_empty() {
        tx.has_news();
    }
    for command in given.iter().map(|given| given.command) {
        let at = command.not_before.filter(|_| command.ordering_key.is_none()).unwrap_or(now);
        tx.made_due(command.destination.as_str(), at, now);
    }
}
