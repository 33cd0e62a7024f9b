//! What tests of Counterfoil need: a store in memory, a scripted transport, clocks in hand, what
//! is wanted of an outbox, and the suites that every store and every transport must pass.
//!
//! Guarantees: the memory store persists only what the state machine says, so that a test against
//! it tests the same decisions as production. Does not: keep anything over the process's end.

pub mod corrupted;
pub mod enqueued;
pub mod every_state;
pub mod exercise_store;
pub mod exercise_transport;
pub mod manual_clock;
pub mod memory_store;
pub mod random_history;
pub mod receiver;
pub mod scripted_transport;
#[cfg(feature = "simulator")]
pub mod simulator;
pub mod virtual_clock;

pub use enqueued::{Enqueued, Wanted};
pub use exercise_store::exercise_store;
pub use exercise_transport::exercise_transport;
pub use manual_clock::ManualClock;
pub use memory_store::{Fault, MemoryStore, StepsFault};
pub use random_history::{random_history, random_workflows};
pub use receiver::Receiver;
pub use scripted_transport::{Script, ScriptedTransport, Sent};
pub use virtual_clock::{TestClock, VirtualClock};
