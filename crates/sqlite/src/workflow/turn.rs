//! A runner's turn: what it decided is written, and what is due then is read beside it.
//!
//! Guarantees: the look sees what the steps before it in the transaction wrote; alone it writes
//! nothing. Does not: hold an input; a lease and the head of its stream do.

use std::sync::Arc;

use counterfoil_core::domain::Micros;
use counterfoil_core::port::Patience;
use counterfoil_core::port::workflow::{DueFrom, DueInput, Turned};
use rusqlite::Connection;

use super::due::due;
use super::keep::InputCursor;
use super::step::Steps;
use crate::group::Group;
use crate::member::Work;

/// A look at what is due.
pub(crate) struct Look {
    pub(crate) from: DueFrom,
    pub(crate) cursor: Arc<InputCursor>,
    /// How long it may wait for something to be due.
    pub(crate) patience: Option<Patience>,
}

impl Look {
    fn look(&self, store: &Connection, now: Micros) -> rusqlite::Result<Vec<DueInput>> {
        due(store, &self.from, &self.cursor, now)
    }
}

impl Work for Look {
    type Answer = Vec<DueInput>;

    fn size(&self) -> usize {
        0
    }

    fn peek(&self, store: &Connection, now: Micros) -> rusqlite::Result<Option<Self::Answer>> {
        self.look(store, now).map(Some)
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Self::Answer> {
        self.look(group.connection, group.now)
    }

    fn patience(&self) -> Option<&Patience> {
        self.patience.as_ref()
    }

    fn is_nothing(&self, due: &Self::Answer) -> bool {
        due.is_empty()
    }
}

/// Steps, and a look at what is due after them.
pub(crate) struct Turn {
    pub(crate) steps: Steps,
    pub(crate) look: Look,
}

impl Work for Turn {
    type Answer = Turned;

    fn size(&self) -> usize {
        self.steps.size()
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Turned> {
        let written = self.steps.run(group)?;
        let due = self.look.look(group.connection, group.now)?;
        Ok(Turned { written, due: Some(due) })
    }

    fn stands(&self, store: &Connection, turned: &Turned) -> rusqlite::Result<Option<bool>> {
        self.steps.stands(store, &turned.written)
    }

    fn wakes(&self, turned: &Turned) -> bool {
        self.steps.wakes(&turned.written)
    }
}
