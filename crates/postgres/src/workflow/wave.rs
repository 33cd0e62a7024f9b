//! Steps of as many workflows, written at once.
//!
//! Guarantees: their statements travel together, workflows first, in the order of streams; fewer
//! rows than were given say that something stood in the way, and what was written then is to be
//! rolled back. Does not: wait for what others hold of a command that is to be cancelled.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use counterfoil_core::domain::CommandId;
use counterfoil_core::domain::workflow::{Program, Status};
use counterfoil_core::port::workflow::{
    EXPIRE_ACTOR, PlannedStep, SET_ASIDE_VERB, Step, StepRefused, canceller, twin_reason,
};
use counterfoil_core::port::{Act, Acted, Deed};
use futures_util::future::{try_join, try_join4, try_join5};
use tokio_postgres::Row;

use super::quarantine::SERVE;
use crate::act::act;
use crate::enqueue::{Given, Inserted, Place, arrive, insert_rows, made_due};
use crate::failure::Failure;
use crate::group::Group;
use crate::pause::{Action, insert_action};
use crate::row::{flag, int, string, text};
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;

const GO_ON: Statement = statement!("stream_go_on");
const BEGIN: Statement = statement!("stream_begin");
const TAKE: Statement = statement!("input_take");
pub(super) const EVENTS: Statement = statement!("step_events");
const UNSET: Statement = statement!("input_unset");
const TIMER: Statement = statement!("input_timer");
pub(super) const TIMERS_END: Statement = statement!("input_timers_end");
const SNAPSHOT: Statement = statement!("snapshot_save");
const LOOK: Statement = statement!("stream_look");
const HEADS: Statement = statement!("stream_events");
const WAITS: Statement = statement!("input_waits");
const DECIDED: Statement = statement!("input_decided");
const KNOWN: Statement = statement!("known");
const LOCK_FREE: Statement = statement!("delivery_lock_free");

/// How long a command that another transaction holds is waited for, if it is to be cancelled;
/// doubled each time.
const FIRST_WAIT: Duration = Duration::from_millis(1);
/// The longest of these waits. Who holds it for longer is at work on it.
const WAIT_MAX: Duration = Duration::from_millis(16);

/// Writes steps, of each workflow one; whether all of it was new.
pub(super) async fn write(
    tx: &Tx<'_>,
    store: &Inner,
    steps: &[&PlannedStep],
) -> Result<bool, Failure> {
    let given = commands(steps);
    let (going, begun) =
        steps.iter().partition::<Vec<&PlannedStep>, _>(|it| it.step.expected_seq > 0);
    let stand = try_join4(
        go_on(tx, &going),
        begin(tx, &begun),
        take(tx, steps),
        insert_rows(tx, &given, None, None),
    );
    let follow = try_join5(
        insert_events(tx, steps),
        unset(tx, steps),
        set_timers(tx, steps),
        serve(tx, &begun),
        save(tx, steps),
    );
    let ((go_on, begin, take, new), (events, ..)) = try_join(stand, follow).await?;
    let is_new = given.iter().all(|given| new.has(given.id));
    if !(go_on && begin && take && events && is_new) {
        return Ok(false);
    }
    follow_up(tx, store, steps, (&given, &new)).await?;
    Ok(true)
}

/// Gives new commands their lanes, and cancels what is to be cancelled.
async fn follow_up(
    tx: &Tx<'_>,
    store: &Inner,
    steps: &[&PlannedStep],
    (given, new): (&[Given<'_>], &Inserted),
) -> Result<(), Failure> {
    if !given.is_empty() {
        arrive(&Group::at(tx, store, new.now), new).await?;
        made_due(tx, given, new.now);
    }
    if steps.iter().any(|it| it.step.decisions.iter().any(|one| !one.cancel.is_empty())) {
        let mut group = Group::begin(tx, store).await?;
        for PlannedStep { step, .. } in steps {
            cancel(&mut group, step).await?;
        }
        group.flush().await?;
    }
    Ok(())
}

/// The commands of all decisions under their ids.
fn commands<'a>(steps: &[&'a PlannedStep]) -> Vec<Given<'a>> {
    let mut all = Vec::new();
    for planned in steps {
        let stream = planned.step.stream.as_str();
        for (_, decision, appended) in planned.decisions() {
            for ((id, command), idx) in appended.command_ids.iter().zip(&decision.commands).zip(0..)
            {
                let place = Some(Place { stream, seq: appended.seq, idx });
                all.push(Given { id, command, place });
            }
        }
    }
    all
}

fn streams<'a>(steps: &[&'a PlannedStep]) -> Vec<&'a str> {
    steps.iter().map(|it| it.step.stream.as_str()).collect()
}

/// Who holds each workflow from now, and for how long, in µs.
fn leases<'a>(steps: &[&'a PlannedStep]) -> (Vec<Option<&'a str>>, Vec<Option<i64>>) {
    let lease = |it: &&'a PlannedStep| {
        let step = &it.step;
        let is_held = step.lease.as_micros() > 0 && !step.status.has_ended();
        is_held.then_some((step.owner.as_str(), step.lease.as_micros()))
    };
    steps.iter().map(lease).map(Option::unzip).unzip()
}

/// Moves workflows on that stand where their steps expect them; whether all do.
async fn go_on(tx: &Tx<'_>, steps: &[&PlannedStep]) -> Result<bool, Failure> {
    if steps.is_empty() {
        return Ok(true);
    }
    let names: Vec<&str> = steps.iter().map(|it| it.step.program.name()).collect();
    let versions: Vec<i64> = steps.iter().map(|it| it.step.program.version().into()).collect();
    let expected: Vec<i64> = steps.iter().map(|it| it.step.expected_seq).collect();
    let statuses: Vec<&str> = steps.iter().map(|it| it.step.status.name()).collect();
    let heads: Vec<i64> = steps.iter().map(|it| it.head()).collect();
    let (owners, leases) = leases(steps);
    let columns: [&dyn crate::param::Param; 8] =
        [&streams(steps), &names, &versions, &expected, &statuses, &heads, &owners, &leases];
    Ok(tx.query(GO_ON, &columns).await?.len() == steps.len())
}

/// Begins workflows where nothing stands; whether nothing does.
async fn begin(tx: &Tx<'_>, steps: &[&PlannedStep]) -> Result<bool, Failure> {
    if steps.is_empty() {
        return Ok(true);
    }
    let names: Vec<&str> = steps.iter().map(|it| it.step.program.name()).collect();
    let versions: Vec<i64> = steps.iter().map(|it| it.step.program.version().into()).collect();
    let statuses: Vec<&str> = steps.iter().map(|it| it.step.status.name()).collect();
    let heads: Vec<i64> = steps.iter().map(|it| it.head()).collect();
    let (owners, leases) = leases(steps);
    let columns: [&dyn crate::param::Param; 7] =
        [&streams(steps), &names, &versions, &statuses, &heads, &owners, &leases];
    Ok(tx.query(BEGIN, &columns).await?.len() == steps.len())
}

/// Stream and id of each input that is decided.
fn inputs<'a>(steps: &[&'a PlannedStep]) -> (Vec<&'a str>, Vec<&'a str>) {
    let of = |it: &&'a PlannedStep| {
        let stream = it.step.stream.as_str();
        it.step.decisions.iter().map(move |decision| (stream, decision.input.as_str()))
    };
    steps.iter().flat_map(of).unzip()
}

/// Takes the inputs; whether all of them waited.
async fn take(tx: &Tx<'_>, steps: &[&PlannedStep]) -> Result<bool, Failure> {
    let (streams, ids) = inputs(steps);
    Ok(tx.query(TAKE, &[&streams, &ids]).await?.len() == ids.len())
}

/// Inserts the events; whether none stood in their way.
async fn insert_events(tx: &Tx<'_>, steps: &[&PlannedStep]) -> Result<bool, Failure> {
    let (mut streams, mut seqs, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
    let (mut bodies, mut causes, mut issued) = (Vec::new(), Vec::new(), Vec::new());
    let (mut decided, mut times) = (Vec::new(), Vec::new());
    for planned in steps {
        for (first, decision, _) in planned.decisions() {
            for (seq, commands, event) in decision.numbered(first) {
                streams.push(planned.step.stream.as_str());
                seqs.push(seq);
                kinds.push(event.kind.as_str());
                bodies.push(event.body.as_slice());
                causes.push(event.cause.as_deref());
                issued.push(i32::try_from(commands).unwrap_or(i32::MAX));
                decided.push(decision.decided.as_deref().filter(|_| seq == first));
                times.push(planned.step.at.get());
            }
        }
    }
    let columns: [&dyn crate::param::Param; 8] =
        [&streams, &seqs, &kinds, &bodies, &causes, &issued, &decided, &times];
    Ok(tx.query(EVENTS, &columns).await?.len() == seqs.len())
}

/// Takes timers back that decisions take back; of a workflow that has ended, all of them.
async fn unset(tx: &Tx<'_>, steps: &[&PlannedStep]) -> Result<(), Failure> {
    let (mut of, mut ids, mut ended) = (Vec::new(), Vec::new(), Vec::new());
    for PlannedStep { step, .. } in steps {
        let stream = step.stream.as_str();
        if step.status.has_ended() {
            ended.push(stream);
        }
        for id in step.decisions.iter().flat_map(|decision| &decision.unset) {
            of.push(stream);
            ids.push(id.as_str());
        }
    }
    let unset =
        async { if ids.is_empty() { Ok(()) } else { tx.execute(UNSET, &[&of, &ids]).await } };
    let end =
        async { if ended.is_empty() { Ok(()) } else { tx.execute(TIMERS_END, &[&ended]).await } };
    try_join(unset, end).await.map(drop)
}

/// Sets timers that no later decision of the step takes back.
async fn set_timers(tx: &Tx<'_>, steps: &[&PlannedStep]) -> Result<(), Failure> {
    let mut set = BTreeMap::new();
    for PlannedStep { step, .. } in steps.iter().filter(|it| !it.step.status.has_ended()) {
        let stream = step.stream.as_str();
        for decision in &step.decisions {
            for id in &decision.unset {
                set.remove(&(stream, id.as_str()));
            }
            for (id, name, due_at) in &decision.timers {
                let program = step.program.to_string();
                set.insert((stream, id.as_str()), (name.as_str(), due_at.get(), program));
            }
        }
    }
    if set.is_empty() {
        return Ok(());
    }
    let (streams, ids): (Vec<&str>, Vec<&str>) = set.keys().copied().unzip();
    let names: Vec<&str> = set.values().map(|(name, ..)| *name).collect();
    let times: Vec<i64> = set.values().map(|(_, due_at, _)| *due_at).collect();
    let programs: Vec<&str> = set.values().map(|(.., program)| program.as_str()).collect();
    tx.execute(TIMER, &[&streams, &ids, &names, &times, &programs]).await
}

/// What waited for a workflow that begins is given to it.
async fn serve(tx: &Tx<'_>, begun: &[&PlannedStep]) -> Result<(), Failure> {
    if begun.is_empty() {
        return Ok(());
    }
    let programs: Vec<Option<String>> =
        begun.iter().map(|it| Some(it.step.program.to_string())).collect();
    tx.execute(SERVE, &[&streams(begun), &programs]).await
}

/// Saves states.
async fn save(tx: &Tx<'_>, steps: &[&PlannedStep]) -> Result<(), Failure> {
    let all = || steps.iter().filter_map(|it| Some((&it.step.stream, it.step.snapshot.as_ref()?)));
    let streams: Vec<&str> = all().map(|(stream, _)| stream.as_str()).collect();
    if streams.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = all().map(|(_, saved)| saved.program.name()).collect();
    let versions: Vec<i64> = all().map(|(_, saved)| saved.program.version().into()).collect();
    let seqs: Vec<i64> = all().map(|(_, saved)| saved.seq).collect();
    let states: Vec<&[u8]> = all().map(|(_, saved)| saved.state.as_slice()).collect();
    tx.execute(SNAPSHOT, &[&streams, &names, &versions, &seqs, &states]).await
}

/// Cancels commands that decisions take back, as one of many: what is in doubt is left alone, and
/// so is what another transaction is at work on.
async fn cancel(group: &mut Group<'_>, step: &Step) -> Result<(), Failure> {
    let ids = step.decisions.iter().flat_map(|decision| &decision.cancel);
    let ids: BTreeSet<&str> = ids.map(CommandId::as_str).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let actor = canceller(&step.stream);
    for command_id in hold(group, ids.into_iter().collect()).await? {
        let deed = Deed { command_id, act: Act::Cancel, by_filter: true };
        if let Acted::Done { .. } = act(group, &deed, &actor).await? {
            group.tx.has_news();
        }
    }
    Ok(())
}

/// Holds those of these commands that are open, in the order of their numbers.
async fn hold(group: &Group<'_>, ids: Vec<&str>) -> Result<Vec<String>, Failure> {
    let mut wait = FIRST_WAIT;
    loop {
        let open = group.tx.query(LOCK_FREE, &[&ids]).await?;
        let is_held = open.iter().all(|row| flag(row, 1));
        if is_held || wait > WAIT_MAX {
            let ours = open.iter().filter(|row| flag(row, 1));
            return Ok(ours.filter_map(|row| string(row, 0)).collect());
        }
        tokio::time::sleep(wait).await;
        wait *= 2;
    }
}

/// Where a stream is: the row of its workflow, and its head.
#[derive(Default)]
struct Stands {
    /// The program, and whether it is set aside.
    workflow: Option<(Option<Program>, bool)>,
    head: i64,
}

/// Why each of these steps is refused; those that are not stay so until the transaction ends, but
/// for what others insert.
pub(super) async fn look(
    tx: &Tx<'_>,
    store: &Inner,
    steps: &[&PlannedStep],
) -> Result<Vec<Result<(), StepRefused>>, Failure> {
    let of = streams(steps);
    let (input_streams, input_ids) = inputs(steps);
    let ids: Vec<&str> = commands(steps).into_iter().map(|given| given.id.as_str()).collect();
    let (rows, heads, waits, known) = try_join4(
        tx.query(LOOK, &[&of]),
        tx.query(HEADS, &[&of]),
        tx.query(WAITS, &[&input_streams, &input_ids]),
        tx.query(KNOWN, &[&ids]),
    )
    .await?;
    let stands = stands(&rows, &heads);
    let waits: BTreeSet<(&str, &str)> =
        waits.iter().filter_map(|row| Some((text(row, 0)?, text(row, 1)?))).collect();
    let taken: BTreeSet<&str> =
        ids.iter().zip(&known).filter(|(_, row)| flag(row, 0)).map(|(id, _)| *id).collect();
    let mut answers = Vec::with_capacity(steps.len());
    for planned in steps {
        let step = &planned.step;
        let stands = stands.get(step.stream.as_str());
        let answer = refused_where_it_stands(step, stands.unwrap_or(&Stands::default()))
            .or_else(|| gone(step, &waits))
            .or_else(|| id_taken(planned, &taken));
        if let Some(StepRefused::Gone { stream, .. }) = &answer {
            forget_decided(tx, store, (stream.as_str(), step)).await?;
        }
        answers.push(answer.map_or(Ok(()), Err));
    }
    Ok(answers)
}

fn stands<'r>(rows: &'r [Row], heads: &'r [Row]) -> BTreeMap<&'r str, Stands> {
    let mut stands: BTreeMap<&str, Stands> = BTreeMap::new();
    for row in heads {
        let head = int(row, 1).unwrap_or(0);
        stands.insert(text(row, 0).unwrap_or_default(), Stands { workflow: None, head });
    }
    for row in rows {
        let Some(name) = text(row, 1) else { continue };
        let version = int(row, 2).and_then(|version| u32::try_from(version).ok());
        let program = version.and_then(|version| Program::new(name, version).ok());
        let is_aside = text(row, 3) == Some(Status::Quarantined.name());
        let head = int(row, 4).unwrap_or(0);
        let workflow = Some((program, is_aside));
        stands.insert(text(row, 0).unwrap_or_default(), Stands { workflow, head });
    }
    stands
}

/// What refuses the step because the workflow is not where it is expected.
fn refused_where_it_stands(step: &Step, stands: &Stands) -> Option<StepRefused> {
    let (expected, actual) = (step.expected_seq, stands.head);
    let stream = step.stream.to_string();
    let program = step.program.to_string();
    match &stands.workflow {
        None if expected == 0 && actual == 0 => None,
        None if expected == 0 => Some(StepRefused::Taken { stream, program }),
        None | Some((_, true)) => Some(StepRefused::Moved { stream, expected, actual }),
        Some(_) if actual != expected => Some(StepRefused::Moved { stream, expected, actual }),
        Some((stands, false)) if stands.as_ref() == Some(&step.program) => None,
        Some(_) => Some(StepRefused::Taken { stream, program }),
    }
}

fn gone(step: &Step, waits: &BTreeSet<(&str, &str)>) -> Option<StepRefused> {
    let stream = step.stream.as_str();
    let gone = step.decisions.iter().find(|it| !waits.contains(&(stream, it.input.as_str())))?;
    Some(StepRefused::Gone { stream: stream.to_owned(), id: gone.input.clone() })
}

fn id_taken(planned: &PlannedStep, taken: &BTreeSet<&str>) -> Option<StepRefused> {
    let mut ids = planned.decided.iter().flat_map(|decided| &decided.command_ids);
    let id = ids.find(|id| taken.contains(id.as_str()))?;
    Some(StepRefused::IdTaken { id: id.to_string() })
}

/// Takes inputs away that stand as causes already: a transaction that could not see them decided
/// has sent them again. One of other content would have been refused; that it goes is recorded.
async fn forget_decided(
    tx: &Tx<'_>,
    store: &Inner,
    (stream, step): (&str, &Step),
) -> Result<(), Failure> {
    let ids: Vec<&str> = step.decisions.iter().map(|it| it.input.as_str()).collect();
    let gone = tx.query(DECIDED, &[&vec![stream; ids.len()], &ids]).await?;
    let others: Vec<&Row> = gone.iter().filter(|row| !flag(row, 3)).collect();
    if others.is_empty() {
        return Ok(());
    }
    let group = Group::begin(tx, store).await?;
    for other in others {
        let said = |at| text(other, at).unwrap_or_default();
        let why = twin_reason(said(0), said(1), said(2));
        let action = Action { verb: SET_ASIDE_VERB, about: stream, actor: EXPIRE_ACTOR };
        insert_action(&group, &action, Some(&why), (Some("waiting"), "gone")).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use counterfoil_core::domain::{Micros, Span};

    use super::*;

    #[test]
    fn a_workflow_that_stands_elsewhere_refuses_the_step() {
        let program = Program::new("trip", 1).unwrap();
        let step = |expected_seq| Step {
            stream: counterfoil_core::domain::Stream::new("t").unwrap(),
            program: program.clone(),
            expected_seq,
            at: Micros::default(),
            decisions: Vec::new(),
            status: Status::Running,
            snapshot: None,
            owner: String::new(),
            lease: Span::ZERO,
        };
        let word = |expected, workflow, head| match refused_where_it_stands(
            &step(expected),
            &Stands { workflow, head },
        ) {
            None => "none",
            Some(StepRefused::Moved { .. }) => "moved",
            Some(StepRefused::Taken { .. }) => "taken",
            Some(_) => "other",
        };
        let ours = |aside| Some((Some(program.clone()), aside));
        let other = || Some((Some(Program::new("trip", 2).unwrap()), false));
        assert_eq!(word(0, None, 0), "none");
        assert_eq!(word(0, None, 3), "taken");
        assert_eq!(word(2, None, 0), "moved");
        assert_eq!(word(2, ours(false), 2), "none");
        assert_eq!(word(2, ours(false), 3), "moved");
        assert_eq!(word(2, ours(true), 2), "moved");
        assert_eq!(word(2, other(), 2), "taken");
        assert_eq!(word(0, other(), 2), "moved");
    }
}
