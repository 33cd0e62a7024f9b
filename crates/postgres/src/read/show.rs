//! All that stands about one command.
//!
//! Guarantees: one snapshot; of an archived command, its tombstone. Does not: read the archive's
//! files.

use counterfoil_core::domain::Micros;
use counterfoil_core::port::read::{Listed, ReceiptStory, Story, Told};
use futures_util::future::{try_join, try_join5};
use tokio_postgres::Row;

use super::{asked, lane, list};
use crate::failure::Failure;
use crate::row::{self, bytes, count, flag, int, string, time};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const TOMBSTONE: Statement = statement!("archived_row");
const OUTBOX: Statement = statement!("facts_outbox");
const DELIVERY: Statement = statement!("facts_delivery");
const RECEIPTS: Statement = statement!("facts_receipt");
const ATTEMPTS: Statement = statement!("attempt_of_command");
const CONTRADICTIONS: Statement = statement!("contradiction_of_command");
const ACTIONS: Statement = statement!("action_of_command");

/// The story of the command.
pub(crate) async fn show(tx: &Tx<'_>, command_id: &str) -> Result<Option<Story>, Failure> {
    let Some(n) = list::number(tx, command_id).await? else {
        return archived(tx, asked(command_id)).await;
    };
    let numbers = vec![n];
    let (listed, outbox, delivery, receipts, attempts) = try_join5(
        list::line(tx, n),
        tx.query_opt(OUTBOX, &[&numbers]),
        tx.query_opt(DELIVERY, &[&numbers]),
        tx.query(RECEIPTS, &[&numbers]),
        tx.query(ATTEMPTS, &[&n]),
    )
    .await?;
    let (Some(listed), Some(outbox)) = (listed, outbox) else { return Ok(None) };
    let mut story = empty(listed);
    add_outbox(&outbox, &mut story);
    if let Some(delivery) = &delivery {
        add_delivery(delivery, &mut story);
    } else {
        story.first_sent_at = receipts.last().and_then(|row| time(row, 8));
    }
    let place = story.delivery.as_ref().and_then(|open| open.key_seq);
    if let (Some(place), Some(key)) = (place, string(&outbox, 7)) {
        let destination = story.listed.destination.clone();
        story.lane = Some(lane::place(tx, &destination, key, place).await?);
    }
    story.receipts = receipts.iter().map(receipt).collect();
    story.tries = attempts.iter().map(attempt).collect();
    let (said, actions) = said_and_done(tx, command_id).await?;
    story.tries.extend(said);
    story.tries.sort_by_key(|told| told.at);
    story.actions = actions;
    Ok(Some(story))
}

fn empty(listed: Listed) -> Story {
    Story {
        listed,
        decision: None,
        body: None,
        content_type: String::new(),
        headers: None,
        not_before: None,
        expires_at: None,
        first_sent_at: None,
        delivery: None,
        lease: None,
        lane: None,
        receipts: Vec::new(),
        tries: Vec::new(),
        actions: Vec::new(),
        archived: false,
    }
}

async fn archived(tx: &Tx<'_>, command_id: &str) -> Result<Option<Story>, Failure> {
    let Some(row) = tx.query_opt(TOMBSTONE, &[&command_id]).await? else { return Ok(None) };
    let text = |at| string(&row, at).unwrap_or_default();
    let listed = Listed {
        command_id: command_id.into(),
        destination: text(0),
        kind: text(1),
        state: text(4),
        round: count(&row, 5),
        attempts: 0,
        in_doubt: false,
        available_at: None,
        token: 0,
        recorded_at: Micros::default(),
        last_outcome: None,
    };
    let (tries, actions) = said_and_done(tx, command_id).await?;
    Ok(Some(Story { archived: true, actions, tries, ..empty(listed) }))
}

fn add_outbox(row: &Row, story: &mut Story) {
    if let (Some(stream), Some(seq), Some(idx)) = (string(row, 2), int(row, 3), int(row, 4)) {
        story.decision = Some((stream, seq, idx));
    }
    let is_erased = flag(row, 15);
    story.body = if is_erased { None } else { bytes(row, 8).map(<[u8]>::to_vec) };
    story.content_type = string(row, 9).unwrap_or_default();
    story.headers = string(row, 10);
    story.not_before = time(row, 12);
    story.expires_at = time(row, 13);
}

/// Adds what the open delivery says.
fn add_delivery(row: &Row, story: &mut Story) {
    let (open, known) = row::delivery(row, 0);
    story.first_sent_at = open.first_sent_at;
    let owner = open.lease_owner.clone().unwrap_or_default();
    story.lease = open.lease_until.map(|until| (until, owner));
    // Of a state that nobody knows nothing follows.
    story.delivery = known.is_ok().then_some(open);
}

fn receipt(row: &Row) -> ReceiptStory {
    ReceiptStory {
        round: count(row, 1),
        outcome: string(row, 2).unwrap_or_default(),
        result: bytes(row, 3).map(<[u8]>::to_vec),
        evidence: string(row, 4),
        source: string(row, 5),
        attempts: count(row, 6),
        token: int(row, 7).unwrap_or(0),
        digest: row::digest(row, 12).map(|digest| digest.to_hex()),
        recorded_at: time(row, 9).unwrap_or_default(),
    }
}

fn attempt(row: &Row) -> Told {
    let text = |at| string(row, at).unwrap_or_default();
    Told {
        at: time(row, 5).unwrap_or_default(),
        what: text(2),
        outcome: text(3),
        reason: text(4),
        round: count(row, 0),
        token: int(row, 1).unwrap_or(0),
    }
}

/// What was said otherwise about a command, and what people did.
async fn said_and_done(tx: &Tx<'_>, command_id: &str) -> Result<(Vec<Told>, Vec<Told>), Failure> {
    let (said, done) =
        try_join(tx.query(CONTRADICTIONS, &[&command_id]), tx.query(ACTIONS, &[&command_id]))
            .await?;
    let contradiction = |row| Told {
        at: time(row, 5).unwrap_or_default(),
        what: "contradiction".into(),
        outcome: string(row, 1).unwrap_or_default(),
        reason: string(row, 3).unwrap_or_default(),
        round: count(row, 0),
        token: 0,
    };
    let action = |row| {
        let text = |at| string(row, at).unwrap_or_default();
        let at = time(row, 3).unwrap_or_default();
        Told { at, what: text(0), outcome: text(1), reason: text(2), round: 0, token: 0 }
    };
    Ok((said.iter().map(contradiction).collect(), done.iter().map(action).collect()))
}
