//! One decision: given a history, when an input comes, then this follows.

use std::sync::Arc;

use counterfoil_core::domain::workflow::End;
use counterfoil_core::domain::{Event, Micros};

use super::{STARTED_AT, fail, must};
use crate::decision::{Decision, Due, Timer, Unnamed};
use crate::input::{Input, What};
use crate::live::{AnyProgram, Live, written};
use crate::workflow::Workflow;

/// A workflow after these events of its program.
///
/// # Panics
/// A function of the program panics, or an event does not read back as it was written.
#[track_caller]
pub fn given<W: Workflow>(workflow: W, events: impl IntoIterator<Item = W::Event>) -> Given<W> {
    let mut live = must(AnyProgram::begin(Arc::new(workflow)));
    for event in events {
        let event = must(written(&event));
        must(live.evolve(event.kind.as_str(), &event.body));
    }
    Given { live, at: STARTED_AT, of: std::marker::PhantomData }
}

/// A workflow in a state.
#[must_use = "nothing is decided until `when`"]
pub struct Given<W: Workflow> {
    live: Box<dyn Live>,
    at: Micros,
    of: std::marker::PhantomData<fn(W)>,
}

impl<W: Workflow> Given<W> {
    /// The time of the inputs from here on. Default: [`STARTED_AT`].
    pub fn at(mut self, at: Micros) -> Self {
        self.at = at;
        self
    }

    /// Decides an input, and evolves what was decided.
    ///
    /// # Panics
    /// A function of the program panics, or an event does not read back as it was written.
    #[track_caller]
    pub fn when(self, input: impl Into<What>) -> Then<W> {
        let Self { mut live, at, of } = self;
        let input = Input::new("input", at, input.into());
        let said = must(live.decide(&input));
        for event in &said.events {
            must(live.evolve(event.kind.as_str(), &event.body));
        }
        Then { given: Given { live, at, of }, said }
    }

    /// The state as JSON.
    ///
    /// # Panics
    /// It cannot be written.
    #[must_use]
    #[track_caller]
    pub fn state(&self) -> serde_json::Value {
        serde_json::from_slice(&must(self.live.save())).unwrap_or_default()
    }
}

/// What followed from an input. Each `then_…` compares all of its kind, in order.
pub struct Then<W: Workflow> {
    given: Given<W>,
    said: Decision<Event>,
}

impl<W: Workflow> Then<W> {
    /// These events, and no other.
    ///
    /// # Panics
    /// Others followed.
    #[track_caller]
    pub fn then_events(self, events: impl IntoIterator<Item = W::Event>) -> Self {
        let wanted = events.into_iter().map(|event| event_line(&must(written(&event))));
        compare("events", &lines(wanted), &lines(self.said.events.iter().map(event_line)));
        self
    }

    /// These commands with these labels, and no other.
    ///
    /// # Panics
    /// Others followed.
    #[track_caller]
    pub fn then_commands(self, commands: impl IntoIterator<Item = Unnamed>) -> Self {
        let wanted = commands.into_iter().map(|one| command_line(&one));
        compare("commands", &lines(wanted), &lines(self.said.commands.iter().map(command_line)));
        self
    }

    /// Commands of these labels, and no other.
    ///
    /// # Panics
    /// Others followed.
    #[track_caller]
    pub fn then_labels<'a>(self, labels: impl IntoIterator<Item = &'a str>) -> Self {
        let found = self.said.commands.iter().map(|one| one.label().to_owned());
        compare("labels of commands", &owned(labels), &lines(found));
        self
    }

    /// These timers are set, and no other.
    ///
    /// # Panics
    /// Others are.
    #[track_caller]
    pub fn then_timers<'a>(self, timers: impl IntoIterator<Item = (&'a str, Due)>) -> Self {
        let wanted =
            timers.into_iter().map(|(name, due)| timer_line(&Timer { name: name.into(), due }));
        compare("timers", &lines(wanted), &lines(self.said.timers.iter().map(timer_line)));
        self
    }

    /// These timers are taken back, and no other.
    ///
    /// # Panics
    /// Others are.
    #[track_caller]
    pub fn then_unset<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        compare("timers taken back", &owned(names), &self.said.unset);
        self
    }

    /// The commands of these labels are cancelled, and no other.
    ///
    /// # Panics
    /// Others are.
    #[track_caller]
    pub fn then_cancels<'a>(self, labels: impl IntoIterator<Item = &'a str>) -> Self {
        compare("commands to cancel", &owned(labels), &self.said.cancel);
        self
    }

    /// The workflow ends so; `None`: it goes on.
    ///
    /// # Panics
    /// It does not.
    #[track_caller]
    pub fn then_end(self, end: impl Into<Option<End>>) -> Self {
        let line = |end: &Option<End>| end.as_ref().map(|end| format!("{end:?}"));
        compare("end", &lines(line(&end.into())), &lines(line(&self.said.end)));
        self
    }

    /// Nothing follows at all.
    ///
    /// # Panics
    /// Something does.
    #[track_caller]
    pub fn then_nothing(self) -> Self {
        let then = self.then_events([]).then_commands([]).then_timers([]);
        then.then_unset([]).then_cancels([]).then_end(None)
    }

    /// Goes on with the next input.
    ///
    /// # Panics
    /// As [`Given::when`].
    #[track_caller]
    pub fn when(self, input: impl Into<What>) -> Self {
        self.given.when(input)
    }

    /// The time of the inputs from here on.
    pub fn at(mut self, at: Micros) -> Self {
        self.given = self.given.at(at);
        self
    }

    /// The state after it, as JSON.
    ///
    /// # Panics
    /// It cannot be written.
    #[must_use]
    #[track_caller]
    pub fn state(&self) -> serde_json::Value {
        self.given.state()
    }
}

fn owned<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}

fn lines(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    lines.into_iter().collect()
}

fn event_line(event: &Event) -> String {
    format!("{} {}", event.kind, String::from_utf8_lossy(&event.body))
}

fn command_line(one: &Unnamed) -> String {
    let command = &one.command;
    let key = command.ordering_key.as_ref().map(|key| format!(" key {key}")).unwrap_or_default();
    let body = String::from_utf8_lossy(&command.body);
    format!("{}: {} {}{key} {body}", one.label(), command.destination, command.kind)
}

fn timer_line(timer: &Timer) -> String {
    match timer.due {
        Due::After(span) => format!("{} after {} µs", timer.name, span.as_micros()),
        Due::At(at) => format!("{} at {} µs", timer.name, at.get()),
    }
}

#[track_caller]
fn compare(what: &str, wanted: &[String], found: &[String]) {
    if wanted == found {
        return;
    }
    let list = |lines: &[String]| match lines {
        [] => "  (none)".to_owned(),
        lines => lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n"),
    };
    fail(&format!("{what}: wanted\n{}\nbut decided\n{}", list(wanted), list(found)));
}
