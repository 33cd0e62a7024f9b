//! Writes what was decided, and sees to what was refused.

use counterfoil_core::domain::Stream;
use counterfoil_core::domain::workflow::Program;
use counterfoil_core::port::Workflows;
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::workflow::{Aside, Quarantine, Step, StepRefused, Turned};

use super::decider::Lost;
use super::work::Decided;
use super::{Failed, Notice, Work};
use crate::broken::Broken;

/// After so many refusals at one head a workflow is set aside: nobody else moves it.
const REFUSALS_MAX: u32 = 10;

/// How many workflows are counted so at once.
const STUCK_MAX: usize = 10_000;

/// What is kept of a step that is handed to the store.
struct Sent {
    decided: Decided,
    inputs: usize,
    first: String,
    has_ended: bool,
}

impl<S: Workflows> Work<S> {
    /// Writes the steps in one call. What is refused is decided anew; what cannot go on is set
    /// aside.
    pub(super) async fn commit(&mut self, decided: Vec<Decided>) -> Result<(), Failed> {
        let mut steps: Vec<Step> = Vec::with_capacity(decided.len());
        let mut sent = Vec::with_capacity(decided.len());
        let mut broken = Vec::new();
        for mut decided in decided {
            match decided.step.take() {
                Some(step) => {
                    let first = step.decisions.first().map(|one| one.input.clone());
                    let (inputs, has_ended) = (step.decisions.len(), step.status.has_ended());
                    let first = first.unwrap_or_default();
                    steps.push(step);
                    sent.push(Sent { decided, inputs, first, has_ended });
                }
                None => broken.push(decided),
            }
        }
        if !steps.is_empty() {
            let turned = self.store.turn(steps, self.from()).await;
            let Turned { written, due } = turned.map_err(Failed::store("writing steps"))?;
            self.end.commits += 1;
            let all_written = written.iter().all(Result::is_ok);
            broken.extend(self.take(sent, written).await?);
            // Where a workflow is set aside below, what was read before that may be its own.
            self.ahead = due.filter(|_| all_written && broken.is_empty());
        }
        for Decided { stream, program, head, broken, instance, .. } in broken {
            match broken {
                Some((input, why)) => {
                    let set = self.set_aside(stream, program, head, (input, &why)).await;
                    set.map_err(Failed::store("setting a workflow aside"))?;
                }
                None => instance.into_iter().for_each(|instance| self.cache.put(instance)),
            }
        }
        Ok(())
    }

    /// What became of each step; those that were written and cannot go on are given back.
    async fn take(
        &mut self,
        sent: Vec<Sent>,
        done: Vec<Result<(), StepRefused>>,
    ) -> Result<Vec<Decided>, Failed> {
        let (mut workflows, mut inputs, mut ended) = (0, 0, 0);
        let mut broken = Vec::new();
        let mut refused = Vec::new();
        for (sent, done) in sent.into_iter().zip(done) {
            match done {
                Ok(()) => {
                    workflows += 1;
                    inputs += sent.inputs;
                    ended += usize::from(sent.has_ended);
                    self.written(&sent);
                    if sent.decided.broken.is_some() {
                        broken.push(sent.decided);
                    } else if let Some(instance) = sent.decided.instance.filter(|_| !sent.has_ended)
                    {
                        self.cache.put(instance);
                    }
                }
                Err(why) => refused.push((sent, why)),
            }
        }
        self.end.steps += workflows as u64;
        self.end.inputs += inputs as u64;
        if workflows > 0 {
            self.observer.notice(&Notice::Stepped { workflows, inputs, ended });
        }
        for (sent, why) in refused {
            self.refused(sent, why).await.map_err(Failed::store("setting a workflow aside"))?;
        }
        Ok(broken)
    }

    fn written(&mut self, sent: &Sent) {
        if !self.stuck.is_empty() {
            self.stuck.remove(&sent.decided.stream);
        }
        if let Some(left) = self.alone.get_mut(&sent.decided.stream) {
            *left = left.saturating_sub(1);
            if *left == 0 || sent.has_ended {
                self.alone.remove(&sent.decided.stream);
            }
        }
    }

    async fn refused(&mut self, sent: Sent, why: StepRefused) -> Result<(), StoreError> {
        self.end.refused += 1;
        let Decided { stream, program, expected_seq, .. } = sent.decided;
        let (workflow, reason) = (stream.to_string(), why.to_string());
        self.observer.notice(&Notice::Refused { workflow, reason });
        let broken = match why {
            StepRefused::Moved { .. } | StepRefused::Gone { .. } => {
                if self.stuck.len() > STUCK_MAX {
                    self.stuck.clear();
                }
                let (head, count) = self.stuck.entry(stream.clone()).or_default();
                *count = if *head == expected_seq { *count + 1 } else { 1 };
                *head = expected_seq;
                if *count < REFUSALS_MAX {
                    return Ok(());
                }
                Broken::Refused(format!("{why} ({REFUSALS_MAX} times at one head)"))
            }
            // One of several is to blame: they are decided one by one until it is found.
            _ if sent.inputs > 1 => {
                self.alone.insert(stream, sent.inputs);
                return Ok(());
            }
            StepRefused::IdTaken { id } => Broken::IdTaken { id },
            why => Broken::Refused(why.to_string()),
        };
        self.set_aside(stream, program, expected_seq, (sent.first, &broken)).await
    }

    async fn set_aside(
        &mut self,
        stream: Stream,
        program: Program,
        expected_seq: i64,
        (input, why): (String, &Broken),
    ) -> Result<(), StoreError> {
        self.alone.remove(&stream);
        self.stuck.remove(&stream);
        // No database keeps a NUL in a text.
        let reason = why.to_string().replace('\0', "\u{fffd}");
        let told = Notice::Quarantined {
            workflow: stream.to_string(),
            program: program.to_string(),
            input: input.clone(),
            reason: reason.clone(),
        };
        let (workflow, id, why) = (stream.to_string(), input.clone(), reason.clone());
        let quarantine = Quarantine { stream, program, expected_seq, reason, input };
        match self.store.quarantine(quarantine).await? {
            Aside::Moved => {}
            Aside::Workflow => {
                self.end.quarantined += 1;
                self.observer.notice(&told);
            }
            Aside::Input => {
                self.end.set_aside += 1;
                self.observer.notice(&Notice::SetAside { workflow, input: id, reason: why });
            }
        }
        Ok(())
    }

    /// Sets the workflow aside whose program does not answer.
    pub(super) async fn give_up(&mut self, lost: Lost) -> Result<(), StoreError> {
        let Lost { at: Some(at), within } = lost else {
            return Err(StoreError::Unavailable("there is no thread to decide on".into()));
        };
        let why = match within {
            Some(within) => Broken::Endless { seconds: within.as_secs().max(1) },
            None => Broken::Panic {
                function: "the end of a value",
                message: "the thread that decides died".into(),
            },
        };
        self.set_aside(at.stream, at.program, at.expected_seq, (at.input, &why)).await
    }
}
