//! Workflows in a world: what comes to them, and who answers what they ask.
//!
//! Guarantees: plain data; what a receiver says of a command follows from the command alone. Does
//! not: know a program; the crate of workflows starts the runners and decides again.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::workflow::{End, Program, Status};
use counterfoil_core::domain::{Destination, Micros, Span};
use counterfoil_core::port::BoxFuture;
use counterfoil_core::port::workflow::NewInput;

use super::{ProcessEnded, SimStore};
use crate::MemoryStore;

/// What is asked of a receiver by a workflow.
#[derive(Clone, Copy, Debug)]
pub struct SimAsked<'a> {
    /// The command's id.
    pub command_id: &'a str,
    /// The workflow.
    pub stream: &'a str,
    /// To whom it goes.
    pub destination: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Its bytes.
    pub body: &'a [u8],
    /// How many of this kind the workflow had asked there before.
    pub nth: usize,
}

/// What a receiver says when a command comes to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimAnswer {
    /// It is done, with this result.
    Done(Vec<u8>),
    /// It is refused, for this reason.
    Refused(String),
}

/// What the receivers of a world say.
pub type SimAnswers = Arc<dyn Fn(SimAsked<'_>) -> SimAnswer + Send + Sync>;

/// The workflows of a world.
#[derive(Clone)]
pub struct SimFlows {
    /// To whom they speak; each seed draws what such a receiver is like.
    pub receivers: Vec<Destination>,
    /// What comes to them, so long after their beginning, which each seed draws for each of them.
    pub inputs: Vec<(Span, NewInput)>,
    /// What the receivers say.
    pub answers: SimAnswers,
    /// The world has no other commands, and nobody acts by hand.
    pub is_alone: bool,
    /// A workflow may be left waiting for an input that nobody sends.
    pub may_wait: bool,
}

/// What a runner process begins with.
pub struct RunnerBegin {
    /// The store.
    pub store: SimStore,
    /// Its name.
    pub owner: String,
    /// How long a missed wake-up may cost.
    pub poll: Duration,
    /// How long others leave a workflow to it.
    pub lease: Span,
    /// How many inputs it decides at once at most.
    pub batch: usize,
    /// After how many events it saves a state.
    pub snapshot_every: i64,
    /// How many workflows it keeps in memory.
    pub cache: usize,
    /// Ready when it shall stop.
    pub stop: BoxFuture<'static, ()>,
}

/// Starts runners, and decides again what they decided; who knows the crate of workflows implements
/// it.
pub trait StartRunner {
    /// The runner's whole life, as a future that is dropped when its process dies. It must run no
    /// thread.
    fn start(&self, begin: RunnerBegin) -> BoxFuture<'static, ProcessEnded>;

    /// Decides all histories of the store again, without waiting for anybody: what differs, in
    /// words.
    fn verify(&self, store: MemoryStore) -> BoxFuture<'_, Result<(), String>>;
}

/// A workflow at the end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SimWorkflow {
    /// Its stream.
    pub stream: String,
    /// Its program.
    pub program: Program,
    /// How far it is.
    pub status: Status,
    /// How it ended, if it did.
    pub end: Option<End>,
    /// Its commands that wait for a person, or behind one that does: their ids.
    pub open: Vec<String>,
}

/// Something that a receiver did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimEffect {
    /// The command.
    pub command_id: String,
    /// The receiver.
    pub destination: String,
    /// What was asked.
    pub kind: String,
    /// Its bytes.
    pub body: Vec<u8>,
    /// When it was done, since the run began.
    pub at: Micros,
}

/// What a run with workflows came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimTold {
    /// All that began, by stream.
    pub workflows: Vec<SimWorkflow>,
    /// What the receivers really did for them, in order, whatever the store says.
    pub effects: Vec<SimEffect>,
}
