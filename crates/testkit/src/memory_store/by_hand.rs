//! What a person does to a workflow in memory that cannot go on: takes an input away, or ends it.
//!
//! Guarantees: recorded in the same write. Does not: undo.

use counterfoil_core::domain::workflow::{InputKind, Status};
use counterfoil_core::domain::{Micros, Stream};
use counterfoil_core::port::Actor;
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::workflow::{
    DROP_VERB, Dropped, END_VERB, EndByHand, EndedByHand, drop_reason,
};

use super::input::event_row;
use super::rows::Rows;

impl Rows {
    pub(super) fn drop_input(
        &mut self,
        stream: &Stream,
        id: &str,
        actor: &Actor,
        now: Micros,
    ) -> Dropped {
        let at = (stream.to_string(), id.to_owned());
        let Some(input) = self.inputs.get(&at) else { return Dropped::Unknown };
        let row = self.streams.get(stream.as_str());
        let is_served =
            input.workflow.is_some() && row.is_some_and(|row| row.status != Status::Quarantined);
        let kind = input.kind.name();
        if let Some(refused) = Dropped::refused(kind, is_served) {
            return refused;
        }
        let why = drop_reason(id, kind, &input.name, &actor.reason);
        self.inputs.remove(&at);
        let about = (DROP_VERB, stream.as_str());
        self.record_act(about, ("waiting", "gone"), &actor.name, &why, now);
        Dropped::Done
    }

    pub(super) fn end_workflow(
        &mut self,
        stream: &Stream,
        actor: &Actor,
        now: Micros,
    ) -> Result<EndedByHand, StoreError> {
        let name = stream.as_str();
        let head = match self.streams.get(name) {
            Some(row) if row.status == Status::Quarantined => row.head,
            _ => return Ok(EndedByHand::NotAside),
        };
        if !self.is_begun(name) {
            return Ok(EndedByHand::NeverBegan);
        }
        if self.head(name) != head {
            return Ok(EndedByHand::Torn);
        }
        let by_hand = EndByHand::new(&actor.reason);
        let by_hand = by_hand.map_err(|why| StoreError::Broken(why.to_string()))?;
        let (event, decided) = by_hand.at(head + 1, now);
        let row = event_row(stream, head + 1, event, Some(decided.to_owned()), now);
        self.events.insert((name.to_owned(), head + 1), row);
        if let Some(row) = self.streams.get_mut(name) {
            (row.status, row.head, row.changed_at) = (Status::Failed, head + 1, now);
            (row.reason, row.input, row.lease) = (None, None, None);
        }
        self.inputs.retain(|at, input| at.0 != name || input.kind != InputKind::Timer);
        self.serve(name);
        let change = (Status::Quarantined.name(), Status::Failed.name());
        self.record_act((END_VERB, name), change, &actor.name, &actor.reason, now);
        Ok(EndedByHand::Done)
    }
}
