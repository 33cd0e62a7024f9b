//! What a person does to a workflow that cannot go on: takes an input away, or ends it.
//!
//! Guarantees: recorded in the same transaction, with the row of the workflow held; its row, its
//! events and its timers agree when it is ended. Does not: undo, or take back what is on its way.

use counterfoil_core::domain::Stream;
use counterfoil_core::domain::workflow::Status;
use counterfoil_core::port::Actor;
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::workflow::{
    DROP_VERB, Dropped, END_VERB, EndByHand, EndedByHand, drop_reason,
};

use super::quarantine::SERVE;
use super::wave::{EVENTS, TIMERS_END};
use crate::failure::Failure;
use crate::group::Group;
use crate::pause::{Action, insert_action};
use crate::row::{flag, int, string, text};
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

const DROP: Statement = statement!("input_drop");
const INPUT: Statement = statement!("input_by_hand");
const STREAM: Statement = statement!("stream_by_hand");
const END: Statement = statement!("stream_end");

/// One input to be taken away.
pub(crate) struct Drop<'a> {
    pub(crate) store: &'a Inner,
    pub(crate) stream: Stream,
    pub(crate) input: String,
    pub(crate) actor: Actor,
}

impl Work for Drop<'_> {
    type Answer = Dropped;

    async fn run(&self, tx: &Tx<'_>) -> Result<Dropped, Failure> {
        let (stream, id) = (self.stream.as_str(), self.input.as_str());
        // Whether it is quarantined stays so while this lasts.
        tx.query_opt(STREAM, &[&stream]).await?;
        let Some(gone) = tx.query_opt(DROP, &[&stream, &id]).await? else {
            let found = tx.query_opt(INPUT, &[&stream, &id]).await?;
            return match found {
                None => Ok(Dropped::Unknown),
                Some(row) => Dropped::refused(text(&row, 0).unwrap_or_default(), flag(&row, 1))
                    .ok_or_else(|| Failure::Again("the workflow was set aside meanwhile".into())),
            };
        };
        let said = |at| string(&gone, at).unwrap_or_default();
        let why = drop_reason(id, &said(0), &said(1), &self.actor.reason);
        let group = Group::begin(tx, self.store).await?;
        let action = Action { verb: DROP_VERB, about: stream, actor: &self.actor.name };
        insert_action(&group, &action, Some(&why), (Some("waiting"), "gone")).await?;
        Ok(Dropped::Done)
    }
}

/// One workflow to be ended.
pub(crate) struct End<'a> {
    store: &'a Inner,
    stream: Stream,
    actor: Actor,
    by_hand: EndByHand,
}

impl<'a> End<'a> {
    pub(crate) fn new(store: &'a Inner, stream: Stream, actor: Actor) -> Result<Self, StoreError> {
        let by_hand = EndByHand::new(&actor.reason);
        let by_hand = by_hand.map_err(|why| StoreError::Broken(why.to_string()))?;
        Ok(Self { store, stream, actor, by_hand })
    }

    /// The event that says so, and what follows from it.
    async fn write(&self, group: &Group<'_>, head: i64, program: String) -> Result<(), Failure> {
        let (tx, stream, now) = (group.tx, self.stream.as_str(), group.now);
        let (event, decided) = self.by_hand.at(head, now);
        let columns: [&dyn crate::param::Param; 8] = [
            &vec![stream],
            &vec![head],
            &vec![event.kind.as_str()],
            &vec![event.body.as_slice()],
            &vec![event.cause.as_deref()],
            &vec![0_i32],
            &vec![Some(decided)],
            &vec![now.get()],
        ];
        if tx.query(EVENTS, &columns).await?.is_empty() {
            return Err(Failure::Again("another event was written at the same time".into()));
        }
        tx.execute(END, &[&stream, &head, &now.get()]).await?;
        tx.execute(TIMERS_END, &[&vec![stream]]).await?;
        tx.execute(SERVE, &[&vec![stream], &vec![Some(program)]]).await?;
        tx.has_news();
        let action = Action { verb: END_VERB, about: stream, actor: &self.actor.name };
        let reason = Some(self.actor.reason.as_str()).filter(|reason| !reason.is_empty());
        let (before, after) = (Status::Quarantined.name(), Status::Failed.name());
        insert_action(group, &action, reason, (Some(before), after)).await
    }
}

impl Work for End<'_> {
    type Answer = EndedByHand;

    async fn run(&self, tx: &Tx<'_>) -> Result<EndedByHand, Failure> {
        let found = tx.query_opt(STREAM, &[&self.stream.as_str()]).await?;
        let Some(row) = found.filter(|row| flag(row, 5)) else {
            return Ok(EndedByHand::NotAside);
        };
        if flag(&row, 4) {
            return Ok(EndedByHand::NeverBegan);
        }
        let head = int(&row, 2).unwrap_or(0);
        if int(&row, 3) != Some(head) {
            return Ok(EndedByHand::Torn);
        }
        let version = int(&row, 1).unwrap_or(0);
        let program = format!("{}/{version}", string(&row, 0).unwrap_or_default());
        let group = Group::begin(tx, self.store).await?;
        self.write(&group, head + 1, program).await?;
        Ok(EndedByHand::Done)
    }

    fn wakes(&self, ended: &EndedByHand) -> bool {
        *ended == EndedByHand::Done
    }
}
