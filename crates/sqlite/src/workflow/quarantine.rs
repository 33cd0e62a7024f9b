//! Sets a workflow aside with its inputs, and takes it up again.
//!
//! Guarantees: its inputs go with it in one write, so that no runner meets them; nothing of them is
//! lost. Does not: say what is wrong with it; the runner does.

use counterfoil_core::domain::Stream;
use counterfoil_core::domain::workflow::Status;
use counterfoil_core::port::Actor;
use counterfoil_core::port::workflow::{Quarantine, RETRY_VERB};
use rusqlite::{OptionalExtension as _, params};

use crate::group::Group;
use crate::member::Work;
use crate::pause::{Action, insert_action};
use crate::row::{bytes, int, lossy};
use crate::sql::Sql;

/// One workflow to be set aside.
pub(crate) struct SetAside(pub(crate) Quarantine);

impl Work for SetAside {
    /// Whether it was where the caller said.
    type Answer = bool;

    fn size(&self) -> usize {
        2
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<bool> {
        let Quarantine { stream, program, expected_seq, reason, input } = &self.0;
        let stream = stream.as_str();
        let (is_workflow, is_set_aside, head) =
            group.sql(Sql::StreamStands)?.query_row([stream], |row| {
                let is_set_aside = bytes(row, 2)? == Some(Status::Quarantined.name().as_bytes());
                let is_workflow = bytes(row, 0)?.is_some();
                let head = if is_workflow { int(row, 3)? } else { int(row, 4)? };
                Ok((is_workflow, is_set_aside, head.unwrap_or(0)))
            })?;
        // Before its start was decided it is nowhere, whatever events stand there.
        let is_there = head == *expected_seq || (!is_workflow && *expected_seq == 0);
        if is_set_aside || !is_there {
            return Ok(false);
        }
        let now = group.now.get();
        let (name, version) = (program.name(), program.version());
        let aside = params![stream, name, version, head, reason, input, now];
        group.sql(Sql::StreamQuarantine)?.execute(aside)?;
        group.sql(Sql::InputServe)?.execute(params![stream, None::<String>])?;
        Ok(true)
    }
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
