//! The guard over HTTP, for axum handlers: the key as an extractor, each answer as a response.
//!
//! Guarantees: what is answered here is what Counterfoil's HTTP contract calls it, and says so in
//! `Counterfoil-Outcome` too. Does not: wrap a handler: the handler calls [`begin`](crate::begin)
//! itself, inside its own transaction, on a thread that may block.

mod idempotency_key;
mod percent;
mod problem;
mod reply;

pub use idempotency_key::{IdempotencyKey, KeyRefused};
pub(crate) use percent::decode;
pub use problem::Problem;
pub use reply::Reply;
