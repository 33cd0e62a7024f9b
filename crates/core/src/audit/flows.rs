//! Workflows in an audit: their rows, their decisions, and the inputs that wait for them.
//!
//! Guarantees: a page of workflows is held at a time; a workflow that began while the audit runs is
//! left to the next one. Does not: look at decisions of workflows in an incremental audit.

use std::collections::VecDeque;

use super::page::{goes_on, just_before};
use super::reading::Reading;
use crate::domain::EventRow;
use crate::domain::laws::{Decisions, FlowFacts, Violation, law, of_flow, of_input};
use crate::port::seal::FlowsFrom;
use crate::port::store::StoreError;
use crate::port::{Archive, Audited};

/// The rows of all workflows, beside their events, both in the order of streams.
#[derive(Default)]
pub(super) struct Flows {
    ahead: VecDeque<FlowFacts>,
    from: FlowsFrom,
    is_last: bool,
    decisions: Decisions,
    /// The stream of decisions whose row was looked for last, since it was not among the others.
    looked_for: String,
}

impl Flows {
    /// Judges the next event, and the workflows before it.
    pub(super) async fn meet<S: Audited + Archive>(
        &mut self,
        reading: &mut Reading<'_, S>,
        event: &EventRow,
    ) -> Result<(), StoreError> {
        loop {
            self.look_ahead(reading).await?;
            match self.ahead.front() {
                Some(flow) if flow.stream.as_str() < event.stream.as_str() => {}
                Some(flow) if flow.stream == event.stream.as_str() => {
                    reading.findings.add(self.decisions.meet(event, flow));
                    return Ok(());
                }
                Some(_) | None => return self.without_row(reading, event).await,
            }
            self.ahead.pop_front();
        }
    }

    /// An event without the row of a workflow: a service's, or one began meanwhile, or it is lost.
    async fn without_row<S: Audited + Archive>(
        &mut self,
        reading: &mut Reading<'_, S>,
        event: &EventRow,
    ) -> Result<(), StoreError> {
        let stream = event.stream.as_str();
        if event.decided.is_none() || self.looked_for == stream {
            return Ok(());
        }
        stream.clone_into(&mut self.looked_for);
        let after = Some((String::new(), just_before(stream)));
        let from = FlowsFrom { after, open_only: false };
        let found = reading.store.flow_facts(from, 1).await?;
        if found.first().is_none_or(|flow| flow.stream != stream) {
            let found = format!("event {} of {stream} was decided, and no row stands", event.seq);
            let violation = Violation::of(&law::FLOW_ROW, vec![stream.to_owned()], &found);
            reading.findings.add(Some(violation));
        }
        Ok(())
    }

    /// Judges what is left.
    pub(super) async fn finish<S: Audited + Archive>(
        mut self,
        reading: &mut Reading<'_, S>,
    ) -> Result<(), StoreError> {
        reading.findings.add(self.decisions.finish());
        while !self.is_last {
            self.ahead.clear();
            self.look_ahead(reading).await?;
        }
        Ok(())
    }

    async fn look_ahead<S: Audited + Archive>(
        &mut self,
        reading: &mut Reading<'_, S>,
    ) -> Result<(), StoreError> {
        if self.is_last || !self.ahead.is_empty() {
            return Ok(());
        }
        self.ahead = reading.flows(&mut self.from).await?.into();
        self.is_last = self.ahead.is_empty();
        Ok(())
    }
}

impl<S: Audited + Archive> Reading<'_, S> {
    /// Reads and judges the next page of workflows.
    async fn flows(&mut self, from: &mut FlowsFrom) -> Result<Vec<FlowFacts>, StoreError> {
        let flows = self.store.flow_facts(from.clone(), self.page).await?;
        for flow in &flows {
            self.findings.checked.workflows += 1;
            self.findings.add(of_flow(flow));
        }
        if let Some(last) = flows.last() {
            let status = if from.open_only { last.status.clone() } else { String::new() };
            from.after = goes_on(&from.after, Some((status, last.stream.clone())))?;
        }
        Ok(flows)
    }

    /// Workflows that have not completed.
    pub(super) async fn open_flows(&mut self) -> Result<(), StoreError> {
        let mut from = FlowsFrom { open_only: true, ..FlowsFrom::default() };
        while !self.flows(&mut from).await?.is_empty() {}
        Ok(())
    }

    /// Inputs that wait.
    pub(super) async fn inputs(&mut self) -> Result<(), StoreError> {
        let mut from = None;
        loop {
            let (inputs, next) = self.store.input_facts(from, self.page).await?;
            for input in &inputs {
                self.findings.checked.inputs += 1;
                self.findings.add(of_input(input));
            }
            if next.is_none() {
                return Ok(());
            }
            from = next;
        }
    }
}
