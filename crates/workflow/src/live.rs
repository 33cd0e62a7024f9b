//! A program and one state of it, with their types erased.
//!
//! Guarantees: a panic of the user's code becomes [`Broken::Panic`]; what evolves is the event as
//! it reads back, so a live state equals a replayed one. Does not: know of commands and timers.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use counterfoil_core::domain::{Event, json};
use serde_json::Value;

use crate::broken::Broken;
use crate::decision::Decision;
use crate::input::Input;
use crate::workflow::Workflow;

/// A program without its types.
pub(crate) trait AnyProgram: Send + Sync {
    /// The state before the first event.
    fn begin(self: Arc<Self>) -> Result<Box<dyn Live>, Broken>;
    /// A saved state.
    fn restore(
        self: Arc<Self>,
        state: &serde_json::value::RawValue,
    ) -> Result<Box<dyn Live>, Broken>;
}

/// One state of a program.
pub(crate) trait Live: Send + Sync {
    /// What follows from an input, its events written.
    fn decide(&self, input: &Input) -> Result<Decision<Event>, Broken>;
    /// Evolves an event as it was written. After an error the state is of no use.
    fn evolve(&mut self, kind: &str, body: &[u8]) -> Result<(), Broken>;
    /// The state as JSON.
    fn save(&self) -> Result<Vec<u8>, Broken>;
}

/// The state of a workflow that has ended, which nobody asks any more.
pub(crate) struct Over;

impl Live for Over {
    fn decide(&self, _: &Input) -> Result<Decision<Event>, Broken> {
        Ok(Decision::none())
    }

    fn evolve(&mut self, _: &str, _: &[u8]) -> Result<(), Broken> {
        Ok(())
    }

    fn save(&self) -> Result<Vec<u8>, Broken> {
        Err(Broken::Rule("it has ended, and its state was not loaded".into()))
    }
}

struct Typed<W: Workflow> {
    workflow: Arc<W>,
    state: W::State,
}

impl<W: Workflow> AnyProgram for W {
    fn begin(self: Arc<Self>) -> Result<Box<dyn Live>, Broken> {
        let state = guarded("the default of the state", W::State::default)?;
        Ok(Box::new(Typed { workflow: self, state }))
    }

    fn restore(
        self: Arc<Self>,
        state: &serde_json::value::RawValue,
    ) -> Result<Box<dyn Live>, Broken> {
        let read = || serde_json::from_str::<W::State>(state.get());
        let state = guarded("reading a state", read)?
            .map_err(|why| Broken::History(format!("the snapshot does not read back: {why}")))?;
        Ok(Box::new(Typed { workflow: self, state }))
    }
}

impl<W: Workflow> Live for Typed<W> {
    fn decide(&self, input: &Input) -> Result<Decision<Event>, Broken> {
        let decision = guarded("decide", || self.workflow.decide(&self.state, input))?;
        let events = guarded("writing an event", || {
            decision.events.iter().map(written).collect::<Result<Vec<_>, _>>()
        })??;
        Ok(Decision {
            events,
            commands: decision.commands,
            timers: decision.timers,
            unset: decision.unset,
            cancel: decision.cancel,
            end: decision.end,
        })
    }

    fn evolve(&mut self, kind: &str, body: &[u8]) -> Result<(), Broken> {
        let event =
            guarded("reading an event", || read::<W::Event>(kind, body))?.map_err(|why| {
                Broken::History(format!(
                    "event {kind:?} does not read as one of the program's: {why}"
                ))
            })?;
        let state = std::mem::take(&mut self.state);
        self.state = guarded("evolve", || self.workflow.evolve(state, &event))?;
        Ok(())
    }

    fn save(&self) -> Result<Vec<u8>, Broken> {
        guarded("writing a state", || serde_json::to_vec(&self.state))?
            .map_err(|why| Broken::Rule(format!("the state cannot be written as JSON: {why}")))
    }
}

/// An event as it stands: the variant is its kind, what the variant holds its body.
pub(crate) fn written(event: &impl serde::Serialize) -> Result<Event, Broken> {
    let refused = |why: String| Broken::Rule(format!("an event cannot be written: {why}"));
    let value = serde_json::to_value(event).map_err(|why| refused(why.to_string()))?;
    let (kind, held) = match value {
        Value::String(kind) => (kind, Value::Null),
        Value::Object(map) if map.len() == 1 => match map.into_iter().next() {
            Some(one) => one,
            None => return Err(refused("it is empty".into())),
        },
        _ => {
            return Err(refused(
                "the program's events must be an enum with serde's default tagging".into(),
            ));
        }
    };
    let body = match held {
        Value::Null => b"null".to_vec(),
        held => json::to_sorted_vec(&held).map_err(|why| refused(why.to_string()))?,
    };
    let kind = counterfoil_core::domain::Kind::new(kind).map_err(|why| refused(why.to_string()))?;
    Ok(Event { kind, body, cause: None })
}

/// The event of this kind and body.
pub(crate) fn read<E: serde::de::DeserializeOwned>(
    kind: &str,
    body: &[u8],
) -> Result<E, serde_json::Error> {
    let mut text = Vec::with_capacity(kind.len() + body.len() + 8);
    text.push(b'{');
    serde_json::to_writer(&mut text, kind)?;
    text.push(b':');
    text.extend_from_slice(body);
    text.push(b'}');
    serde_json::from_slice(&text)
}

/// What `call` gives, or its panic.
fn guarded<T>(function: &'static str, call: impl FnOnce() -> T) -> Result<T, Broken> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        let message = words_of(&panic);
        // The payload may itself panic when it is dropped.
        std::mem::forget(panic);
        Broken::Panic { function, message }
    })
}

fn words_of(panic: &Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "it said nothing".into());
    text.chars().take(MESSAGE_CHARS_MAX).collect()
}

/// The most characters of a panic's message that are kept.
const MESSAGE_CHARS_MAX: usize = 2_000;
