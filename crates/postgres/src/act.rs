//! What people do to commands: retry, resolve, cancel, redeliver.
//!
//! Guarantees: a deed and the record of who did it are one transaction; what a rule refuses changes
//! nothing; the destination's stored contract decides what is safe. Does not: find commands; a
//! filter is a list first.

use counterfoil_core::domain::{
    Delivery, Micros, Next, Position, Reason, Terms, Transition, transition,
};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::{Act, Acted, Actor, Deed};

use crate::destination;
use crate::failure::Failure;
use crate::group::Group;
use crate::lane::{self, Lane};
use crate::pause::{Action, insert_action};
use crate::position::{self, Subject, Written};
use crate::report::digests_of;
use crate::row::{self, micros};
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

const OUTBOX_ACT: Statement = statement!("outbox_act");
const ARCHIVED_LOCK: Statement = statement!("archived_lock");
const CONTRADICTIONS: Statement = statement!("contradiction_of_command");
const ACKNOWLEDGING: Statement = statement!("facts_acknowledging");
const DELIVERY_LOCK: Statement = statement!("delivery_lock");
const DELIVERY_REOPEN: Statement = statement!("delivery_reopen");

/// Deeds of one person.
pub(crate) struct Acting<'a> {
    store: &'a Inner,
    deeds: Vec<Deed>,
    actor: Actor,
}

/// What a deed must know of its command.
struct Known {
    n: i64,
    destination: String,
    ordering_key: Option<String>,
    expires_at: Option<Micros>,
    is_erased: bool,
    is_of_stream: bool,
}

impl<'a> Acting<'a> {
    pub(crate) fn new(
        store: &'a Inner,
        deeds: Vec<Deed>,
        actor: Actor,
    ) -> Result<Self, StoreError> {
        check(&actor)?;
        Ok(Self { store, deeds, actor })
    }
}

/// Refuses an actor that cannot be recorded.
pub(crate) fn check(actor: &Actor) -> Result<(), StoreError> {
    if actor.name.is_empty() || actor.name.len() > 255 {
        let why = "an actor has a name of 1 to 255 bytes: say who acts";
        return Err(StoreError::Broken(why.into()));
    }
    Ok(())
}

impl Work for Acting<'_> {
    type Answer = Vec<Acted>;

    async fn run(&self, tx: &Tx<'_>) -> Result<Vec<Acted>, Failure> {
        let mut group = Group::begin(tx, self.store).await?;
        // In one order everywhere, so that two people do not wait for each other.
        let ids: Vec<&str> = self.deeds.iter().map(|deed| deed.command_id.as_str()).collect();
        tx.execute(DELIVERY_LOCK, &[&ids]).await?;
        let mut acted = Vec::with_capacity(self.deeds.len());
        for deed in &self.deeds {
            acted.push(act(&mut group, deed, &self.actor).await?);
        }
        group.flush().await?;
        Ok(acted)
    }

    fn wakes(&self, acted: &Vec<Acted>) -> bool {
        acted.iter().any(|one| matches!(one, Acted::Done { .. }))
    }
}

/// Does one deed.
pub(crate) async fn act(
    group: &mut Group<'_>,
    deed: &Deed,
    actor: &Actor,
) -> Result<Acted, Failure> {
    let id = deed.command_id.as_str();
    let Some(known) = find(group, id).await? else {
        return Ok(act_on_archived(group, deed, actor).await?.unwrap_or(Acted::Unknown));
    };
    let key = known.ordering_key.as_deref();
    let lane = key.map(|key| Lane { destination: &known.destination, key });
    if let (Some(lane), Act::Redeliver { .. }) = (lane, &deed.act) {
        lane::lock(group, lane).await?;
    }
    let Some(stands) = position::read(group, known.n).await? else {
        // Archived while its receipt was waited for; else its rows were lost.
        let acted = act_on_archived(group, deed, actor).await?;
        return Ok(acted.unwrap_or(Acted::Refused(Reason::Ended)));
    };
    if let Some(reason) = deed.refused_before(&stands.position, known.is_erased) {
        return Ok(Acted::Refused(reason));
    }
    if let Position::Ended(ended) = &stands.position
        && deed.acknowledges()
        && is_contradicted(group, id).await?
    {
        let outcome = ended.outcome.name();
        record(group, deed, actor, (outcome, outcome)).await?;
        return Ok(Acted::Done { before: outcome, after: outcome });
    }
    let digests = digests_of(group, known.n, &stands).await?;
    let before = stands.position;
    let terms = Terms::new(destination::stored(group, &known.destination).await?);
    let lane = lane.map(|lane| (lane, Some(terms.contract.on_parked)));
    let is_of_stream = known.is_of_stream;
    let subject = Subject::new(known.n, id, &known.destination);
    let subject = Subject { digests, lane, is_of_stream, ..subject };
    let input = deed.act.input(actor, known.expires_at);
    let next = transition(&before, input, &terms, group.now);
    let after = match next {
        Transition::Applied { next: Next::Open(delivery), .. }
            if matches!(before, Position::Ended(_)) =>
        {
            reopen(group, subject, &before, delivery).await?
        }
        next => match position::write(group, subject, &before, next).await? {
            Written::Open(state) => state.name(),
            Written::Ended(outcome) => outcome,
            Written::Contradicted => return Ok(Acted::Refused(Reason::Ended)),
            Written::Ignored(reason) | Written::Refused(reason) => {
                return Ok(Acted::Refused(reason));
            }
        },
    };
    let before = name(&before);
    record(group, deed, actor, (before, after)).await?;
    Ok(Acted::Done { before, after })
}

/// `None`: it is not archived.
async fn act_on_archived(
    group: &Group<'_>,
    deed: &Deed,
    actor: &Actor,
) -> Result<Option<Acted>, Failure> {
    let id = deed.command_id.as_str();
    let Some(archived) = group.tx.query_opt(ARCHIVED_LOCK, &[&id]).await? else {
        return Ok(None);
    };
    let outcome = row::string(&archived, 0).unwrap_or_default();
    let acted = deed.to_archived(&outcome, is_contradicted(group, id).await?);
    if let Acted::Done { before, after } = acted {
        record(group, deed, actor, (before, after)).await?;
    }
    Ok(Some(acted))
}

async fn find(group: &Group<'_>, id: &str) -> Result<Option<Known>, Failure> {
    let row = group.tx.query_opt(OUTBOX_ACT, &[&id]).await?;
    Ok(row.map(|row| Known {
        n: row::int(&row, 0).unwrap_or(0),
        destination: row::string(&row, 1).unwrap_or_default(),
        ordering_key: row::string(&row, 2),
        expires_at: row::time(&row, 3),
        is_erased: row::flag(&row, 4),
        is_of_stream: row::flag(&row, 5),
    }))
}

/// Whether a report contradicts the command's receipt, and nobody has looked into it since.
async fn is_contradicted(group: &Group<'_>, id: &str) -> Result<bool, Failure> {
    let said = group.tx.query(CONTRADICTIONS, &[&id]).await?;
    let Some(last) = said.iter().filter_map(|row| row::time(row, 5)).max() else {
        return Ok(false);
    };
    let looked = group.tx.query_opt(ACKNOWLEDGING, &[&vec![id]]).await?;
    Ok(looked.and_then(|row| row::time(&row, 1)).is_none_or(|at| at < last))
}

async fn record(
    group: &Group<'_>,
    deed: &Deed,
    actor: &Actor,
    (before, after): (&'static str, &'static str),
) -> Result<(), Failure> {
    let action = Action { verb: deed.act.name(), about: &deed.command_id, actor: &actor.name };
    let reason = (!actor.reason.is_empty()).then_some(actor.reason.as_str());
    insert_action(group, &action, reason, (Some(before), after)).await
}

const fn name(position: &Position) -> &'static str {
    match position {
        Position::Open(open) => open.state.name(),
        Position::Ended(ended) => ended.outcome.name(),
    }
}

/// An ended command is open again: it is counted as ended no more.
async fn reopen(
    group: &mut Group<'_>,
    subject: Subject<'_>,
    before: &Position,
    delivery: Delivery,
) -> Result<&'static str, Failure> {
    if let Position::Ended(ended) = before {
        group.uncount(subject.destination, ended.outcome);
    }
    let delivery = lane::without_turn(None, delivery);
    group
        .tx
        .execute(
            DELIVERY_REOPEN,
            &[
                &delivery.n,
                &position::int(delivery.round),
                &micros(delivery.available_at),
                &delivery.token.get(),
                &delivery.key_seq,
                &micros(delivery.first_sent_at),
            ],
        )
        .await?;
    if let Some(at) = delivery.available_at {
        group.tx.made_due(subject.destination, at, group.now);
    }
    position::give_turn(group, subject).await?;
    Ok(delivery.state.name())
}
