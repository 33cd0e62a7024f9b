//! The laws of workflows: the row of each beside its events.
//!
//! Guarantees: each law looks at one workflow. Does not: run a program; `verify` decides a history
//! again.

use super::{Violation, law};
use crate::domain::time::Micros;
use crate::domain::workflow::{Decided, InputKind, Status};

/// What stands about one workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowFacts {
    /// Its stream.
    pub stream: String,
    /// The name of its program.
    pub workflow: String,
    /// The stored name of its status.
    pub status: String,
    /// The seq of its newest event, as its row says.
    pub head: i64,
    /// The seq of the newest event that stands; 0: there is none.
    pub newest: i64,
    /// The kind of its first event, empty where that has no cause; `None`: it does not stand.
    pub begun_as: Option<String>,
    /// What the newest decision that ended it said: the column `decided` of its event. Of one that
    /// has not ended the newest hundred events are looked at.
    pub end: Option<String>,
    /// It says why it was set aside.
    pub has_reason: bool,
    /// It says on which input.
    pub names_input: bool,
    /// Somebody holds it.
    pub is_held: bool,
    /// The timers that wait for it; none where only open workflows are read.
    pub timers: Vec<TimerFacts>,
}

/// What stands about one timer that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimerFacts {
    /// The id of its input.
    pub id: String,
    /// When it is due.
    pub due_at: Option<Micros>,
}

impl FlowFacts {
    /// Whether its first event is no start: a stream of somebody else's, to which a start was sent.
    /// It is set aside, and its owner goes on writing to it.
    #[must_use]
    pub fn is_of_others(&self) -> bool {
        let start = InputKind::Start.event_kind("");
        self.begun_as.as_ref().is_some_and(|kind| !kind.starts_with(&start))
    }
}

/// What is wrong with one workflow.
#[must_use]
pub fn of_flow(flow: &FlowFacts) -> Vec<Violation> {
    let FlowFacts { stream, workflow, head, newest, .. } = flow;
    let mut violations = Vec::new();
    let mut breaks = |law, found: &str| {
        violations.push(Violation::of(law, vec![stream.clone()], found));
    };
    let is_of_others = flow.is_of_others();
    if head != newest && !is_of_others {
        let found = format!("workflow {stream} is at {head}, and its newest event is {newest}");
        breaks(&law::FLOW_HEAD, &found);
    }
    if let Some(found) = status(flow) {
        breaks(&law::FLOW_STATUS, &format!("workflow {stream} is {:?}, and {found}", flow.status));
    }
    let start = InputKind::Start.event_kind(workflow);
    if let Some(kind) = flow.begun_as.as_ref().filter(|kind| **kind != start && !is_of_others) {
        let found = format!("the row of {stream} names the workflow {workflow}, and it began as");
        breaks(&law::FLOW_ROW, &format!("{found} {kind}"));
    }
    violations
}

/// What does not go with its status.
fn status(flow: &FlowFacts) -> Option<String> {
    let ended = flow.end.as_deref().and_then(|text| Decided::from_text(Some(text)).ok()?.end);
    let ended = ended.map(|end| end.status());
    let status = Status::from_name(&flow.status);
    let is_aside = status == Some(Status::Quarantined);
    let agrees = match status {
        Some(Status::Running | Status::Quarantined) => flow.end.is_none(),
        said => said.is_some() && said == ended,
    };
    if !agrees {
        let decided = ended.map_or("that it goes on", Status::name);
        Some(format!("its decisions say {decided}"))
    } else if is_aside && !flow.has_reason {
        Some("nobody says why".into())
    } else if !is_aside && (flow.has_reason || flow.names_input) {
        Some("says why it is set aside".into())
    } else if flow.is_held && status != Some(Status::Running) {
        Some("somebody holds it".into())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::workflow::End;

    fn codes(violations: impl IntoIterator<Item = Violation>) -> Vec<&'static str> {
        violations.into_iter().map(|violation| violation.code).collect()
    }

    fn runs() -> FlowFacts {
        FlowFacts {
            stream: "trip-1".into(),
            workflow: "trip".into(),
            status: "running".into(),
            head: 3,
            newest: 3,
            begun_as: Some("start:trip".into()),
            ..FlowFacts::default()
        }
    }

    #[test]
    fn a_row_agrees_with_its_events() {
        let end = |end| Decided { end: Some(end), ..Decided::default() }.to_text();
        let runs = runs();
        assert_eq!(of_flow(&runs), []);
        assert_eq!(codes(of_flow(&FlowFacts { head: 4, ..runs.clone() })), [law::FLOW_HEAD.code]);
        let failed = FlowFacts { end: end(End::Failed("x".into())), ..runs.clone() };
        for (status, sound) in
            [("running", false), ("completed", false), ("failed", true), ("x", false)]
        {
            let flow = FlowFacts { status: status.into(), ..failed.clone() };
            assert_eq!(of_flow(&flow).is_empty(), sound, "{status}");
        }
        let endless = FlowFacts { status: "completed".into(), ..runs };
        assert_eq!(codes(of_flow(&endless)), [law::FLOW_STATUS.code]);
    }

    #[test]
    fn what_is_set_aside_says_why_and_has_not_ended() {
        let aside = FlowFacts { status: "quarantined".into(), has_reason: true, ..runs() };
        assert_eq!(of_flow(&aside), []);
        let end = Decided { end: Some(End::Failed("x".into())), ..Decided::default() }.to_text();
        let no_reason = FlowFacts { has_reason: false, ..aside.clone() };
        for spoiled in [
            no_reason.clone(),
            FlowFacts { status: "running".into(), names_input: true, ..no_reason },
            FlowFacts { status: "running".into(), ..aside.clone() },
            FlowFacts { is_held: true, ..aside.clone() },
            FlowFacts { end, ..aside },
        ] {
            assert_eq!(codes(of_flow(&spoiled)), [law::FLOW_STATUS.code], "{spoiled:?}");
        }
        assert_eq!(of_flow(&FlowFacts { is_held: true, ..runs() }), []);
    }

    #[test]
    fn a_row_names_the_workflow_that_was_started() {
        let other = FlowFacts { workflow: "tour".into(), ..runs() };
        assert_eq!(codes(of_flow(&other)), [law::FLOW_ROW.code]);
    }

    /// The story: somebody sent a start to a service's stream; the service went on appending, and
    /// the audit said that no runner could go on.
    #[test]
    fn a_stream_of_others_is_where_its_owner_wrote_last() {
        for begun_as in ["placed", ""] {
            let others = FlowFacts {
                status: "quarantined".into(),
                has_reason: true,
                newest: 9,
                begun_as: Some(begun_as.into()),
                ..runs()
            };
            assert_eq!(of_flow(&others), []);
        }
        let gone = FlowFacts { newest: 0, begun_as: None, ..runs() };
        assert_eq!(codes(of_flow(&gone)), [law::FLOW_HEAD.code]);
    }
}
