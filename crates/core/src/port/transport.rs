//! How a command travels to its destination.
//!
//! Guarantees asked of an implementation: one `send` is one send, never a hidden second one; what
//! may have been processed is `Unknown`; it passes the attempt's gate right before the first byte
//! and sends nothing if the gate is shut; it ends by itself within `request_timeout`. It is not
//! asked to retry, to remember, or to touch the store.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::gate::Gate;
use crate::domain::{Answer, CommandId, Micros, OutboxRow, Outcome, Span, Token, TraceContext};

/// A boxed future, so that a relay can hold transports of many kinds.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One attempt at one command.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The command, as committed.
    pub command: Arc<OutboxRow>,
    /// Which attempt of its round, from 1.
    pub number: u32,
    /// Its fencing token.
    pub token: Token,
    /// The store's source, a URI reference.
    pub source: Arc<str>,
    /// The store's time when the attempt begins.
    pub now: Micros,
    /// Pass it right before the first byte may leave; see [`Gate`].
    pub gate: Arc<Gate>,
    /// This attempt's own span, which the receiver's may have for a parent; `None` where nothing
    /// is traced.
    pub trace: Option<TraceContext>,
}

/// A question about one command.
#[derive(Clone, Debug)]
pub struct Question {
    /// The command's id.
    pub command_id: CommandId,
    /// The store's source, a URI reference.
    pub source: Arc<str>,
    /// The store's time when the question begins.
    pub now: Micros,
    /// This question's own span; `None` where nothing is traced.
    pub trace: Option<TraceContext>,
}

/// Sends commands to one destination.
pub trait Transport: Send + Sync + 'static {
    /// Sends once. Dropping the future abandons the attempt, whose outcome is then unknown.
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome>;

    /// Asks what became of a command; asking never acts. A "not there" that its contract does not
    /// say in so many words is `believed: false`; the relay then asks a control question.
    /// Default: this transport cannot ask.
    fn ask<'a>(&'a self, _question: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(async { Answer::Unclear { reason: "this transport cannot ask".into() } })
    }

    /// How long a send may take at most; `None` for a handler in this process, whose lease is
    /// renewed while it runs.
    fn request_timeout(&self) -> Option<Span>;
}
