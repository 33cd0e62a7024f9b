//! The laws of inputs that wait.
//!
//! Guarantees: each law looks at one input. Does not: judge what strangers may send; their inputs
//! are whatever they say.

use super::{Violation, law};
use crate::domain::time::Micros;
use crate::domain::workflow::{InputKind, timer_name};

/// What stands about one input that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputFacts {
    /// Its stream.
    pub stream: String,
    /// Its id.
    pub id: String,
    /// The stored name of its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// When it is due; `None`: at once.
    pub due_at: Option<Micros>,
    /// It has bytes.
    pub has_body: bool,
    /// An event stands that it caused. Where a store's runners take away what was sent again from
    /// an old snapshot: one that was caused by another content.
    pub is_decided: bool,
    /// A command of its stream stands that it is named after, with a receipt of its outcome.
    pub has_receipt: bool,
    /// For whom it waits; `None`: it is set aside.
    pub waits_for: Option<String>,
    /// The program that its stream's row names, whatever its status; `None`: no workflow stands.
    pub program: Option<String>,
}

impl InputFacts {
    /// Whether somebody finds it. One that was sent while its stream's row was being written waits
    /// for whom it was told then, and is seen to by that one.
    fn is_found(&self) -> bool {
        let is_start = self.kind == InputKind::Start.name();
        let Some(program) = &self.waits_for else { return true };
        self.program.as_ref() == Some(program) || (is_start && *program == self.name)
    }

    /// What does not go with its kind.
    fn unlike(&self, kind: InputKind) -> Option<&'static str> {
        let is_own = |kind: &InputKind| !kind.is_open_to_strangers();
        let named = self.id.split_once(':').and_then(|(kind, _)| InputKind::from_name(kind));
        if named.filter(is_own) != Some(kind).filter(is_own) {
            Some("not as its id says")
        } else if self.due_at.is_some() != (kind == InputKind::Timer) {
            Some("and timers alone are due at a time")
        } else if self.has_body && is_own(&kind) {
            Some("which has no body")
        } else if kind == InputKind::Timer && timer_name(&self.id) != Some(&self.name) {
            Some("and has another name than its id")
        } else {
            None
        }
    }
}

/// What is wrong with one input that waits.
#[must_use]
pub fn of_input(input: &InputFacts) -> Vec<Violation> {
    let InputFacts { stream, id, .. } = input;
    let mut violations = Vec::new();
    let mut breaks = |law, found: &str| {
        let ids = vec![stream.clone(), id.clone()];
        let found = format!("input {id} of workflow {stream} {found}");
        violations.push(Violation::of(law, ids, &found));
    };
    if input.is_decided {
        breaks(&law::INPUT_DECIDED, "waits, and was decided");
    }
    let kind = InputKind::from_name(&input.kind);
    match kind.map(|kind| input.unlike(kind)) {
        None => breaks(&law::INPUT_KIND, &format!("is of the kind {:?}", input.kind)),
        Some(Some(why)) => {
            breaks(&law::INPUT_KIND, &format!("is of the kind {:?}, {why}", input.kind));
        }
        Some(None) => {}
    }
    if kind == Some(InputKind::Receipt) && !input.has_receipt {
        breaks(&law::POINTER, "points to a receipt that does not stand");
    }
    // Set aside, it is adopted by the upkeep of inputs.
    if !input.is_found() {
        let waits_for = input.waits_for.as_deref().unwrap_or("nobody");
        let program = input.program.as_deref().unwrap_or("nobody");
        let found = format!("waits for {waits_for}, and is for {program}");
        breaks(&law::INPUT_SERVED, &found);
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(violations: impl IntoIterator<Item = Violation>) -> Vec<&'static str> {
        violations.into_iter().map(|violation| violation.code).collect()
    }

    fn pointer() -> InputFacts {
        InputFacts {
            stream: "trip-1".into(),
            id: "receipt:1:0".into(),
            kind: "receipt".into(),
            name: "completed".into(),
            has_receipt: true,
            waits_for: Some("trip/1".into()),
            program: Some("trip/1".into()),
            ..InputFacts::default()
        }
    }

    fn timer() -> InputFacts {
        let (id, kind, name) = ("timer:1:a:b".into(), "timer".into(), "a:b".into());
        InputFacts { id, kind, name, due_at: Some(Micros::new(7)), ..pointer() }
    }

    #[test]
    fn an_input_waits_once_and_points_to_a_receipt() {
        let sound = pointer();
        assert_eq!(of_input(&sound), []);
        let decided = InputFacts { is_decided: true, ..sound.clone() };
        assert_eq!(codes(of_input(&decided)), [law::INPUT_DECIDED.code]);
        let forged = InputFacts { has_receipt: false, ..sound };
        assert_eq!(codes(of_input(&forged)), [law::POINTER.code]);
    }

    #[test]
    fn an_input_is_as_its_kind_wants_it() {
        assert_eq!(of_input(&timer()), []);
        let kind = |kind: &str| InputFacts { kind: kind.into(), ..pointer() };
        for spoiled in [
            kind("signal"),
            kind("timer"),
            kind("strange"),
            InputFacts { due_at: Some(Micros::new(7)), ..pointer() },
            InputFacts { has_body: true, ..pointer() },
            InputFacts { due_at: None, ..timer() },
            InputFacts { name: "b".into(), ..timer() },
            InputFacts { id: "late".into(), ..timer() },
        ] {
            assert_eq!(codes(of_input(&spoiled)), [law::INPUT_KIND.code], "{spoiled:?}");
        }
        for id in ["a:b", "timer", "start:1"] {
            let signal = InputFacts { has_body: true, ..kind("signal") };
            assert_eq!(of_input(&InputFacts { id: id.into(), ..signal }), [], "{id}");
        }
    }

    #[test]
    fn an_input_waits_for_who_finds_it() {
        let sound = pointer();
        assert_eq!(of_input(&InputFacts { waits_for: None, ..sound.clone() }), []);
        for program in [Some("trip/2".to_owned()), None] {
            let is_for = program.clone().unwrap_or_else(|| "nobody".into());
            let told = of_input(&InputFacts { program, ..sound.clone() });
            let said = format!("trip-1 waits for trip/1, and is for {is_for}");
            assert!(told[0].text.contains(&said), "{}", told[0].text);
            assert_eq!(codes(told), [law::INPUT_SERVED.code]);
        }
        // A second start that was open while the first one was decided.
        let (id, kind, name) = ("again".into(), "start".into(), "trip".into());
        let second = InputFacts { id, kind, name, waits_for: Some("trip".into()), ..sound };
        assert_eq!(of_input(&second), []);
        assert_eq!(of_input(&InputFacts { program: None, ..second.clone() }), []);
        let other = InputFacts { waits_for: Some("tour".into()), ..second };
        assert_eq!(codes(of_input(&other)), [law::INPUT_SERVED.code]);
    }
}
