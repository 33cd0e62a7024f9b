//! Sets a workflow aside with its inputs, and takes it up again.
//!
//! Guarantees: its inputs go with it in one transaction, so that no runner meets them; one that
//! comes meanwhile is noted by who meets it; nothing is lost. Does not: say what is wrong with it;
//! the runner does.

use counterfoil_core::domain::Stream;
use counterfoil_core::domain::workflow::Status;
use counterfoil_core::port::Actor;
use counterfoil_core::port::workflow::{Quarantine, RETRY_VERB};

use crate::failure::Failure;
use crate::group::Group;
use crate::pause::{Action, insert_action};
use crate::row::{flag, int, string};
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

pub(super) const SERVE: Statement = statement!("input_serve");
const QUARANTINE: Statement = statement!("stream_quarantine");
const ASIDE: Statement = statement!("stream_aside");
const FORGET: Statement = statement!("stream_forget");
const POINTERS_END: Statement = statement!("input_pointers_end");
const RESTART: Statement = statement!("input_restart");
const RETRY: Statement = statement!("stream_retry");

/// One workflow to be set aside.
pub(crate) struct SetAside(pub(crate) Quarantine);

impl Work for SetAside {
    /// Whether it was where the caller said.
    type Answer = bool;

    async fn run(&self, tx: &Tx<'_>) -> Result<bool, Failure> {
        let Quarantine { stream, program, expected_seq, reason, input } = &self.0;
        let (stream, name, version) =
            (stream.as_str(), program.name(), i64::from(program.version()));
        let input = Some(input.as_str()).filter(|input| !input.is_empty());
        let row: [&dyn crate::param::Param; 6] =
            [&stream, &name, &version, expected_seq, reason, &input];
        if tx.query(QUARANTINE, &row).await?.is_empty() {
            return Ok(false);
        }
        tx.execute(SERVE, &[&vec![stream], &vec![None::<&str>]]).await?;
        Ok(true)
    }
}

/// One workflow to be taken up again.
pub(crate) struct TakeUp<'a> {
    pub(crate) store: &'a Inner,
    pub(crate) stream: Stream,
    pub(crate) actor: Actor,
}

impl Work for TakeUp<'_> {
    /// Whether it was set aside.
    type Answer = bool;

    async fn run(&self, tx: &Tx<'_>) -> Result<bool, Failure> {
        let stream = self.stream.as_str();
        let row = tx.query_opt(ASIDE, &[&stream]).await?;
        let Some(row) = row.filter(|row| flag(row, 2)) else { return Ok(false) };
        let program =
            format!("{}/{}", string(&row, 0).unwrap_or_default(), int(&row, 1).unwrap_or(0));
        let never_began = flag(&row, 3);
        let group = Group::begin(tx, self.store).await?;
        if never_began {
            tx.execute(FORGET, &[&stream]).await?;
            tx.execute(POINTERS_END, &[&stream]).await?;
            tx.execute(RESTART, &[&stream]).await?;
        } else {
            tx.execute(RETRY, &[&stream, &group.now.get()]).await?;
            tx.execute(SERVE, &[&vec![stream], &vec![Some(program)]]).await?;
        }
        tx.has_news();
        let action = Action { verb: RETRY_VERB, about: stream, actor: &self.actor.name };
        let reason = Some(self.actor.reason.as_str()).filter(|reason| !reason.is_empty());
        let after = if never_began { "waiting" } else { Status::Running.name() };
        insert_action(&group, &action, reason, (Some(Status::Quarantined.name()), after)).await?;
        Ok(true)
    }

    fn wakes(&self, taken_up: &bool) -> bool {
        *taken_up
    }
}
