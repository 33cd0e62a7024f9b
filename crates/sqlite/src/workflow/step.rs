//! Writes steps: what was decided, and where the workflow stands then.
//!
//! Guarantees: all of a step or nothing, and only at the head that it expects; an input is consumed
//! once; a step that is refused has written nothing and refuses no other. Does not: decide anew.

use counterfoil_core::domain::Stream;
use counterfoil_core::domain::workflow::Status;
use counterfoil_core::port::store::Appended;
use counterfoil_core::port::workflow::{Decision, PlannedStep, Step, StepRefused, canceller};
use counterfoil_core::port::{Act, Deed};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::act::act;
use crate::append::{insert_commands, insert_event, take_back};
use crate::group::Group;
use crate::member::Work;
use crate::row::{Shown, bytes, int};
use crate::sql::Sql;

/// Steps of one runner, each by itself.
pub(crate) struct Steps(Vec<Result<PlannedStep, StepRefused>>);

type Written = Vec<Result<(), StepRefused>>;

impl Steps {
    /// Checks on the caller's own thread what can be checked without the store.
    pub(crate) fn new(steps: Vec<Step>, body_bytes_max: usize) -> Self {
        Self(steps.into_iter().map(|step| step.plan(body_bytes_max)).collect())
    }
}

impl Work for Steps {
    type Answer = Written;

    fn size(&self) -> usize {
        let decisions = self.0.iter().flatten().flat_map(|planned| &planned.step.decisions);
        let rows =
            |one: &Decision| 3 + one.events.len() + one.timers.len() + one.commands.len() * 2;
        decisions.map(rows).sum()
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Written> {
        let mut written = Vec::with_capacity(self.0.len());
        for planned in &self.0 {
            written.push(match planned {
                Ok(planned) => write(group, planned)?,
                Err(refused) => Err(refused.clone()),
            });
        }
        Ok(written)
    }

    /// Each that was written has its last event, at its time.
    fn stands(&self, store: &Connection, answer: &Written) -> rusqlite::Result<Option<bool>> {
        for (planned, answer) in self.0.iter().zip(answer) {
            if let (Ok(planned), Ok(())) = (planned, answer)
                && !has_last_event(store, planned)?
            {
                return Ok(Some(false));
            }
        }
        Ok(Some(true))
    }

    fn wakes(&self, answer: &Written) -> bool {
        answer.iter().any(Result::is_ok)
    }
}

/// Workflows of which their holder lets go.
pub(crate) struct LetGo {
    pub(crate) owner: String,
    pub(crate) streams: Vec<Stream>,
}

impl Work for LetGo {
    type Answer = ();

    fn size(&self) -> usize {
        self.streams.len()
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<()> {
        for stream in &self.streams {
            group.sql(Sql::StreamLetGo)?.execute([stream.as_str(), self.owner.as_str()])?;
        }
        Ok(())
    }

    fn wakes(&self, (): &()) -> bool {
        true
    }
}

fn has_last_event(store: &Connection, planned: &PlannedStep) -> rusqlite::Result<bool> {
    let step = &planned.step;
    let Some(last) = step.decisions.last() else { return Ok(true) };
    let event = last.events.last().unwrap_or(&last.event);
    let mut load = store.prepare_cached(Sql::EventLoad.text())?;
    let of_last = params![step.stream.as_str(), planned.head() - 1, 1];
    let same = load.query_row(of_last, |row| {
        Ok(bytes(row, 2)? == Some(event.kind.as_str().as_bytes())
            && bytes(row, 3)? == Some(&event.body)
            && bytes(row, 4)? == event.cause.as_deref().map(str::as_bytes)
            && int(row, 6)? == Some(step.at.get()))
    });
    Ok(same.optional()?.unwrap_or(false))
}

/// Writes one step. Whatever may refuse it comes before what cannot be taken back.
fn write(
    group: &mut Group<'_>,
    planned: &PlannedStep,
) -> rusqlite::Result<Result<(), StepRefused>> {
    let step = &planned.step;
    if let Some(refused) = refused_where_it_stands(group, step)? {
        return Ok(Err(refused));
    }
    let mut inputs = Vec::with_capacity(step.decisions.len());
    for Decision { input, .. } in &step.decisions {
        let of = params![step.stream.as_str(), input];
        let waits = group.sql(Sql::InputUndecided)?.query_row(of, |row| row.get::<_, i64>(0));
        let Some(rowid) = waits.optional()? else {
            let (stream, id) = (step.stream.to_string(), input.clone());
            return Ok(Err(StepRefused::Gone { stream, id }));
        };
        inputs.push(rowid);
    }
    let mut inserted = Vec::new();
    for (_, Decision { commands, .. }, appended) in planned.decisions() {
        let stream = step.stream.as_str();
        if let Some(taken) = insert_commands(group, stream, appended, commands, &mut inserted)? {
            let refused = StepRefused::IdTaken { id: taken.to_string() };
            take_back(group, inserted)?;
            return Ok(Err(refused));
        }
    }
    for rowid in inputs {
        group.sql(Sql::InputRemove)?.execute([rowid])?;
    }
    stand(group, planned)?;
    for (first, decision, appended) in planned.decisions() {
        decide(group, step, (first, decision, appended))?;
    }
    finish(group, step)?;
    Ok(Ok(()))
}

/// What refuses the step because the workflow is not where it is expected.
fn refused_where_it_stands(
    group: &mut Group<'_>,
    step: &Step,
) -> rusqlite::Result<Option<StepRefused>> {
    let (program, expected) = (&step.program, step.expected_seq);
    let stands = group.sql(Sql::StreamStands)?.query_row([step.stream.as_str()], |row| {
        let Some(name) = bytes(row, 0)? else {
            return Ok((None, int(row, 4)?.unwrap_or(0)));
        };
        let is_same =
            name == program.name().as_bytes() && int(row, 1)? == Some(program.version().into());
        let is_set_aside = bytes(row, 2)? == Some(Status::Quarantined.name().as_bytes());
        Ok((Some((is_same, is_set_aside)), int(row, 3)?.unwrap_or(0)))
    })?;
    let stream = step.stream.to_string();
    let moved = |actual| StepRefused::Moved { stream: stream.clone(), expected, actual };
    let taken = || StepRefused::Taken { stream: stream.clone(), program: program.to_string() };
    Ok(match stands {
        (None, 0) if expected == 0 => None,
        (None, _) if expected == 0 => Some(taken()),
        (None, head) => Some(moved(head)),
        (Some((_, true)), head) => Some(moved(head)),
        (Some(_), head) if head != expected => Some(moved(head)),
        (Some((false, false)), _) => Some(taken()),
        (Some((true, false)), _) => None,
    })
}

/// Writes where the workflow stands; at its beginning what waited for it is given to it.
fn stand(group: &mut Group<'_>, planned: &PlannedStep) -> rusqlite::Result<()> {
    let (step, head, now) = (&planned.step, planned.head(), group.now);
    let is_held = step.lease.as_micros() > 0 && !step.status.has_ended();
    let owner = is_held.then_some(step.owner.as_str());
    let until = is_held.then(|| now.plus(step.lease).get());
    let (stream, status, now) = (step.stream.as_str(), step.status.name(), now.get());
    if step.expected_seq > 0 {
        let stands = params![stream, status, head, owner, until, now];
        return group.sql(Sql::StreamGoOn)?.execute(stands).map(drop);
    }
    let (name, version) = (step.program.name(), step.program.version());
    let begins = params![stream, name, version, status, head, owner, until, now];
    group.sql(Sql::StreamBegin)?.execute(begins)?;
    let program = step.program.to_string();
    group.sql(Sql::InputServe)?.execute(params![stream, program]).map(drop)
}

/// Writes what one decision said, but for its commands.
fn decide(
    group: &mut Group<'_>,
    step: &Step,
    (first, decision, appended): (i64, &Decision, &Appended),
) -> rusqlite::Result<()> {
    let stream = step.stream.as_str();
    let insert = group.sql(Sql::EventInsert)?;
    for (seq, commands, event) in decision.numbered(first) {
        let decided = decision.decided.as_deref().filter(|_| seq == first);
        insert_event(insert, (stream, seq, step.at), event, commands, decided)?;
    }
    debug_assert_eq!(appended.command_ids.len(), decision.commands.len());
    for id in &decision.unset {
        group.sql(Sql::InputUnset)?.execute(params![stream, id])?;
    }
    if !step.status.has_ended() {
        set_timers(group, step, decision)?;
    }
    for command_id in &decision.cancel {
        let command_id = command_id.to_string();
        // As one of many: what is in doubt is left alone.
        let deed = Deed { command_id, act: Act::Cancel, by_filter: true };
        act(group, &deed, &canceller(&step.stream))?;
    }
    Ok(())
}

fn set_timers(group: &mut Group<'_>, step: &Step, decision: &Decision) -> rusqlite::Result<()> {
    let (stream, now) = (step.stream.as_str(), group.now.get());
    for (id, name, due_at) in &decision.timers {
        let program = step.program.to_string();
        let timer = params![stream, id, name, due_at.get(), program, now];
        group.sql(Sql::InputTimer)?.execute(timer)?;
    }
    Ok(())
}

/// An ended workflow waits for no time; and the state is saved where there is one.
fn finish(group: &mut Group<'_>, step: &Step) -> rusqlite::Result<()> {
    let (stream, now) = (step.stream.as_str(), group.now.get());
    if step.status.has_ended() {
        group.sql(Sql::InputTimersEnd)?.execute([stream])?;
    }
    if let Some(snapshot) = &step.snapshot {
        let (name, version) = (snapshot.program.name(), snapshot.program.version());
        let state = Shown(&snapshot.state);
        let saved = params![stream, name, version, snapshot.seq, state, now];
        group.sql(Sql::SnapshotSave)?.execute(saved)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use counterfoil_core::domain::workflow::{InputKind, Program};
    use counterfoil_core::domain::{Event, Kind, Micros, Span};
    use counterfoil_core::port::workflow::NewInput;

    use super::*;
    use crate::workflow::input::Send;

    fn step() -> Step {
        let (kind, body) = (Kind::new("start:trip").unwrap(), b"b".to_vec());
        let decision = Decision {
            input: "start".into(),
            event: Event { kind, body, cause: None },
            decided: None,
            events: Vec::new(),
            commands: Vec::new(),
            timers: Vec::new(),
            unset: Vec::new(),
            cancel: Vec::new(),
        };
        Step {
            stream: Stream::new("t").unwrap(),
            program: Program::new("trip", 1).unwrap(),
            expected_seq: 0,
            at: Micros::EARLIEST,
            decisions: vec![decision],
            status: Status::Running,
            snapshot: None,
            owner: "me".into(),
            lease: Span::ZERO,
        }
    }

    /// After a COMMIT that failed: what was answered is looked up, an input too.
    #[test]
    fn whether_a_step_stands_is_told_from_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let (own, _) = crate::connection::init(&folder.path().join("s.db"), None).unwrap();
        let send = Send(vec![NewInput {
            stream: Stream::new("t").unwrap(),
            id: "start".into(),
            kind: InputKind::Start,
            name: "trip".into(),
            body: Some(b"b".to_vec()),
        }]);
        let steps = Steps::new(vec![step()], 100);
        for (end, stands) in [("ROLLBACK", Some(false)), ("COMMIT", Some(true))] {
            own.execute_batch("BEGIN IMMEDIATE").unwrap();
            let mut group = Group::new(&own, Micros::EARLIEST);
            let sent = send.run(&mut group).unwrap();
            let written = steps.run(&mut group).unwrap();
            drop(group);
            own.execute_batch(end).unwrap();
            assert_eq!(written, [Ok(())]);
            assert_eq!(steps.stands(&own, &written).unwrap(), stands, "{end}");
            assert_eq!(send.stands(&own, &sent).unwrap(), stands, "{end}");
        }
        // Another runner's step at the same place, at another time, is not this one.
        let later = Step { at: Micros::LATEST, ..step() };
        let other = Steps::new(vec![later], 100);
        assert_eq!(other.stands(&own, &vec![Ok(())]).unwrap(), Some(false));
    }
}
