//! What a person does to a workflow that cannot go on: takes one of its inputs away, or ends it.
//!
//! Guarantees: what points to a receipt, and a timer, is never taken away, so no workflow waits for
//! what it was promised; an end is an event of the stream, so that the row of the workflow agrees
//! with its history. Does not: undo what the workflow did.

use crate::domain::id::IdRefused;
use crate::domain::workflow::{Decided, InputKind};
use crate::domain::{Event, Kind, Micros};

/// What became of the wish to take an input away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// It is gone.
    Done,
    /// No input of this id waits.
    Unknown,
    /// It is a receipt or a timer, for which its workflow would wait for ever.
    Own,
    /// Its workflow is not quarantined: a runner decides it.
    Served,
}

impl Dropped {
    /// Why an input of this kind may not be taken away; `is_served`: its workflow began, and is not
    /// quarantined.
    #[must_use]
    pub fn refused(kind: &str, is_served: bool) -> Option<Self> {
        let is_own = InputKind::from_name(kind).is_some_and(|kind| !kind.is_open_to_strangers());
        match (is_own, is_served) {
            (true, _) => Some(Self::Own),
            (_, true) => Some(Self::Served),
            _ => None,
        }
    }
}

/// What became of the wish to end a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedByHand {
    /// It has failed, by a person's word.
    Done,
    /// It is not quarantined, or there is none.
    NotAside,
    /// It never began, so there is nothing to end: its start can be taken away.
    NeverBegan,
    /// Its newest event is not where its row says: an audit tells what is wrong.
    Torn,
}

/// The event by which a person ends a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndByHand {
    event: Event,
    decided: String,
}

impl EndByHand {
    /// For this reason.
    ///
    /// # Errors
    /// [`IdRefused`], which does not happen.
    pub fn new(reason: &str) -> Result<Self, IdRefused> {
        let kind = Kind::new(InputKind::Cancel.event_kind("by hand"))?;
        let event = Event { kind, body: reason.as_bytes().to_vec(), cause: None };
        let decided = Decided::by_hand(reason).to_text().unwrap_or_default();
        Ok(Self { event, decided })
    }

    /// The event at `seq`, and what stands in its column `decided`. Its cause is none that anybody
    /// has sent before.
    #[must_use]
    pub fn at(&self, seq: i64, now: Micros) -> (Event, &str) {
        let cause = Some(format!("by hand:{seq}:{}", now.get()));
        (Event { cause, ..self.event.clone() }, &self.decided)
    }
}
