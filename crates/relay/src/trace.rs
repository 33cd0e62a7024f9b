//! Spans of attempts and questions: what a relay tells a tracer, and what it asks of one.
//!
//! Guarantees: without a tracer nothing is formatted, read or allocated for it; a tracer that
//! panics costs a span and no attempt; a span that is dropped before its end is that of an attempt
//! that was abandoned. Does not: know any tracing library; `otel` does, behind a feature.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use counterfoil_core::domain::trace_context::STORED_HEADER;
use counterfoil_core::domain::{OutboxRow, Token, TraceContext};
use counterfoil_core::port::store::{Ended, StoreError};
use tokio::time::Instant;

use crate::settler::Unsettled;

/// One attempt or question, as a tracer is told of it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Hop<'a> {
    /// The command.
    pub command: &'a OutboxRow,
    /// It is a question, not a send.
    pub is_question: bool,
    /// The round of the command.
    pub round: u32,
    /// Which attempt, or which question, of this round, from 1.
    pub number: u32,
    /// The fencing token.
    pub token: Token,
}

impl Hop<'_> {
    /// The context in which the command was recorded: its stored header `ce-traceparent`. `None`
    /// if it has none, or one that is no `traceparent`.
    #[must_use]
    pub fn recorded_in(&self) -> Option<TraceContext> {
        let json = self.command.headers.as_deref()?;
        let stored: serde_json::Map<_, _> = serde_json::from_str(json).ok()?;
        let is_it = |name: &str| name.eq_ignore_ascii_case(STORED_HEADER);
        // Of two that differ by case only, the request carries the last.
        let found = stored.into_iter().rfind(|(name, _)| is_it(name))?;
        TraceContext::parse(found.1.as_str()?)
    }
}

/// What one write settled.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SettledBatch<'a> {
    /// How many attempts and questions.
    pub settles: usize,
    /// The spans of those that have one.
    pub traces: &'a [TraceContext],
    /// How long the write took; it ended just now.
    pub took: Duration,
    /// Why nothing was written, if so; the same settles are tried again.
    pub error: Option<&'a StoreError>,
}

/// Makes a span of each attempt. It is called from the threads that send, and must not block.
pub trait Tracer: Send + Sync + 'static {
    /// Begins the span of an attempt or a question, right before it is run.
    fn begin(&self, hop: &Hop<'_>) -> Box<dyn HopSpan>;

    /// Settles were written, or could not be. Default: nothing is made of it.
    fn settled(&self, _batch: &SettledBatch<'_>) {}
}

/// The span of an attempt or a question that runs. Dropped before its end: it was abandoned, and
/// its lease runs out by itself.
pub trait HopSpan: Send + 'static {
    /// Its name for others, which travels as `traceparent`. `None`: nothing travels.
    fn context(&self) -> Option<TraceContext>;

    /// It ended so.
    fn end(self: Box<Self>, ended: &Ended);
}

/// A span that is open, if the tracer made one.
pub(crate) struct OpenSpan(Option<Box<dyn HopSpan>>);

impl OpenSpan {
    pub(crate) fn begin(tracer: &dyn Tracer, hop: &Hop<'_>) -> Self {
        Self(guarded(|| tracer.begin(hop)))
    }

    pub(crate) fn context(&self) -> Option<TraceContext> {
        self.0.as_deref().and_then(|span| guarded(|| span.context()).flatten())
    }

    pub(crate) fn end(self, ended: &Ended) {
        if let Some(span) = self.0 {
            guarded(|| span.end(ended));
        }
    }
}

/// Tells the tracer, if there is one, of the settles that a write carried since `began`.
pub(crate) fn settled(
    tracer: Option<&dyn Tracer>,
    settling: &[Unsettled],
    began: Instant,
    error: Option<&StoreError>,
) {
    let Some(tracer) = tracer.filter(|_| !settling.is_empty()) else { return };
    let traces: Vec<_> = settling.iter().filter_map(|one| one.trace).collect();
    let (settles, traces, took) = (settling.len(), &traces[..], began.elapsed());
    guarded(|| tracer.settled(&SettledBatch { settles, traces, took, error }));
}

/// What a tracer gives, or `None` if it panics.
fn guarded<T>(call: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}
