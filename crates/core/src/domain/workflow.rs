//! The names and records of workflows: inputs, statuses, what a decision said beside its events.
//!
//! Guarantees: an id that Counterfoil gives an input cannot be a stranger's, since strangers may
//! not begin one with `receipt:` or `timer:`; what a decision said reads back as it was written.
//! Does not: decide; see the crate `workflow`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::id::{CommandId, Stream};
use super::time::Micros;

/// The most bytes that the name of an input may have: with its kind it fits into an event's kind.
pub const INPUT_NAME_BYTES_MAX: usize = 240;
/// The most bytes that the id of an input may have.
pub const INPUT_ID_BYTES_MAX: usize = 255;
/// What ids of inputs of strangers must not begin with.
pub const OWN_INPUT_IDS: [&str; 2] = ["receipt:", "timer:"];

/// What kind of input it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum InputKind {
    /// It begins a workflow; its name is the workflow's.
    Start,
    /// A message from outside; its name says which.
    Signal,
    /// Somebody asks the workflow to end early; it decides how.
    Cancel,
    /// A time that a decision asked for has come.
    Timer,
    /// A pointer to the first receipt of a command of this stream; its name is the outcome.
    Receipt,
}

impl InputKind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Start, Self::Signal, Self::Cancel, Self::Timer, Self::Receipt];

    /// The word in the tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Signal => "signal",
            Self::Cancel => "cancel",
            Self::Timer => "timer",
            Self::Receipt => "receipt",
        }
    }

    /// The kind of this word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether strangers may write such an input.
    #[must_use]
    pub const fn is_open_to_strangers(self) -> bool {
        matches!(self, Self::Start | Self::Signal | Self::Cancel)
    }

    /// The kind of the event that an input of this kind and name becomes: `signal:approve`.
    #[must_use]
    pub fn event_kind(self, name: &str) -> String {
        format!("{}:{name}", self.name())
    }
}

/// The id of the input that points to the first receipt of command `seq`, `idx` of a stream.
#[must_use]
pub fn receipt_input(seq: i64, idx: i64) -> String {
    format!("receipt:{seq}:{idx}")
}

/// The command of `stream` to which an input of this id points; `None` if it is no such id.
#[must_use]
pub fn pointed_to(stream: &Stream, input_id: &str) -> Option<(CommandId, i64, usize)> {
    let (seq, idx) = input_id.strip_prefix("receipt:")?.split_once(':')?;
    let (seq, idx) = (seq.parse().ok()?, idx.parse().ok()?);
    let id = CommandId::of_decision(stream, seq, idx).ok()?;
    (receipt_input(seq, i64::try_from(idx).ok()?) == input_id).then_some((id, seq, idx))
}

/// The id of the input of a timer that the decision ending at `seq` has set.
#[must_use]
pub fn timer_input(seq: i64, name: &str) -> String {
    format!("timer:{seq}:{name}")
}

/// The name of the timer whose input has this id; `None` if it is no such id.
#[must_use]
pub fn timer_name(input_id: &str) -> Option<&str> {
    let (seq, name) = input_id.strip_prefix("timer:")?.split_once(':')?;
    seq.parse::<i64>().is_ok().then_some(name)
}

/// A workflow's program: its name and version, written `name/version`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Program {
    name: String,
    version: u32,
}

/// Why a text names no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is no name of a workflow: give 1 to {INPUT_NAME_BYTES_MAX} bytes without `/` and \
     control characters, and a version from 1"
)]
pub struct ProgramRefused {
    /// What was given.
    pub name: String,
}

impl Program {
    /// The program `name` of `version`, from 1.
    ///
    /// # Errors
    /// [`ProgramRefused`].
    pub fn new(name: impl Into<String>, version: u32) -> Result<Self, ProgramRefused> {
        let name = name.into();
        let is_control = |byte: u8| byte < 0x20 || byte == 0x7f;
        let fits = (1..=INPUT_NAME_BYTES_MAX).contains(&name.len())
            && !name.bytes().any(|byte| byte == b'/' || is_control(byte));
        if fits && version > 0 { Ok(Self { name, version }) } else { Err(ProgramRefused { name }) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its version.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Reads `name/version`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (name, version) = text.rsplit_once('/')?;
        Self::new(name, version.parse().ok()?).ok().filter(|program| program.to_string() == text)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name, self.version)
    }
}

/// How far a workflow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Status {
    /// It waits for inputs.
    Running,
    /// It ended as it should.
    Completed,
    /// It ended otherwise, by its own decision.
    Failed,
    /// Its program panicked, broke a rule or did not agree with its history: it waits for a person.
    Quarantined,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Running, Self::Completed, Self::Failed, Self::Quarantined];

    /// The word in the tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Quarantined => "quarantined",
        }
    }

    /// The status of this word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Whether it has ended.
    #[must_use]
    pub const fn has_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// A timer as a decision set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetTimer {
    /// Its name; one timer of a name waits at a time, and a newer one takes its place.
    pub name: String,
    /// When it is due.
    pub due_at: Micros,
}

/// How a workflow ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// As it should, with a result.
    Completed(serde_json::Value),
    /// Otherwise, with the reason.
    Failed(String),
}

impl End {
    /// The status that it leads to.
    #[must_use]
    pub const fn status(&self) -> Status {
        match self {
            Self::Completed(_) => Status::Completed,
            Self::Failed(_) => Status::Failed,
        }
    }
}

/// What a decision said beside its events: the column `decided` of its first event, the input's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Decided {
    /// Why the input was not given to the program: the workflow had ended, for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignored: Option<String>,
    /// How many events of the program follow.
    #[serde(skip_serializing_if = "is_zero")]
    pub events: u32,
    /// The labels of the commands, in order; a command without one has its kind here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Timers that were set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<SetTimer>,
    /// Names of timers that were taken back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
    /// Ids of commands that were to be cancelled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cancel: Vec<String>,
    /// How the workflow ended with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Why an input was not given to its program: a person ended the workflow with it.
pub const ENDED_BY_HAND: &str = "a person ended the workflow";

impl Decided {
    /// What a person said who ended a workflow that could not go on.
    #[must_use]
    pub fn by_hand(reason: &str) -> Self {
        let end = Some(End::Failed(reason.to_owned()));
        Self { ignored: Some(ENDED_BY_HAND.into()), end, ..Self::default() }
    }

    /// Whether a person ended the workflow, and not its program.
    #[must_use]
    pub const fn is_by_hand(&self) -> bool {
        self.ignored.is_some() && self.end.is_some()
    }

    /// Its text for the column; `None` if it says nothing.
    #[must_use]
    pub fn to_text(&self) -> Option<String> {
        if *self == Self::default() {
            return None;
        }
        let bytes = super::json::to_sorted_vec(self).ok()?;
        String::from_utf8(bytes).ok()
    }

    /// Reads the column.
    ///
    /// # Errors
    /// What serde reports.
    pub fn from_text(text: Option<&str>) -> Result<Self, serde_json::Error> {
        text.map_or_else(|| Ok(Self::default()), serde_json::from_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_names_one_command() {
        let stream = Stream::new("trip-1").unwrap();
        let (id, seq, idx) = pointed_to(&stream, &receipt_input(5, 1)).unwrap();
        assert_eq!((id.as_str(), seq, idx), ("trip-1:5:1", 5, 1));
        for forged in ["receipt:5", "receipt:05:1", "receipt:5:+1", "timer:5:x", "receipt:a:b"] {
            assert!(pointed_to(&stream, forged).is_none(), "{forged}");
        }
    }

    #[test]
    fn what_was_decided_reads_back() {
        let decided = Decided {
            labels: vec!["flight".into()],
            set: vec![SetTimer { name: "late".into(), due_at: Micros::new(7) }],
            end: Some(End::Failed("no seat".into())),
            ..Decided::default()
        };
        let text = decided.to_text();
        assert_eq!(Decided::from_text(text.as_deref()).unwrap(), decided);
        assert_eq!(Decided::default().to_text(), None);
        assert_eq!(Decided::from_text(None).unwrap(), Decided::default());
    }

    #[test]
    fn a_program_is_a_name_and_a_version() {
        let program = Program::new("trip", 2).unwrap();
        assert_eq!(Program::parse(&program.to_string()), Some(program));
        for wrong in ["trip", "trip/0", "trip/01", "/1", "a/b/1", "trip/x"] {
            assert_eq!(Program::parse(wrong), None, "{wrong}");
        }
    }
}
