//! Rows as read, column by column.
//!
//! Guarantees: a column that is NULL or of another type is told as absent, and a row that cannot be
//! used says why. Does not: expect text that is no UTF-8; the server stores none.

use counterfoil_core::domain::{
    CommandId, Delivery, Destination, Digest, IdRefused, Kind, Micros, OrderingKey, OutboxRow,
    Receipt, ReceiptOutcome, State, Stream, Token,
};
use tokio_postgres::Row;

/// Why a row cannot be used, for people.
pub(crate) type Unreadable = String;

/// The number in an integer column, wide or narrow.
pub(crate) fn int(row: &Row, at: usize) -> Option<i64> {
    row.try_get::<_, Option<i64>>(at)
        .unwrap_or_else(|_| row.try_get::<_, Option<i32>>(at).ok().flatten().map(i64::from))
}

/// The time in a column.
pub(crate) fn time(row: &Row, at: usize) -> Option<Micros> {
    int(row, at).map(Micros::new)
}

/// A count or a round; what does not fit becomes the largest.
pub(crate) fn count(row: &Row, at: usize) -> u32 {
    u32::try_from(int(row, at).unwrap_or(0)).unwrap_or(u32::MAX)
}

/// The text in a column.
pub(crate) fn text(row: &Row, at: usize) -> Option<&str> {
    row.try_get(at).ok().flatten()
}

/// The text in a column, owned.
pub(crate) fn string(row: &Row, at: usize) -> Option<String> {
    text(row, at).map(str::to_owned)
}

/// The bytes in a column.
pub(crate) fn bytes(row: &Row, at: usize) -> Option<&[u8]> {
    row.try_get(at).ok().flatten()
}

/// The truth in a column; NULL is false.
pub(crate) fn flag(row: &Row, at: usize) -> bool {
    row.try_get::<_, Option<bool>>(at).ok().flatten().unwrap_or(false)
}

pub(crate) fn digest(row: &Row, at: usize) -> Option<Digest> {
    bytes(row, at).and_then(Digest::from_bytes)
}

/// The delivery in 15 columns from `at`: n, state, round, round_since, attempts, asks, in_doubt,
/// available_at, token, lease_until, lease_owner, first_sent_at, last_lease_until, last_outcome,
/// key_seq.
///
/// A state that is none counts as `Sending`: the worst that it can have been.
pub(crate) fn delivery(row: &Row, at: usize) -> (Delivery, Result<(), Unreadable>) {
    let name = text(row, at + 1).unwrap_or_default();
    let state = State::from_name(name);
    let delivery = Delivery {
        n: int(row, at).unwrap_or(0),
        state: state.unwrap_or(State::Sending),
        round: count(row, at + 2),
        round_since: time(row, at + 3),
        attempts: count(row, at + 4),
        asks: count(row, at + 5),
        in_doubt: int(row, at + 6).unwrap_or(0) != 0,
        available_at: time(row, at + 7),
        token: Token::new(int(row, at + 8).unwrap_or(0)),
        lease_until: time(row, at + 9),
        lease_owner: string(row, at + 10),
        first_sent_at: time(row, at + 11),
        last_lease_until: time(row, at + 12),
        last_outcome: string(row, at + 13),
        key_seq: int(row, at + 14),
    };
    let known = match state {
        Some(_) => Ok(()),
        None => Err(format!("its state {name:?} is none")),
    };
    (delivery, known)
}

/// The outbox row in 15 columns from `at`, in the order of [`OutboxRow`].
pub(crate) fn outbox(row: &Row, at: usize, body_bytes_max: usize) -> Result<OutboxRow, Unreadable> {
    let Some(n) = int(row, at) else {
        return Err("its outbox row is missing".into());
    };
    let body = bytes(row, at + 8).unwrap_or_default();
    if body.len() > body_bytes_max {
        let len = body.len();
        return Err(format!("its body has {len} bytes, more than body_bytes_max"));
    }
    decode_outbox(row, at, n, body).map_err(|refused| refused.to_string())
}

fn decode_outbox(row: &Row, at: usize, n: i64, body: &[u8]) -> Result<OutboxRow, IdRefused> {
    let name = |at| text(row, at).unwrap_or_default().as_bytes();
    Ok(OutboxRow {
        n,
        command_id: CommandId::from_bytes(name(at + 1))?,
        stream: text(row, at + 2).map(|it| Stream::from_bytes(it.as_bytes())).transpose()?,
        seq: int(row, at + 3),
        idx: int(row, at + 4),
        destination: Destination::from_bytes(name(at + 5))?,
        kind: Kind::from_bytes(name(at + 6))?,
        ordering_key: text(row, at + 7)
            .map(|it| OrderingKey::from_bytes(it.as_bytes()))
            .transpose()?,
        body: body.to_vec(),
        content_type: string(row, at + 9).unwrap_or_default(),
        headers: string(row, at + 10),
        core_digest: string(row, at + 11),
        not_before: time(row, at + 12),
        expires_at: time(row, at + 13),
        recorded_at: time(row, at + 14).unwrap_or_default(),
    })
}

/// The receipt in 11 columns from `at`: n, round, outcome, result, evidence, source, attempts,
/// token, first_sent_at, recorded_at, key_seq. An outcome that is none counts as completed.
pub(crate) fn receipt(row: &Row, at: usize) -> Receipt {
    let outcome = text(row, at + 2).unwrap_or_default();
    Receipt {
        n: int(row, at).unwrap_or(0),
        round: count(row, at + 1),
        outcome: ReceiptOutcome::from_name(outcome).unwrap_or(ReceiptOutcome::Completed),
        result: bytes(row, at + 3).map(<[u8]>::to_vec),
        evidence: string(row, at + 4),
        source: string(row, at + 5).unwrap_or_default(),
        attempts: count(row, at + 6),
        token: Token::new(int(row, at + 7).unwrap_or(0)),
        first_sent_at: time(row, at + 8),
        recorded_at: time(row, at + 9).unwrap_or_default(),
        key_seq: int(row, at + 10),
    }
}

/// A time as stored.
pub(crate) fn micros(time: Option<Micros>) -> Option<i64> {
    time.map(Micros::get)
}
