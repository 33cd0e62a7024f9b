//! Pure types and transitions, one word of the glossary a file.
//!
//! Guarantees: every function here is total and deterministic. Does not: know where rows live or
//! how bytes travel.

pub mod backoff;
pub mod breaker;
pub mod command;
pub mod contract;
pub mod delivery;
pub mod difference;
pub mod digest;
pub mod event;
pub mod failure_group;
pub mod habits;
pub mod id;
pub mod json;
pub mod lane;
pub mod laws;
pub mod lease;
pub mod outcome;
pub mod policy;
pub mod rate;
pub mod receipt;
pub mod store_clock;
pub mod time;
pub mod trace_context;
pub mod transition;
pub mod window;
pub mod workflow;

pub use backoff::{Pace, Seed};
pub use command::{Command, CommandRefused, OutboxRow};
pub use contract::{Asking, Completion, Contract, Idempotent, OnParked, OnRefusal, Terms};
pub use delivery::{Delivery, State};
pub use digest::Digest;
pub use event::{ArchivedBody, Event, EventRow};
pub use habits::{Codes, Habits, Key, KeyForm, Meaning, NotThere, Profile, Success};
pub use id::{CommandId, Destination, IdRefused, Kind, OrderingKey, Stream};
pub use lease::{Lease, Token};
pub use outcome::{Answer, Judge, Outcome, ResultBody};
pub use receipt::{Receipt, ReceiptOutcome};
pub use time::{Micros, Span};
pub use trace_context::TraceContext;
pub use transition::{Attempted, Input, Next, Position, Purpose, Reason, Transition, transition};
