//! What a person does to a workflow that cannot go on: takes an input away, or ends it.
//!
//! Guarantees: recorded in the same write; an input whose id is no UTF-8 goes by what is shown of
//! it; the row, the events and the timers of a workflow that is
//! ended agree. Does not: undo, or take back what is on its way.

use counterfoil_core::domain::Stream;
use counterfoil_core::domain::workflow::Status;
use counterfoil_core::port::Actor;
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::workflow::{
    DROP_VERB, Dropped, END_VERB, EndByHand, EndedByHand, drop_reason,
};
use rusqlite::{OptionalExtension as _, Row, params};

use crate::append::insert_event;
use crate::group::Group;
use crate::member::Work;
use crate::pause::{Action, insert_action};
use crate::row::lossy;
use crate::sql::Sql;

/// One input to be taken away.
pub(crate) struct Drop {
    pub(crate) stream: Stream,
    pub(crate) input: String,
    pub(crate) actor: Actor,
}

impl Work for Drop {
    type Answer = Dropped;

    fn size(&self) -> usize {
        2
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Dropped> {
        let (stream, id) = (self.stream.as_str(), self.input.as_str());
        let found = match self.find(group, true)? {
            None if is_shown(stream) || is_shown(id) => self.find_shown(group)?,
            found => found,
        };
        let Some(Found { rowid, kind, name, is_served }) = found else {
            return Ok(Dropped::Unknown);
        };
        if let Some(refused) = Dropped::refused(&kind, is_served) {
            return Ok(refused);
        }
        group.sql(Sql::InputRemove)?.execute([rowid])?;
        let why = drop_reason(id, &kind, &name, &self.actor.reason);
        let action = Action { verb: DROP_VERB, about: stream, actor: &self.actor.name };
        insert_action(group, &action, Some(&why), (Some("waiting"), "gone"))?;
        Ok(Dropped::Done)
    }
}

/// An input that a person named.
struct Found {
    rowid: i64,
    kind: String,
    name: String,
    is_served: bool,
}

/// Whether a name may be what is shown of one that is no UTF-8.
fn is_shown(name: &str) -> bool {
    name.contains(char::REPLACEMENT_CHARACTER)
}

impl Drop {
    /// The input of this id, or the first of its stream that is shown so.
    fn find(&self, group: &mut Group<'_>, is_exact: bool) -> rusqlite::Result<Option<Found>> {
        let (stream, id) = (self.stream.as_str(), self.input.as_str());
        let statement = group.sql(Sql::InputByHand)?;
        let from = if is_exact { id } else { "" };
        let mut rows = statement.query(params![stream, from, !is_exact])?;
        while let Some(row) = rows.next()? {
            if is_exact || lossy(row, 3)?.as_deref() == Some(id) {
                return found(row, [0, 1, 2], row.get(4)?).map(Some);
            }
        }
        Ok(None)
    }

    /// The same where a name is no UTF-8; of a stream of such a name what is set aside.
    fn find_shown(&self, group: &mut Group<'_>) -> rusqlite::Result<Option<Found>> {
        let found = self.find(group, false)?;
        if found.is_some() || !is_shown(self.stream.as_str()) {
            return Ok(found);
        }
        let statement = group.sql(Sql::InputAside)?;
        let mut rows = statement.query(["", ""])?;
        while let Some(row) = rows.next()? {
            let is_it = lossy(row, 1)?.as_deref() == Some(self.stream.as_str())
                && lossy(row, 2)?.as_deref() == Some(self.input.as_str());
            if is_it {
                return self::found(row, [0, 3, 4], false).map(Some);
            }
        }
        Ok(None)
    }
}

fn found(row: &Row<'_>, at: [usize; 3], is_served: bool) -> rusqlite::Result<Found> {
    let text = |at| Ok::<_, rusqlite::Error>(lossy(row, at)?.unwrap_or_default());
    let (kind, name) = (text(at[1])?, text(at[2])?);
    Ok(Found { rowid: row.get(at[0])?, kind, name, is_served })
}

/// One workflow to be ended.
pub(crate) struct End {
    stream: Stream,
    actor: Actor,
    by_hand: EndByHand,
}

impl End {
    pub(crate) fn new(stream: Stream, actor: Actor) -> Result<Self, StoreError> {
        let by_hand = EndByHand::new(&actor.reason);
        let by_hand = by_hand.map_err(|why| StoreError::Broken(why.to_string()))?;
        Ok(Self { stream, actor, by_hand })
    }
}

impl Work for End {
    type Answer = EndedByHand;

    fn size(&self) -> usize {
        4
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<EndedByHand> {
        let stream = self.stream.as_str();
        let found = group.sql(Sql::StreamByHand)?.query_row([stream], |row| {
            let version: i64 = row.get(1)?;
            let program = format!("{}/{version}", lossy(row, 0)?.unwrap_or_default());
            Ok((program, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?, row.get::<_, bool>(4)?))
        });
        let (program, head) = match found.optional()? {
            None => return Ok(EndedByHand::NotAside),
            Some((.., true)) => return Ok(EndedByHand::NeverBegan),
            Some((_, head, newest, false)) if head != newest => return Ok(EndedByHand::Torn),
            Some((program, head, ..)) => (program, head + 1),
        };
        let now = group.now;
        let (event, decided) = self.by_hand.at(head, now);
        let insert = group.sql(Sql::EventInsert)?;
        insert_event(insert, (stream, head, now), &event, 0, Some(decided))?;
        group.sql(Sql::StreamEnd)?.execute(params![stream, head, now.get()])?;
        group.sql(Sql::InputTimersEnd)?.execute([stream])?;
        group.sql(Sql::InputServe)?.execute(params![stream, program])?;
        let action = Action { verb: END_VERB, about: stream, actor: &self.actor.name };
        let (before, after) = (Status::Quarantined.name(), Status::Failed.name());
        let reason = Some(self.actor.reason.as_str()).filter(|reason| !reason.is_empty());
        insert_action(group, &action, reason, (Some(before), after))?;
        Ok(EndedByHand::Done)
    }

    fn wakes(&self, ended: &EndedByHand) -> bool {
        *ended == EndedByHand::Done
    }
}
