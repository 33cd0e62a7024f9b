//! What a user writes: a state, its events, and two functions.
//!
//! Guarantees: nothing but what is given can be seen, so the same history gives the same state and
//! the same decisions, on any machine and in any year. Does not: forbid a clock or a random number
//! in the functions; `verify` and the test kit find those.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::decision::Decision;
use crate::input::Input;

/// A process as a fold over its events and a decision for each input.
///
/// Both functions must be pure and total: no clock (an input says [`at`](Input::at)), no random
/// numbers, no I/O, no order of a hash map. A panic sets one workflow aside with its input and the
/// message; nothing of that step is written.
///
/// Events are stored as JSON, an enum's variant as the event's kind, so `Event` is an enum with
/// serde's default (external) tagging. Changing what is stored of old versions breaks replay: give
/// the new program another [`version`](Self::version) and keep the old one until its last workflow
/// has ended.
pub trait Workflow: Send + Sync + 'static {
    /// All that the decisions need to know; saved as JSON in snapshots.
    type State: Default + Clone + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// What happened, in the words of the process.
    type Event: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// The name that starts it: 1 to 240 bytes without `/` and control characters.
    fn name(&self) -> &str;

    /// The version of this program, from 1. A new workflow gets the highest that a runner has.
    /// Default: 1.
    fn version(&self) -> u32 {
        1
    }

    /// The state after `event`.
    fn evolve(&self, state: Self::State, event: &Self::Event) -> Self::State;

    /// What follows from `input`. The events of the decision are evolved before the next input.
    fn decide(&self, state: &Self::State, input: &Input) -> Decision<Self::Event>;
}
