//! What a person may do about a command: command lines that can be pasted.
//!
//! Guarantees: a verb is named only if the state machine would let it through now. Does not: say
//! which one is right; a person finds that out.

use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::domain::{Delivery, Micros, Position, State, Terms, Transition, transition};
use counterfoil_core::port::read::Story;
use counterfoil_core::port::{Act, Actor, Deed};

use crate::output::table::cell;

const COMPLETED: Act = Act::Resolve(Verdict::Completed { result: None });

/// What there is to do about a parked one.
pub(super) fn of(story: &Story, open: &Delivery, terms: &Terms, now: Micros) -> Vec<String> {
    if !open.state.is_parked() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let behind = story.lane.as_ref().map_or(0, |lane| lane.behind);
    if behind > 0 {
        let wait = if behind == 1 { "waits" } else { "wait" };
        lines.push(format!("{behind} behind it in its lane {wait} until then"));
    }
    let position = Position::Open(open.clone());
    let is_allowed = |act: &Act| {
        let (name, reason) = (String::new(), String::new());
        let deed = Deed { command_id: String::new(), act: act.clone(), by_filter: false };
        let input = act.input(&Actor { name, reason }, story.expires_at);
        deed.refused_before(&position, story.listed.is_erased).is_none()
            && matches!(transition(&position, input, terms, now), Transition::Applied { .. })
    };
    let retry = Act::Retry { may_act_twice: false };
    let mut acts = vec![retry, COMPLETED, Act::Resolve(Verdict::Rejected)];
    // What is dead is known not to be done: that is what a retry goes by.
    if open.state != State::Dead {
        acts.push(Act::Resolve(Verdict::NotDone));
    }
    acts.push(Act::Cancel);
    let allowed = acts.iter().filter(|act| is_allowed(act));
    lines.extend(allowed.map(|act| line(&story.listed.command_id, act)));
    lines
}

/// What is next for one that has ended.
pub(super) fn after_the_end(story: &Story) -> Vec<String> {
    if !story.contradicted {
        return vec!["next: nothing, it has ended".to_owned()];
    }
    let acts = [COMPLETED, Act::Resolve(Verdict::Rejected)];
    let next = "next: a person; a report says otherwise than the receipt, which stays: find out at \
                the receiver which is true, then say so, for the books";
    let lines = acts.iter().map(|act| line(&story.listed.command_id, act));
    [next.to_owned()].into_iter().chain(lines).collect()
}

fn line(id: &str, act: &Act) -> String {
    let flags = match act {
        Act::Retry { .. } => "",
        Act::Resolve(Verdict::Completed { .. }) => " --completed --evidence \"…\"",
        Act::Resolve(Verdict::Rejected) => " --rejected --evidence \"…\"",
        Act::Resolve(Verdict::NotDone) => " --not-done --evidence \"…\"",
        Act::Cancel | Act::Redeliver { .. } => " --reason \"…\"",
    };
    format!("  counterfoil {} {}{flags}", act.name(), quoted(&cell(id)))
}

/// As a shell takes it.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_quoted_where_a_shell_would_split_it() {
        assert_eq!(quoted("order.paid:A-17"), "order.paid:A-17");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted("$(x)"), "'$(x)'");
    }
}
