//! Spans of attempts as OpenTelemetry knows them, by any tracer of its API.
//!
//! Guarantees: each attempt and each question is the root of a trace of its own, and links to the
//! context in which its command was recorded; names and attributes are those of `docs/traces.md`.
//! Does not: export, sample or batch; the tracer's provider does.

use std::fmt;
use std::time::SystemTime;

use counterfoil_core::domain::TraceContext;
use counterfoil_core::port::store::Ended;
use opentelemetry::trace::{
    Link, Span, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Context, KeyValue, trace};

use crate::trace::{Hop, HopSpan, SettledBatch, Tracer};

/// Outcomes and answers after which nothing is amiss.
const WELL: &[&str] = &["completed", "accepted", "done", "refused", "not_there", "in_progress"];

/// Makes spans with a tracer of the OpenTelemetry API.
#[derive(Clone, Debug)]
pub struct OtelTracer<T> {
    tracer: T,
}

impl<T> OtelTracer<T>
where
    T: trace::Tracer + Send + Sync + 'static,
    T::Span: Send + Sync + 'static,
{
    /// Makes spans with `tracer`.
    pub const fn new(tracer: T) -> Self {
        Self { tracer }
    }
}

impl<T> Tracer for OtelTracer<T>
where
    T: trace::Tracer + Send + Sync + 'static,
    T::Span: Send + Sync + 'static,
{
    fn begin(&self, hop: &Hop<'_>) -> Box<dyn HopSpan> {
        let operation = if hop.is_question { "ask" } else { "deliver" };
        let name = format!("{operation} {}", hop.command.destination);
        // The receiver's span is the other end of this one: client and server. The producer was
        // whoever recorded the command, and is linked to.
        let mut builder = SpanBuilder::from_name(name).with_kind(SpanKind::Client);
        builder = builder.with_attributes(attributes(operation, hop));
        if let Some(recorded_in) = hop.recorded_in() {
            builder = builder.with_links(vec![link(recorded_in)]);
        }
        // No context: whatever span this thread is in has nothing to do with the command.
        let span = self.tracer.build_with_context(builder, &Context::new());
        Box::new(OtelSpan { span, has_ended: false })
    }

    fn settled(&self, batch: &SettledBatch<'_>) {
        let now = SystemTime::now();
        let settles = i64::try_from(batch.settles).unwrap_or(i64::MAX);
        let builder = SpanBuilder::from_name("settle")
            .with_kind(SpanKind::Internal)
            .with_start_time(now.checked_sub(batch.took).unwrap_or(now))
            .with_attributes([
                KeyValue::new("messaging.system", "counterfoil"),
                KeyValue::new("messaging.operation.name", "settle"),
                KeyValue::new("messaging.operation.type", "settle"),
                KeyValue::new("messaging.batch.message_count", settles),
            ])
            .with_links(batch.traces.iter().copied().map(link).collect());
        let mut span = self.tracer.build_with_context(builder, &Context::new());
        if let Some(error) = batch.error {
            span.set_attribute(KeyValue::new("error.type", "store_failed"));
            span.set_status(Status::error(error.to_string()));
        }
        span.end_with_timestamp(now);
    }
}

/// What is known of an attempt before it runs.
fn attributes(operation: &'static str, hop: &Hop<'_>) -> Vec<KeyValue> {
    let command = hop.command;
    let bytes = i64::try_from(command.body.len()).unwrap_or(i64::MAX);
    let number = if hop.is_question { "counterfoil.ask" } else { "counterfoil.attempt" };
    vec![
        KeyValue::new("messaging.system", "counterfoil"),
        KeyValue::new("messaging.operation.name", operation),
        KeyValue::new("messaging.operation.type", "send"),
        KeyValue::new("messaging.destination.name", command.destination.to_string()),
        KeyValue::new("messaging.message.id", command.command_id.to_string()),
        KeyValue::new("messaging.message.body.size", bytes),
        KeyValue::new("counterfoil.kind", command.kind.to_string()),
        KeyValue::new("counterfoil.round", i64::from(hop.round)),
        KeyValue::new(number, i64::from(hop.number)),
        KeyValue::new("counterfoil.token", hop.token.get()),
    ]
}

fn link(to: TraceContext) -> Link {
    let (trace_id, span_id) = (TraceId::from(to.trace_id()), SpanId::from(to.span_id()));
    let flags = TraceFlags::new(to.flags());
    Link::with_context(SpanContext::new(trace_id, span_id, flags, true, TraceState::NONE))
}

/// The span of one attempt.
struct OtelSpan<S: Span> {
    span: S,
    has_ended: bool,
}

impl<S: Span + Send + Sync + 'static> HopSpan for OtelSpan<S> {
    fn context(&self) -> Option<TraceContext> {
        let context = self.span.span_context();
        let (trace_id, span_id) = (context.trace_id().to_bytes(), context.span_id().to_bytes());
        let (trace_id, span_id) = (u128::from_be_bytes(trace_id), u64::from_be_bytes(span_id));
        TraceContext::new(trace_id, span_id, context.is_sampled())
    }

    fn end(mut self: Box<Self>, ended: &Ended) {
        match ended {
            Ended::Outcome(outcome) => self.say(outcome.name(), outcome.reason()),
            Ended::Answer(answer) => self.say(answer.name(), answer.reason()),
            Ended::HandedBack => self.say_unsent(),
        }
        self.has_ended = true;
        self.span.end();
    }
}

impl<S: Span> OtelSpan<S> {
    fn say(&mut self, outcome: &'static str, reason: &str) {
        self.span.set_attribute(KeyValue::new("counterfoil.outcome", outcome));
        if !WELL.contains(&outcome) {
            self.span.set_attribute(KeyValue::new("error.type", outcome));
            self.span.set_status(Status::error(reason.to_owned()));
        }
    }

    fn say_unsent(&mut self) {
        self.span.set_attribute(KeyValue::new("counterfoil.outcome", "handed_back"));
    }
}

impl<S: Span> Drop for OtelSpan<S> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.say("abandoned", "it was given up unsettled; its lease runs out by itself");
            self.span.end();
        }
    }
}

impl<S: Span> fmt::Debug for OtelSpan<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtelSpan").field("has_ended", &self.has_ended).finish_non_exhaustive()
    }
}
