//! Sets a workflow aside with its inputs, and takes it up again.
//!
//! Guarantees: its inputs go with it in one transaction, so that no runner meets them; one that
//! comes meanwhile is noted by who meets it; nothing is lost. Does not: say what is wrong with it;
//! the runner does.

use counterfoil_core::domain::Stream;
use counterfoil_core::domain::workflow::Status;
use counterfoil_core::port::Actor;
use counterfoil_core::port::workflow::{
    Aside, EXPIRE_ACTOR, Quarantine, RETRY_VERB, SET_ASIDE_VERB, aside_reason,
};

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
const TAKE_AWAY: Statement = statement!("input_take_away");
const LET_GO: Statement = statement!("stream_let_go");

/// One workflow to be set aside.
pub(crate) struct SetAside<'a> {
    pub(crate) store: &'a Inner,
    pub(crate) quarantine: Quarantine,
}

impl Work for SetAside<'_> {
    type Answer = Aside;

    async fn run(&self, tx: &Tx<'_>) -> Result<Aside, Failure> {
        let Quarantine { stream, program, expected_seq, reason, input } = &self.quarantine;
        let (stream, name, version) =
            (stream.as_str(), program.name(), i64::from(program.version()));
        let input = Some(input.as_str()).filter(|input| !input.is_empty());
        let row: [&dyn crate::param::Param; 6] =
            [&stream, &name, &version, expected_seq, reason, &input];
        if tx.query(QUARANTINE, &row).await?.is_empty() {
            return self.take_away(tx).await;
        }
        tx.execute(SERVE, &[&vec![stream], &vec![None::<&str>]]).await?;
        Ok(Aside::Workflow)
    }
}

impl SetAside<'_> {
    /// Where the stream is a service's own, the input alone goes.
    async fn take_away(&self, tx: &Tx<'_>) -> Result<Aside, Failure> {
        let Quarantine { stream, reason, input, .. } = &self.quarantine;
        let gone = tx.query_opt(TAKE_AWAY, &[&stream.as_str(), input]).await?;
        let Some(gone) = gone else { return Ok(Aside::Moved) };
        let said = |at| string(&gone, at).unwrap_or_default();
        let why = aside_reason(input, &said(0), &said(1), reason);
        let group = Group::begin(tx, self.store).await?;
        let about = stream.as_str();
        let action = Action { verb: SET_ASIDE_VERB, about, actor: EXPIRE_ACTOR };
        insert_action(&group, &action, Some(&why), (Some("waiting"), "gone")).await?;
        Ok(Aside::Input)
    }
}

/// Workflows of which their holder lets go.
pub(crate) struct LetGo<'a> {
    pub(crate) owner: &'a str,
    pub(crate) streams: Vec<&'a str>,
}

impl Work for LetGo<'_> {
    type Answer = ();

    async fn run(&self, tx: &Tx<'_>) -> Result<(), Failure> {
        tx.execute(LET_GO, &[&self.streams, &self.owner]).await?;
        tx.has_news();
        Ok(())
    }

    async fn look_again(&self, tx: &Tx<'_>) -> Result<Option<()>, Failure> {
        self.run(tx).await.map(Some)
    }

    fn wakes(&self, (): &()) -> bool {
        true
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
