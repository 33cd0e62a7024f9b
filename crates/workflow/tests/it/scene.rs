//! A store with workflows, and what a test does to them.

use counterfoil_core::audit::{AuditOptions, How, audit_sealed};
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::workflow::{InputKind, Status};
use counterfoil_core::domain::{CommandId, EventRow, ReceiptOutcome, Stream};
use counterfoil_core::port::store::{Recorded, Reported};
use counterfoil_core::port::workflow::{Issued, NewInput};
use counterfoil_core::port::{Archive, Audited, Bodies, Quiet, Workflows};
use counterfoil_workflow::runner::{Builder, Options, Runner, RunnerEnd};
use counterfoil_workflow::{Programs, Workflow};

/// A store with workflows that can be audited.
pub(crate) trait Whole: Workflows + Audited + Archive + Bodies {}

impl<S: Workflows + Audited + Archive + Bodies> Whole for S {}

/// A store with workflows.
#[derive(Clone)]
pub(crate) struct Scene<S> {
    pub(crate) store: S,
}

pub(crate) fn stream(name: &str) -> Stream {
    Stream::new(name).unwrap()
}

impl<S: Workflows> Scene<S> {
    pub(crate) const fn new(store: S) -> Self {
        Self { store }
    }

    pub(crate) async fn send(&self, to: &str, id: &str, kind: InputKind, name: &str, body: &str) {
        let sent = self.try_send(to, id, kind, name, body).await;
        assert_eq!(sent, Recorded::Recorded, "{to} {id}");
    }

    pub(crate) async fn try_send(
        &self,
        to: &str,
        id: &str,
        kind: InputKind,
        name: &str,
        body: &str,
    ) -> Recorded {
        let input = input(to, id, kind, name, body);
        self.store.send_inputs(vec![input]).await.unwrap().remove(0).unwrap()
    }

    pub(crate) async fn start(&self, to: &str, program: &str) {
        self.send(to, "start", InputKind::Start, program, "7").await;
    }

    pub(crate) async fn signal(&self, to: &str, id: &str, name: &str) {
        self.send(to, id, InputKind::Signal, name, "").await;
    }

    /// So many signals in one call.
    pub(crate) async fn signals(&self, to: &str, ids: impl IntoIterator<Item = String>) {
        let inputs = ids.into_iter().map(|id| input(to, &id, InputKind::Signal, "add", ""));
        let sent = self.store.send_inputs(inputs.collect()).await.unwrap();
        assert!(sent.iter().all(Result::is_ok));
    }

    pub(crate) fn runner(&self) -> Builder<S> {
        Runner::builder(self.store.clone()).observer(Quiet)
    }

    pub(crate) async fn idle<W: Workflow>(&self, workflow: W) -> RunnerEnd {
        self.idle_with(workflow, Options::default()).await
    }

    pub(crate) async fn idle_with<W: Workflow>(&self, workflow: W, options: Options) -> RunnerEnd {
        let runner = self.runner().workflow(workflow).options(options).build().unwrap();
        runner.run_until_idle().await.unwrap()
    }

    pub(crate) async fn report(&self, command: &str, outcome: ReceiptOutcome) {
        let report = Report {
            outcome,
            result: Some(b"{\"receipt\":1}".to_vec()),
            evidence: None,
            source: "report".into(),
            token: None,
            equals_earlier: false,
        };
        let command = CommandId::new(command).unwrap();
        assert_eq!(self.store.report(&command, report).await.unwrap(), Reported::Recorded);
    }

    pub(crate) async fn events(&self, of: &str) -> Vec<EventRow> {
        let mut all: Vec<EventRow> = Vec::new();
        loop {
            let after = all.last().map_or(0, |event| event.seq);
            let page = self.store.load(&stream(of), after, 1_000).await.unwrap();
            if page.is_empty() {
                return all;
            }
            all.extend(page);
        }
    }

    pub(crate) async fn issued(&self, of: &str) -> Vec<Issued> {
        let mut all: Vec<Issued> = Vec::new();
        loop {
            let after = all.last().map_or((0, -1), |last| (last.seq, last.idx));
            let page = self.store.issued(&stream(of), after, 1_000).await.unwrap();
            if page.is_empty() {
                return all;
            }
            all.extend(page);
        }
    }

    pub(crate) async fn status(&self, of: &str) -> Option<Status> {
        self.store.workflow(of).await.unwrap().unwrap().status
    }

    pub(crate) async fn reason(&self, of: &str) -> (String, String) {
        let listed = self.store.workflow(of).await.unwrap().unwrap();
        assert_eq!(listed.status, Some(Status::Quarantined));
        (listed.reason.unwrap(), listed.input.unwrap())
    }

    /// Everything that stands was decided so, and would be again; and no law is broken.
    pub(crate) async fn must_hold<W: Workflow>(&self, workflow: W)
    where
        S: Whole,
    {
        let full = How::default().full();
        let report = audit_sealed(&self.store, AuditOptions::default(), full).await.unwrap();
        assert_eq!(report.violations, []);
        let programs = Programs::new().with(workflow).unwrap();
        let mut count = 0;
        let tell = |verified: counterfoil_workflow::verify::Verified| {
            assert!(verified.holds(), "{verified:?}");
            count += 1;
        };
        counterfoil_workflow::verify::verify_all(&self.store, &programs, Default::default(), tell)
            .await
            .unwrap();
        assert!(count > 0);
    }
}

pub(crate) fn input(to: &str, id: &str, kind: InputKind, name: &str, body: &str) -> NewInput {
    NewInput { stream: stream(to), id: id.into(), kind, name: name.into(), body: Some(body.into()) }
}
