//! Writes steps: what was decided, and where the workflow stands then.
//!
//! Guarantees: all of a step or nothing, and only at the head that it expects; an input is consumed
//! once; many steps are one transaction, and one that is refused refuses no other. Workflows are
//! locked in the order of their streams, and first. Does not: decide anew.

use std::collections::BTreeMap;

use counterfoil_core::port::workflow::{Decision, PlannedStep, Step, StepRefused};

use super::wave;
use crate::failure::Failure;
use crate::row::{bytes, flag, int, text};
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

const LOAD: Statement = statement!("event_load");
const KNOWN: Statement = statement!("known");

/// Steps of one runner, each by itself.
pub(crate) struct Steps<'a> {
    store: &'a Inner,
    planned: Vec<Result<PlannedStep, StepRefused>>,
}

type Written = Vec<Result<(), StepRefused>>;
/// Steps by their place among the given.
type Wave<'a> = Vec<(usize, &'a PlannedStep)>;

impl<'a> Steps<'a> {
    /// Checks what can be checked without the store.
    pub(crate) fn new(store: &'a Inner, steps: Vec<Step>) -> Self {
        let max = store.body_bytes_max();
        Self { store, planned: steps.into_iter().map(|step| step.plan(max)).collect() }
    }

    /// Waves of steps, in each wave one of a workflow, by streams: the first of each workflow, then
    /// the second, and so on.
    fn waves(&self) -> Vec<Wave<'_>> {
        let mut of: BTreeMap<&str, Wave<'_>> = BTreeMap::new();
        for (at, planned) in self.planned.iter().enumerate() {
            if let Ok(planned) = planned {
                of.entry(planned.step.stream.as_str()).or_default().push((at, planned));
            }
        }
        let mut waves: Vec<Wave<'_>> = Vec::new();
        for steps in of.into_values() {
            for (wave, step) in steps.into_iter().enumerate() {
                match waves.get_mut(wave) {
                    Some(wave) => wave.push(step),
                    None => waves.push(vec![step]),
                }
            }
        }
        waves
    }

    /// Writes all as if nothing stood in the way; whether that was so.
    async fn write_all(&self, tx: &Tx<'_>, waves: &[Wave<'_>]) -> Result<bool, Failure> {
        for wave in waves {
            // Boxed, since it is wide: many statements travel together.
            if !Box::pin(wave::write(tx, self.store, &steps(wave))).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Looks first, and leaves those out that are refused, which it gives.
    async fn write_some(
        &self,
        tx: &Tx<'_>,
        waves: &[Wave<'_>],
    ) -> Result<BTreeMap<usize, StepRefused>, Failure> {
        let mut refused = BTreeMap::new();
        for wave in waves {
            let answers = wave::look(tx, self.store, &steps(wave)).await?;
            let mut left = Vec::new();
            for ((at, planned), answer) in wave.iter().zip(answers) {
                match answer {
                    Ok(()) => left.push(*planned),
                    Err(answer) => drop(refused.insert(*at, answer)),
                }
            }
            // What was looked at is held, but for rows that were not there yet.
            if !left.is_empty() && !Box::pin(wave::write(tx, self.store, &left)).await? {
                return Err(Failure::Again("another runner wrote at the same time".into()));
            }
        }
        Ok(refused)
    }

    fn answer(&self, mut refused: BTreeMap<usize, StepRefused>) -> Written {
        let one = |(at, planned): (usize, &Result<_, StepRefused>)| match planned {
            Ok(_) => refused.remove(&at).map_or(Ok(()), Err),
            Err(refused) => Err(refused.clone()),
        };
        self.planned.iter().enumerate().map(one).collect()
    }
}

fn steps<'a>(wave: &[(usize, &'a PlannedStep)]) -> Vec<&'a PlannedStep> {
    wave.iter().map(|(_, planned)| *planned).collect()
}

impl Work for Steps<'_> {
    type Answer = Written;

    async fn run(&self, tx: &Tx<'_>) -> Result<Written, Failure> {
        let waves = self.waves();
        let refused = if self.write_all(tx, &waves).await? {
            BTreeMap::new()
        } else {
            tx.abandon().await?;
            self.write_some(tx, &waves).await?
        };
        Ok(self.answer(refused))
    }

    /// What it wrote stands in its own way, as soon as a COMMIT under way has ended.
    async fn look_again(&self, tx: &Tx<'_>) -> Result<Option<Written>, Failure> {
        let mut answers = self.run(tx).await?;
        for (planned, answer) in self.planned.iter().zip(&mut answers) {
            if let (Ok(planned), Err(_)) = (planned, &answer)
                && stands(tx, planned).await?
            {
                *answer = Ok(());
            }
        }
        Ok(Some(answers))
    }

    fn wakes(&self, answer: &Written) -> bool {
        answer.iter().any(Result::is_ok)
    }
}

/// Whether this step is what stands there: its last event, at its time, and its commands.
async fn stands(tx: &Tx<'_>, planned: &PlannedStep) -> Result<bool, Failure> {
    let step = &planned.step;
    let Some(Decision { event, events, .. }) = step.decisions.last() else { return Ok(false) };
    let event = events.last().unwrap_or(event);
    let (stream, before) = (step.stream.as_str(), planned.head() - 1);
    let last = tx.query_opt(LOAD, &[&stream, &before, &1_i64]).await?;
    let same = last.is_some_and(|row| {
        text(&row, 1) == Some(event.kind.as_str())
            && bytes(&row, 2) == Some(event.body.as_slice())
            && text(&row, 3) == event.cause.as_deref()
            && int(&row, 5) == Some(step.at.get())
    });
    let ids = planned.decided.iter().flat_map(|decided| &decided.command_ids);
    let ids: Vec<&str> = ids.map(counterfoil_core::domain::CommandId::as_str).collect();
    if !same || ids.is_empty() {
        return Ok(same);
    }
    Ok(tx.query(KNOWN, &[&ids]).await?.iter().all(|row| flag(row, 0)))
}
