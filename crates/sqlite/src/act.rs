//! What people do to commands: retry, resolve, cancel, redeliver.
//!
//! Guarantees: a deed and the record of who did it are one write; what a rule refuses changes
//! nothing; the destination's stored contract decides what is safe. Does not: find commands; a
//! filter is a list first.

use counterfoil_core::domain::{
    Delivery, Micros, Next, Position, Reason, Terms, Transition, transition,
};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::{Acted, Actor, Deed};
use rusqlite::{OptionalExtension as _, params};

use crate::destination;
use crate::group::Group;
use crate::lane::{self, Lane};
use crate::member::Work;
use crate::pause::{Action, insert_action};
use crate::position::{self, Subject, Written};
use crate::report::digests_of;
use crate::row::{self, micros};
use crate::sql::Sql;
use crate::tombstone;

/// Deeds of one person.
pub(crate) struct Acting {
    pub(crate) deeds: Vec<Deed>,
    pub(crate) actor: Actor,
}

/// What a deed must know of its command.
struct Known {
    n: i64,
    destination: String,
    ordering_key: Option<Vec<u8>>,
    expires_at: Option<Micros>,
    is_erased: bool,
    is_of_stream: bool,
}

impl Acting {
    pub(crate) fn new(deeds: Vec<Deed>, actor: Actor) -> Result<Self, StoreError> {
        check_actor(&actor)?;
        Ok(Self { deeds, actor })
    }
}

/// Refuses who cannot be named in a record.
pub(crate) fn check_actor(actor: &Actor) -> Result<(), StoreError> {
    if (1..=255).contains(&actor.name.len()) {
        return Ok(());
    }
    let why = "an actor has a name of 1 to 255 bytes: say who acts";
    Err(StoreError::Broken(why.into()))
}

impl Work for Acting {
    type Answer = Vec<Acted>;

    fn size(&self) -> usize {
        self.deeds.len().saturating_mul(4)
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Vec<Acted>> {
        self.deeds.iter().map(|deed| act(group, deed, &self.actor)).collect()
    }

    fn wakes(&self, acted: &Vec<Acted>) -> bool {
        acted.iter().any(|one| matches!(one, Acted::Done { .. }))
    }
}

/// Does one deed.
pub(crate) fn act(group: &mut Group<'_>, deed: &Deed, actor: &Actor) -> rusqlite::Result<Acted> {
    let id = deed.command_id.as_str();
    let Some(known) = find(group, id)? else {
        return act_on_archived(group, deed, actor);
    };
    let Some(stands) = position::read(group, known.n)? else {
        return Ok(Acted::Refused(Reason::Ended));
    };
    if let Some(reason) = deed.refused_before(&stands.position, known.is_erased) {
        return Ok(Acted::Refused(reason));
    }
    if let Position::Ended(ended) = &stands.position
        && deed.acknowledges()
        && is_contradicted(group, id)?
    {
        let outcome = ended.outcome.name();
        record(group, deed, actor, (outcome, outcome))?;
        return Ok(Acted::Done { before: outcome, after: outcome });
    }
    let digests = digests_of(group, known.n, &stands)?;
    let before = stands.position;
    let terms = Terms::new(destination::stored(group, &known.destination)?);
    let on_parked = Some(terms.contract.on_parked);
    let lane = known.ordering_key.as_deref();
    let to = known.destination.as_bytes();
    let lane = lane.map(|key| (Lane { destination: to, key }, on_parked));
    let is_of_stream = known.is_of_stream;
    let subject = Subject::new(known.n, id, &known.destination);
    let subject = Subject { digests, lane, is_of_stream, ..subject };
    let input = deed.act.input(actor, known.expires_at);
    let next = transition(&before, input, &terms, group.now);
    let after = match next {
        Transition::Applied { next: Next::Open(delivery), .. }
            if matches!(before, Position::Ended(_)) =>
        {
            reopen(group, subject, &before, delivery)?
        }
        next => match position::write(group, subject, &before, next)? {
            Written::Open(state) => state.name(),
            Written::Ended(outcome) => outcome,
            Written::Contradicted => return Ok(Acted::Refused(Reason::Ended)),
            Written::Ignored(reason) | Written::Refused(reason) => {
                return Ok(Acted::Refused(reason));
            }
        },
    };
    let before = name(&before);
    record(group, deed, actor, (before, after))?;
    Ok(Acted::Done { before, after })
}

fn act_on_archived(group: &mut Group<'_>, deed: &Deed, actor: &Actor) -> rusqlite::Result<Acted> {
    let id = deed.command_id.as_str();
    let Some(tombstone) = tombstone::find(group.connection, id)? else {
        return Ok(Acted::Unknown);
    };
    let acted = deed.to_archived(&tombstone.outcome, is_contradicted(group, id)?);
    if let Acted::Done { before, after } = acted {
        record(group, deed, actor, (before, after))?;
    }
    Ok(acted)
}

fn record(
    group: &mut Group<'_>,
    deed: &Deed,
    actor: &Actor,
    (before, after): (&'static str, &'static str),
) -> rusqlite::Result<()> {
    let action = Action { verb: deed.act.name(), about: &deed.command_id, actor: &actor.name };
    let reason = (!actor.reason.is_empty()).then_some(actor.reason.as_str());
    insert_action(group, &action, reason, (Some(before), after))
}

fn find(group: &mut Group<'_>, id: &str) -> rusqlite::Result<Option<Known>> {
    let known = group.sql(Sql::OutboxAct)?.query_row([id], |row| {
        Ok(Known {
            n: row::int(row, 0)?.unwrap_or(0),
            destination: row::lossy(row, 1)?.unwrap_or_default(),
            ordering_key: row::stored(row, 2)?,
            expires_at: row::time(row, 3)?,
            is_erased: row.get(4)?,
            is_of_stream: row.get(5)?,
        })
    });
    known.optional()
}

/// Whether a report contradicts the command's receipt, and nobody has looked into it since.
fn is_contradicted(group: &mut Group<'_>, id: &str) -> rusqlite::Result<bool> {
    let mut said = group.sql(Sql::ContradictionOfCommand)?.query([id])?;
    let mut last = None;
    while let Some(row) = said.next()? {
        last = last.max(Some(row::time(row, 5)?.unwrap_or_default()));
    }
    drop(said);
    let mut looked = group.sql(Sql::ActionAcknowledging)?.query([id])?;
    while let Some(row) = looked.next()? {
        last = last.filter(|last| row::time(row, 0).ok().flatten().is_none_or(|at| at < *last));
    }
    Ok(last.is_some())
}

const fn name(position: &Position) -> &'static str {
    match position {
        Position::Open(open) => open.state.name(),
        Position::Ended(ended) => ended.outcome.name(),
    }
}

/// An ended command is open again: it is counted as ended no more.
fn reopen(
    group: &mut Group<'_>,
    subject: Subject<'_>,
    before: &Position,
    delivery: Delivery,
) -> rusqlite::Result<&'static str> {
    if let Position::Ended(ended) = before {
        group.uncount(subject.destination, ended.outcome);
    }
    let delivery = lane::without_turn(None, delivery);
    group.sql(Sql::DeliveryReopen)?.execute(params![
        delivery.n,
        delivery.round,
        micros(delivery.available_at),
        delivery.token.get(),
        delivery.key_seq,
        micros(delivery.first_sent_at),
    ])?;
    position::give_turn(group, subject)?;
    Ok(delivery.state.name())
}
