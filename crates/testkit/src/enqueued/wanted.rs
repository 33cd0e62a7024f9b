//! Which command a test wants: by id, or by what stands in it.
//!
//! Guarantees: what is not said is not compared. Does not: know how far a command is, unless it is
//! asked for.

use std::fmt;

use counterfoil_core::domain::CommandId;
use serde_json::Value;

use super::Enqueued;
use super::difference::{edits, in_body};

/// How much one part that differs weighs more than any difference of ids.
const PART: usize = 1000;

/// Which command is wanted. A text stands for an id.
///
/// # Example
/// ```
/// use counterfoil_testkit::Wanted;
/// use serde_json::json;
///
/// let by_id: Wanted = "order.paid:A-001".into();
/// let by_content = Wanted::to("shipping").kind("order.paid").body(json!({"order_id": "A-001"}));
/// assert_eq!(by_id.to_string(), "command order.paid:A-001");
/// # let _ = by_content;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    id: Option<String>,
    destination: Option<String>,
    kind: Option<String>,
    ordering_key: Option<String>,
    state: Option<String>,
    body: Option<Value>,
}

impl Wanted {
    /// Any command.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// The command with this id.
    #[must_use]
    pub fn id(id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..Self::default() }
    }

    /// A command to this destination.
    #[must_use]
    pub fn to(destination: impl Into<String>) -> Self {
        Self { destination: Some(destination.into()), ..Self::default() }
    }

    /// To this destination.
    #[must_use]
    pub fn destination(mut self, destination: impl Into<String>) -> Self {
        self.destination = Some(destination.into());
        self
    }

    /// Of this kind.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// In this lane.
    #[must_use]
    pub fn ordering_key(mut self, key: impl Into<String>) -> Self {
        self.ordering_key = Some(key.into());
        self
    }

    /// In this state, or ended by this outcome, such as `pending` or `completed`. Left out: a
    /// command that has ended was enqueued too.
    #[must_use]
    pub fn state(mut self, state: impl Into<String>) -> Self {
        self.state = Some(state.into());
        self
    }

    /// With a JSON body that has at least these members, at any depth; lists and plain values must
    /// be equal.
    #[must_use]
    pub fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// What of this row is not as wanted, in words; empty: it is the one.
    pub(super) fn differences(&self, row: &Enqueued) -> Vec<String> {
        let mut found = Vec::new();
        let parts = [
            ("id", &self.id, Some(&row.id)),
            ("destination", &self.destination, Some(&row.destination)),
            ("kind", &self.kind, Some(&row.kind)),
            ("ordering key", &self.ordering_key, row.ordering_key.as_ref()),
            ("state", &self.state, Some(&row.state)),
        ];
        for (name, wanted, is) in parts {
            if let Some(wanted) = wanted.as_ref().filter(|wanted| Some(*wanted) != is) {
                let is = is.map_or("none", String::as_str);
                found.push(format!("{name} is {is}, not {wanted}"));
            }
        }
        if let Some(wanted) = &self.body {
            match row.value() {
                Some(is) => in_body("body", &is, wanted, &mut found),
                None => found.push("body is no JSON".into()),
            }
        }
        found
    }

    /// How far the row is from what is wanted.
    pub(super) fn distance(&self, row: &Enqueued) -> usize {
        let id = self.id.as_ref().map_or(0, |id| edits(id, &row.id));
        self.differences(row).len() * PART + id
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, destination, kind, ordering_key, state, body } = self;
        f.write_str(if id.is_some() { "command" } else { "a command" })?;
        if let Some(id) = id {
            write!(f, " {id}")?;
        }
        let parts = [
            (" of kind", kind),
            (" to", destination),
            (" with ordering key", ordering_key),
            (" in state", state),
        ];
        for (word, part) in parts {
            if let Some(part) = part {
                write!(f, "{word} {part}")?;
            }
        }
        match body {
            Some(body) => write!(f, " with body {body}"),
            None => Ok(()),
        }
    }
}

impl From<&str> for Wanted {
    fn from(id: &str) -> Self {
        Self::id(id)
    }
}

impl From<&String> for Wanted {
    fn from(id: &String) -> Self {
        Self::id(id)
    }
}

impl From<String> for Wanted {
    fn from(id: String) -> Self {
        Self::id(id)
    }
}

impl From<&CommandId> for Wanted {
    fn from(id: &CommandId) -> Self {
        Self::id(id.as_str())
    }
}
