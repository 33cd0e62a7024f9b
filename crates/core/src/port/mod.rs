//! What the engines need from the world: a store, transports, a clock, an observer, an inbox.
//!
//! Guarantees: engines are generic over these and know no concrete one. Does not: implement more
//! than the machine's clock and an observer that keeps quiet.

pub mod act;
pub mod announce;
pub mod archive;
pub mod bodies;
pub mod book;
pub mod clock;
pub mod exchange;
pub mod gate;
pub mod inbox;
pub mod intent;
pub mod observer;
pub mod patience;
pub mod read;
mod recorded;
pub mod seal;
pub mod store;
pub mod transport;
pub mod workflow;

pub use act::{Act, Acted, Actor, Deed};
pub use announce::Announce;
pub use archive::Archive;
pub use bodies::Bodies;
pub use book::{Book, Call, Job, Page};
pub use clock::{Clock, SystemClock};
pub use gate::{Gate, Withdrawn};
pub use inbox::{AsyncInboxRows, InboxEntry, InboxRows};
pub use observer::{Notice, Observer, Quiet};
pub use patience::Patience;
pub use seal::Audited;
pub use store::Store;
pub use transport::{Attempt, BoxFuture, Question, Transport};
pub use workflow::Workflows;
