//! Pauses a destination for all relays, and lets it go on.
//!
//! Guarantees: the change and the record of who made it are one transaction; a destination that is
//! paused stays as it is. Does not: stop what is in flight; a pause stops claims.

use counterfoil_core::domain::Destination;

use crate::failure::Failure;
use crate::group::Group;
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

const PAUSE: Statement = statement!("destination_pause");
const RESUME: Statement = statement!("destination_resume");
const ACTION_INSERT: Statement = statement!("action_insert");

/// One pause.
pub(crate) struct Pause<'a> {
    pub(crate) store: &'a Inner,
    pub(crate) destination: Destination,
    pub(crate) actor: String,
    pub(crate) reason: String,
}

impl Work for Pause<'_> {
    /// Whether it was running before.
    type Answer = bool;

    async fn run(&self, tx: &Tx<'_>) -> Result<bool, Failure> {
        let Self { store, destination, actor, reason } = self;
        let group = Group::begin(tx, store).await?;
        let (name, now) = (destination.as_str(), group.now.get());
        if tx.query(PAUSE, &[&name, &now, actor, reason]).await?.is_empty() {
            return Ok(false);
        }
        let action = Action { verb: "pause", about: name, actor };
        insert_action(&group, &action, Some(reason), (Some("running"), "paused")).await?;
        Ok(true)
    }
}

/// Lets a paused destination go on.
pub(crate) struct Resume<'a> {
    pub(crate) store: &'a Inner,
    pub(crate) destination: Destination,
    pub(crate) actor: String,
    /// Empty: none was given.
    pub(crate) reason: String,
}

impl Work for Resume<'_> {
    /// Whether it was paused.
    type Answer = bool;

    async fn run(&self, tx: &Tx<'_>) -> Result<bool, Failure> {
        let Self { store, destination, actor, reason } = self;
        let name = destination.as_str();
        if tx.query(RESUME, &[&name]).await?.is_empty() {
            return Ok(false);
        }
        tx.has_news();
        let group = Group::begin(tx, store).await?;
        let action = Action { verb: "resume", about: name, actor };
        let reason = Some(reason.as_str()).filter(|reason| !reason.is_empty());
        insert_action(&group, &action, reason, (Some("paused"), "running")).await?;
        Ok(true)
    }

    fn wakes(&self, resumed: &bool) -> bool {
        *resumed
    }
}

/// What somebody did, to what.
pub(crate) struct Action<'a> {
    pub(crate) verb: &'a str,
    pub(crate) about: &'a str,
    pub(crate) actor: &'a str,
}

/// Keeps the record of an action: how it was before, where that is one thing, and after.
pub(crate) async fn insert_action(
    group: &Group<'_>,
    action: &Action<'_>,
    reason: Option<&str>,
    (before, after): (Option<&str>, &str),
) -> Result<(), Failure> {
    let now = group.now.get();
    let Action { verb, about, actor } = action;
    let row: [&dyn crate::param::Param; 7] = [verb, about, actor, &reason, &before, &after, &now];
    group.tx.execute(ACTION_INSERT, &row).await
}
