//! The rules about workflows that every store keeps in the same words.
//!
//! Guarantees: an input that is let through here breaks no rule of the guards of the tables. Does
//! not: look at a store.

use super::{InputRefused, NewInput};
use crate::domain::Stream;
use crate::domain::workflow::{
    INPUT_ID_BYTES_MAX, INPUT_NAME_BYTES_MAX, InputKind, OWN_INPUT_IDS, Program,
};
use crate::port::act::Actor;

/// The most bytes that the body of an input may have: 16 MiB.
pub const INPUT_BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bodies beyond so many bytes make a page of due inputs short: 8 MiB. A step of one workflow ends
/// after half of it, so that of a long backlog little is read twice.
pub const DUE_BYTES: usize = 8 * 1024 * 1024;
/// The verb under which it is recorded that a workflow was taken up again: another word than that
/// for commands, since a command may be called like a stream.
pub const RETRY_VERB: &str = "workflow retry";
/// The verb under which it is recorded that an orphaned input was taken away.
pub const EXPIRE_VERB: &str = "input expire";
/// Who takes orphaned inputs away.
pub const EXPIRE_ACTOR: &str = "counterfoil";

/// Why an orphaned input was taken away: the reason of its record, which is about the stream.
#[must_use]
pub fn expire_reason(id: &str, kind: &str, name: &str) -> String {
    format!("input {id} ({kind}:{name}) waited for a workflow that never began")
}

/// How an input is recorded that was taken away since its stream is a service's own, or since
/// another one was decided under its id.
pub const SET_ASIDE_VERB: &str = "input set aside";

/// The verb under which it is recorded that a person took an input away.
pub const DROP_VERB: &str = "input drop";

/// Why it was taken away, as it is recorded.
#[must_use]
pub fn drop_reason(id: &str, kind: &str, name: &str, why: &str) -> String {
    format!("input {id} ({kind}:{name}): {why}")
}

/// The verb under which it is recorded that a person ended a workflow.
pub const END_VERB: &str = "workflow end";

/// Why it was taken away, as it is recorded.
#[must_use]
pub fn aside_reason(id: &str, kind: &str, name: &str, why: &str) -> String {
    format!("input {id} ({kind}:{name}) of a stream that is a service's own: {why}")
}

/// Why an input was taken away under whose id another one was decided, as it is recorded.
#[must_use]
pub fn twin_reason(id: &str, kind: &str, name: &str) -> String {
    format!(
        "input {id} ({kind}:{name}) has other content than what was decided under its id before \
         it was committed: CF0304; send it under another id"
    )
}

/// How many inputs of workflows that have ended may be in a page of `limit`.
#[must_use]
pub const fn ended_max(limit: usize) -> usize {
    if limit > 4 {
        limit / 4
    } else if limit > 0 {
        1
    } else {
        0
    }
}

/// Who cancels a command that a decision takes back, and why.
#[must_use]
pub fn canceller(stream: &Stream) -> Actor {
    Actor { name: format!("workflow:{stream}"), reason: "taken back by its workflow".into() }
}

/// The words that an input carries whom these programs may decide: the name for a start.
#[must_use]
pub fn keys(programs: &[Program]) -> Vec<String> {
    let both = |program: &Program| [program.name().to_owned(), program.to_string()];
    let mut keys: Vec<_> = programs.iter().flat_map(both).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

impl NewInput {
    /// Whether a stranger may write it.
    ///
    /// # Errors
    /// [`InputRefused::Value`].
    pub fn check(&self) -> Result<(), InputRefused> {
        if !self.kind.is_open_to_strangers() {
            let why = "it is start, signal or cancel; receipts and timers are Counterfoil's own";
            return Err(self.refused("kind", why));
        }
        if !is_plain(&self.id, INPUT_ID_BYTES_MAX) {
            return Err(self.refused("id", "give 1 to 255 bytes without control characters"));
        }
        if OWN_INPUT_IDS.iter().any(|own| self.id.starts_with(own)) {
            let why = "ids that begin with `receipt:` or `timer:` are Counterfoil's own; take \
                       another one";
            return Err(self.refused("id", why));
        }
        if !is_plain(&self.name, INPUT_NAME_BYTES_MAX) {
            return Err(self.refused("name", "give 1 to 240 bytes without control characters"));
        }
        if self.kind == InputKind::Start && Program::new(self.name.as_str(), 1).is_err() {
            return Err(self.refused("name", "a workflow's name has no `/`"));
        }
        if self.body.as_ref().is_some_and(|body| body.len() > INPUT_BODY_BYTES_MAX) {
            let why = "at most 16 MiB; keep it elsewhere and send where it is";
            return Err(self.refused("body", why));
        }
        Ok(())
    }

    fn refused(&self, what: &'static str, why: &str) -> InputRefused {
        InputRefused::Value { id: self.id.clone(), what, why: why.into() }
    }
}

fn is_plain(text: &str, max: usize) -> bool {
    let is_control = |byte: u8| byte < 0x20 || byte == 0x7f;
    (1..=max).contains(&text.len()) && !text.bytes().any(is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strangers_may_not_write_is_named() {
        let sound = NewInput {
            stream: Stream::new("trip-1").unwrap(),
            id: "s".into(),
            kind: InputKind::Signal,
            name: "a/b".into(),
            body: None,
        };
        assert_eq!(sound.check(), Ok(()));
        let changed = |change: fn(&mut NewInput)| {
            let mut input = sound.clone();
            change(&mut input);
            match input.check() {
                Err(InputRefused::Value { what, .. }) => what,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(changed(|it| it.kind = InputKind::Timer), "kind");
        assert_eq!(changed(|it| it.kind = InputKind::Start), "name");
        assert_eq!(changed(|it| it.id = String::new()), "id");
        assert_eq!(changed(|it| it.id = "timer:1:x".into()), "id");
        assert_eq!(changed(|it| it.id = "receipt:1:0".into()), "id");
        assert_eq!(changed(|it| it.name = "x".repeat(241)), "name");
        assert_eq!(changed(|it| it.name = "x\ny".into()), "name");
        assert_eq!(changed(|it| it.body = Some(vec![0; INPUT_BODY_BYTES_MAX + 1])), "body");
    }
}
