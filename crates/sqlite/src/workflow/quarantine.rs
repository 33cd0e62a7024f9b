//! Sets a workflow aside with its inputs, and takes it up again.
//!
//! Guarantees: its inputs go with it in one write, so that no runner meets them; nothing of them is
//! lost. One that never began is forgotten with what points to receipts of its stream: that is
//! somebody else's. Does not: say what is wrong with it; the runner does.

use counterfoil_core::domain::Stream;
use counterfoil_core::domain::workflow::Status;
use counterfoil_core::port::Actor;
use counterfoil_core::port::workflow::{
    Aside, EXPIRE_ACTOR, Quarantine, RETRY_VERB, SET_ASIDE_VERB, aside_reason,
};
use rusqlite::{OptionalExtension as _, params};

use crate::group::Group;
use crate::member::Work;
use crate::pause::{Action, insert_action};
use crate::row::{bytes, int, lossy};
use crate::sql::Sql;

/// One workflow to be set aside.
pub(crate) struct SetAside(pub(crate) Quarantine);

impl Work for SetAside {
    type Answer = Aside;

    fn size(&self) -> usize {
        2
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Aside> {
        let Quarantine { stream, program, expected_seq, reason, input } = &self.0;
        let stream = stream.as_str();
        let (status, head) = group.sql(Sql::StreamStands)?.query_row([stream], |row| {
            let status = lossy(row, 2)?.filter(|_| bytes(row, 0).is_ok_and(|it| it.is_some()));
            let head = if status.is_some() { int(row, 3)? } else { int(row, 4)? };
            Ok((status, head.unwrap_or(0)))
        })?;
        if status.is_none() && head > 0 && !begins_with_a_start(group, stream)? {
            return self.take_away(group);
        }
        let may_be = match status {
            Some(status) => status == Status::Running.name() && head == *expected_seq,
            // Before its start was decided it is nowhere, whatever events stand there.
            None => *expected_seq == 0 || head == *expected_seq,
        };
        if !may_be {
            return Ok(Aside::Moved);
        }
        let now = group.now.get();
        let (name, version) = (program.name(), program.version());
        let input = Some(input).filter(|input| !input.is_empty());
        let aside = params![stream, name, version, head, reason, input, now];
        group.sql(Sql::StreamQuarantine)?.execute(aside)?;
        group.sql(Sql::InputServe)?.execute(params![stream, None::<String>])?;
        Ok(Aside::Workflow)
    }
}

impl SetAside {
    /// The stream is a service's own: the input alone goes.
    fn take_away(&self, group: &mut Group<'_>) -> rusqlite::Result<Aside> {
        let Quarantine { stream, reason, input, .. } = &self.0;
        let gone = group.sql(Sql::InputTakeAway)?.query_row([stream.as_str(), input], |row| {
            Ok((lossy(row, 0)?.unwrap_or_default(), lossy(row, 1)?.unwrap_or_default()))
        });
        let Some((kind, name)) = gone.optional()? else { return Ok(Aside::Moved) };
        let why = aside_reason(input, &kind, &name, reason);
        let about = stream.as_str();
        let action = Action { verb: SET_ASIDE_VERB, about, actor: EXPIRE_ACTOR };
        insert_action(group, &action, Some(&why), (Some("waiting"), "gone"))?;
        Ok(Aside::Input)
    }
}

fn begins_with_a_start(group: &mut Group<'_>, stream: &str) -> rusqlite::Result<bool> {
    group.sql(Sql::EventBegins)?.query_row([stream], |row| row.get(0))
}

/// One workflow to be taken up again.
pub(crate) struct TakeUp {
    pub(crate) stream: Stream,
    pub(crate) actor: Actor,
}

impl Work for TakeUp {
    /// Whether it was set aside.
    type Answer = bool;

    fn size(&self) -> usize {
        2
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<bool> {
        let stream = self.stream.as_str();
        let found = group.sql(Sql::StreamNeverBegan)?.query_row([stream], |row| {
            let program =
                format!("{}/{}", lossy(row, 0)?.unwrap_or_default(), row.get::<_, i64>(1)?);
            Ok((program, row.get(2)?))
        });
        let Some((program, never_began)) = found.optional()? else { return Ok(false) };
        if never_began {
            group.sql(Sql::StreamForget)?.execute([stream])?;
            group.sql(Sql::InputPointersEnd)?.execute([stream])?;
            group.sql(Sql::InputRestart)?.execute([stream])?;
        } else {
            let now = group.now.get();
            group.sql(Sql::StreamRetry)?.execute(params![stream, now])?;
            group.sql(Sql::InputServe)?.execute(params![stream, program])?;
        }
        let action = Action { verb: RETRY_VERB, about: stream, actor: &self.actor.name };
        let reason = Some(self.actor.reason.as_str()).filter(|reason| !reason.is_empty());
        let after = if never_began { "waiting" } else { Status::Running.name() };
        insert_action(group, &action, reason, (Some(Status::Quarantined.name()), after))?;
        Ok(true)
    }

    fn wakes(&self, taken_up: &bool) -> bool {
        *taken_up
    }
}
