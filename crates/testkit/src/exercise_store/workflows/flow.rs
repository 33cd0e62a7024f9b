//! A workflow and its runner: what the cases begin with.
//!
//! Guarantees: a failure names what was being done. Does not: check rules; cases do.

use counterfoil_core::domain::contract::OnRefusal;
use counterfoil_core::domain::workflow::{InputKind, Program, Status, timer_input};
use counterfoil_core::domain::{
    Command, Event, EventRow, Judge, Kind, Micros, Outcome, Span, Stream,
};
use counterfoil_core::port::store::Recorded;
use counterfoil_core::port::workflow::{
    Aside, Decision, DueFrom, DueInput, NewInput, Quarantine, Snapshot, Standing, Step, StepRefused,
};
use counterfoil_core::port::{Store, Workflows};

use super::super::scene::{SHOP, Scene, forever};
use super::WorkflowHands;

/// The workflow of nearly every case.
pub(super) const TRIP: &str = "trip-1";
/// The runner of nearly every case.
pub(super) const RUNNER: &str = "runner-1";

pub(super) fn stream(name: &str) -> Stream {
    Stream::new(name).unwrap()
}

pub(super) fn program(text: &str) -> Program {
    Program::parse(text).unwrap()
}

pub(super) fn input(of: &str, id: &str, kind: InputKind, name: &str, body: &str) -> NewInput {
    let (stream, id, name) = (stream(of), id.to_owned(), name.to_owned());
    NewInput { stream, id, kind, name, body: Some(body.as_bytes().to_vec()) }
}

/// The start of a workflow `trip`.
pub(super) fn start(of: &str) -> NewInput {
    input(of, "start", InputKind::Start, "trip", "to Rome")
}

/// A signal `approve`.
pub(super) fn signal(of: &str, id: &str) -> NewInput {
    input(of, id, InputKind::Signal, "approve", "yes")
}

/// An event of a program.
pub(super) fn event(kind: &str) -> Event {
    Event { kind: Kind::new(kind).unwrap(), body: b"{}".to_vec(), cause: None }
}

/// A command to the shop, before it has an id.
pub(super) fn book(body: &str) -> Command {
    Command { id: None, ..Command::bytes("x", SHOP, "flight.book", body).unwrap() }
}

/// A refusal by a status: it ends a command of a workflow, unless the contract says that it parks.
pub(super) fn refused_by_status() -> Outcome {
    Outcome::Rejected { reason: "HTTP 400".into(), by: Judge::Status }
}

/// A decision of an input from which nothing follows.
pub(super) fn decided(id: &str, kind: InputKind, name: &str, body: &str) -> Decision {
    let kind = Kind::new(kind.event_kind(name)).unwrap();
    Decision {
        input: id.into(),
        event: Event { kind, body: body.as_bytes().to_vec(), cause: Some(id.into()) },
        decided: None,
        events: Vec::new(),
        commands: Vec::new(),
        timers: Vec::new(),
        unset: Vec::new(),
        cancel: Vec::new(),
    }
}

/// The decision of [`start`].
pub(super) fn started() -> Decision {
    decided("start", InputKind::Start, "trip", "to Rome")
}

/// The decision of [`signal`].
pub(super) fn approved(id: &str) -> Decision {
    decided(id, InputKind::Signal, "approve", "yes")
}

/// The decision of a pointer.
pub(super) fn told(id: &str) -> Decision {
    decided(id, InputKind::Receipt, "completed", "{}")
}

/// A timer of the decision that ends at `seq`.
pub(super) fn timer(seq: i64, name: &str, due_at: Micros) -> (String, String, Micros) {
    (timer_input(seq, name), name.into(), due_at)
}

/// A store, a shop and a runner.
pub(super) struct Flow<H: WorkflowHands> {
    pub(super) scene: Scene<H>,
}

impl<H: WorkflowHands> Flow<H> {
    pub(super) async fn new(hands: H) -> Self {
        Self { scene: Scene::new(hands, forever()).await }
    }

    /// The same with a shop whose refusals park.
    pub(super) async fn parking(hands: H) -> Self {
        let mut terms = forever();
        terms.contract.on_refusal = OnRefusal::Park;
        Self { scene: Scene::new(hands, terms).await }
    }

    pub(super) fn store(&self) -> &H::Store {
        &self.scene.store
    }

    /// The time, so many seconds from now.
    pub(super) fn in_secs(&self, secs: i64) -> Micros {
        self.store().now().unwrap().plus(Span::from_secs(secs))
    }

    pub(super) async fn send(&self, input: NewInput) {
        let answers = self.store().send_inputs(vec![input.clone()]).await.unwrap();
        assert_eq!(answers, [Ok(Recorded::Recorded)], "sending {input:?}");
    }

    pub(super) fn from(&self, programs: &[&str], owner: &str) -> DueFrom {
        let programs = programs.iter().map(|one| program(one)).collect();
        DueFrom { programs, owner: owner.into(), limit: 100 }
    }

    pub(super) async fn due(&self) -> Vec<DueInput> {
        self.store().due_inputs(self.from(&["trip/1"], RUNNER)).await.unwrap()
    }

    /// What is due for these programs and this owner, each as `stream id`.
    pub(super) async fn due_to(&self, programs: &[&str], owner: &str) -> Vec<String> {
        let due = self.store().due_inputs(self.from(programs, owner)).await.unwrap();
        due.iter().map(|input| format!("{} {}", input.stream, input.id)).collect()
    }

    /// The ids of what is due for the runner of every case.
    pub(super) async fn due_ids(&self) -> Vec<String> {
        self.due().await.into_iter().map(|input| input.id).collect()
    }

    pub(super) fn step(&self, of: &str, expected_seq: i64, decisions: Vec<Decision>) -> Step {
        Step {
            stream: stream(of),
            program: program("trip/1"),
            expected_seq,
            at: self.store().now().unwrap(),
            decisions,
            status: Status::Running,
            snapshot: None,
            owner: RUNNER.into(),
            lease: Span::from_secs(0),
        }
    }

    pub(super) async fn try_step(&self, step: Step) -> Result<(), StepRefused> {
        let mut answers = self.store().steps(vec![step]).await.unwrap();
        assert_eq!(answers.len(), 1, "one answer a step");
        answers.remove(0)
    }

    pub(super) async fn commit(&self, of: &str, expected_seq: i64, decisions: Vec<Decision>) {
        let step = self.step(of, expected_seq, decisions);
        assert_eq!(self.try_step(step.clone()).await, Ok(()), "{step:?}");
    }

    /// A workflow whose start is decided: its head is 1.
    pub(super) async fn begun(&self, of: &str) {
        self.send(start(of)).await;
        self.commit(of, 0, vec![started()]).await;
    }

    /// A workflow whose start issued one command, `of:1:0`: its head is 1.
    pub(super) async fn booked(&self, of: &str) {
        self.send(start(of)).await;
        let commands = vec![book("seat 12A")];
        self.commit(of, 0, vec![Decision { commands, ..started() }]).await;
    }

    /// Ends a workflow by a signal; its head is one more.
    pub(super) async fn end(&self, of: &str, head: i64) {
        self.send(signal(of, "the end")).await;
        let step = self.step(of, head, vec![approved("the end")]);
        let step = Step { status: Status::Completed, ..step };
        assert_eq!(self.try_step(step).await, Ok(()), "ending {of}");
    }

    /// Sends the one command that is due.
    pub(super) async fn sent(&self, outcome: Outcome) {
        let claimed = self.scene.claim().await;
        self.scene.settle(&claimed, outcome).await;
    }

    pub(super) async fn events(&self, of: &str) -> Vec<EventRow> {
        self.store().load(&stream(of), 0, 100).await.unwrap()
    }

    /// The row of a workflow of `trip/1`, and its snapshot.
    pub(super) async fn standing(&self, of: &str) -> (Option<Standing>, Option<Snapshot>) {
        self.store().standing(&stream(of), &program("trip/1")).await.unwrap()
    }

    /// The ids of the inputs of a stream that wait, due or not.
    pub(super) async fn waiting(&self, of: &str) -> Vec<String> {
        let waiting = self.store().waiting_inputs(Some(of), None, 100).await.unwrap();
        waiting.into_iter().map(|input| input.id).collect()
    }

    /// Whether the workflow was set aside.
    pub(super) async fn quarantine(&self, of: &str, head: i64) -> bool {
        match self.set_aside(of, head, "approve-1").await {
            Aside::Moved => false,
            Aside::Workflow => true,
            Aside::Input => panic!("{of} is no service's own"),
        }
    }

    pub(super) async fn set_aside(&self, of: &str, head: i64, input: &str) -> Aside {
        let quarantine = Quarantine {
            stream: stream(of),
            program: program("trip/1"),
            expected_seq: head,
            reason: "it panicked: no seat".into(),
            input: input.into(),
        };
        self.store().quarantine(quarantine).await.unwrap()
    }
}
