//! Rows as read: bytes first, decoded one by one.
//!
//! Guarantees: a row that cannot be decoded is told apart from a database that failed, and names
//! what is wrong with it. Does not: trust that text is UTF-8; SQLite stores any bytes as text.

use counterfoil_core::domain::{
    CommandId, Delivery, Destination, Digest, Kind, Micros, OrderingKey, OutboxRow, Receipt,
    ReceiptOutcome, State, Stream, Token,
};
use rusqlite::Row;
use rusqlite::types::{ToSql, ToSqlOutput, Value, ValueRef};

/// Why a row cannot be used, for people.
pub(crate) type Unreadable = String;

/// The bytes of a text or blob column.
pub(crate) fn bytes<'r>(row: &'r Row<'_>, at: usize) -> rusqlite::Result<Option<&'r [u8]>> {
    Ok(match row.get_ref(at)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    })
}

/// The integer of a column.
pub(crate) fn int(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<i64>> {
    Ok(match row.get_ref(at)? {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Null | ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => None,
    })
}

pub(crate) fn time(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Micros>> {
    Ok(int(row, at)?.map(Micros::new))
}

/// A count or a round; what does not fit becomes the largest.
pub(crate) fn count(row: &Row<'_>, at: usize) -> rusqlite::Result<u32> {
    Ok(u32::try_from(int(row, at)?.unwrap_or(0)).unwrap_or(u32::MAX))
}

/// Text for people: lossy where it is no UTF-8.
pub(crate) fn lossy(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<String>> {
    Ok(bytes(row, at)?.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

/// Text as it is stored, UTF-8 or not: what finds its row again.
pub(crate) fn stored(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Vec<u8>>> {
    Ok(bytes(row, at)?.map(<[u8]>::to_vec))
}

pub(crate) fn digest(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Digest>> {
    Ok(bytes(row, at)?.and_then(Digest::from_bytes))
}

/// The delivery in 14 columns from `at`: n, state, round, round_since, attempts, asks, in_doubt,
/// available_at, token, lease_until, lease_owner, first_sent_at, last_lease_until, last_outcome.
///
/// A state that is none counts as `Sending`: the worst that it can have been.
pub(crate) fn delivery(
    row: &Row<'_>,
    at: usize,
) -> rusqlite::Result<(Delivery, Result<(), Unreadable>)> {
    let name = bytes(row, at + 1)?.unwrap_or_default();
    let state = std::str::from_utf8(name).ok().and_then(State::from_name);
    let delivery = Delivery {
        n: int(row, at)?.unwrap_or(0),
        state: state.unwrap_or(State::Sending),
        round: count(row, at + 2)?,
        round_since: time(row, at + 3)?,
        attempts: count(row, at + 4)?,
        asks: count(row, at + 5)?,
        in_doubt: int(row, at + 6)?.unwrap_or(0) != 0,
        available_at: time(row, at + 7)?,
        token: Token::new(int(row, at + 8)?.unwrap_or(0)),
        lease_until: time(row, at + 9)?,
        lease_owner: lossy(row, at + 10)?,
        first_sent_at: time(row, at + 11)?,
        last_lease_until: time(row, at + 12)?,
        last_outcome: lossy(row, at + 13)?,
        key_seq: int(row, at + 14)?,
    };
    let known = match state {
        Some(_) => Ok(()),
        None => Err(format!("its state {:?} is none", String::from_utf8_lossy(name))),
    };
    Ok((delivery, known))
}

/// The outbox row in 15 columns from `at`, in the order of [`OutboxRow`].
pub(crate) fn outbox(
    row: &Row<'_>,
    at: usize,
    body_bytes_max: usize,
) -> rusqlite::Result<Result<OutboxRow, Unreadable>> {
    let Some(n) = int(row, at)? else {
        return Ok(Err("its outbox row is missing".into()));
    };
    // STRICT lets a body be anything; guards do not, but a hand may pass them.
    let Some(body) = bytes(row, at + 8)? else {
        return Ok(Err("its body is a number, not text or bytes".into()));
    };
    if body.len() > body_bytes_max {
        let len = body.len();
        return Ok(Err(format!("its body has {len} bytes, more than body_bytes_max")));
    }
    let decoded = decode_outbox(row, at, n, body);
    match decoded {
        Ok(outbox) => Ok(Ok(outbox)),
        Err(Undecoded::Unreadable(why)) => Ok(Err(why)),
        Err(Undecoded::Sqlite(error)) => Err(error),
    }
}

enum Undecoded {
    Unreadable(Unreadable),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Undecoded {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<counterfoil_core::domain::IdRefused> for Undecoded {
    fn from(refused: counterfoil_core::domain::IdRefused) -> Self {
        Self::Unreadable(refused.to_string())
    }
}

fn decode_outbox(row: &Row<'_>, at: usize, n: i64, body: &[u8]) -> Result<OutboxRow, Undecoded> {
    let name = |at| Ok::<_, rusqlite::Error>(bytes(row, at)?.unwrap_or_default());
    let text = |at, what: &str| match bytes(row, at)?.map(std::str::from_utf8) {
        None => Ok(None),
        Some(Ok(text)) => Ok(Some(text.to_owned())),
        Some(Err(_)) => Err(Undecoded::Unreadable(format!("its {what} is not UTF-8"))),
    };
    Ok(OutboxRow {
        n,
        command_id: CommandId::from_bytes(name(at + 1)?)?,
        stream: bytes(row, at + 2)?.map(Stream::from_bytes).transpose()?,
        seq: int(row, at + 3)?,
        idx: int(row, at + 4)?,
        destination: Destination::from_bytes(name(at + 5)?)?,
        kind: Kind::from_bytes(name(at + 6)?)?,
        ordering_key: bytes(row, at + 7)?.map(OrderingKey::from_bytes).transpose()?,
        body: body.to_vec(),
        content_type: text(at + 9, "content_type")?.unwrap_or_default(),
        headers: text(at + 10, "headers")?,
        core_digest: text(at + 11, "core_digest")?,
        not_before: time(row, at + 12)?,
        expires_at: time(row, at + 13)?,
        recorded_at: time(row, at + 14)?.unwrap_or_default(),
    })
}

/// The receipt in 10 columns from `at`: n, round, outcome, result, evidence, source, attempts,
/// token, first_sent_at, recorded_at. An outcome that is none counts as completed.
pub(crate) fn receipt(row: &Row<'_>, at: usize) -> rusqlite::Result<Receipt> {
    let outcome = lossy(row, at + 2)?.unwrap_or_default();
    Ok(Receipt {
        n: int(row, at)?.unwrap_or(0),
        round: count(row, at + 1)?,
        outcome: ReceiptOutcome::from_name(&outcome).unwrap_or(ReceiptOutcome::Completed),
        result: bytes(row, at + 3)?.map(<[u8]>::to_vec),
        evidence: lossy(row, at + 4)?,
        source: lossy(row, at + 5)?.unwrap_or_default(),
        attempts: count(row, at + 6)?,
        token: Token::new(int(row, at + 7)?.unwrap_or(0)),
        first_sent_at: time(row, at + 8)?,
        recorded_at: time(row, at + 9)?.unwrap_or_default(),
        key_seq: int(row, at + 10)?,
    })
}

/// Bytes that are stored as text where they are text, so that SQL shows them. SQL functions stop
/// at a NUL, so bytes with one stay bytes.
pub(crate) struct Shown<'a>(pub(crate) &'a [u8]);

impl ToSql for Shown<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let is_text = std::str::from_utf8(self.0).is_ok() && !self.0.contains(&0);
        Ok(ToSqlOutput::Borrowed(as_text(self.0, is_text)))
    }
}

/// Text as it is stored, UTF-8 or not.
#[derive(Clone, Copy)]
pub(crate) struct Stored<'a>(pub(crate) &'a [u8]);

impl ToSql for Stored<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

/// Bytes as text or as a blob, as the caller says.
pub(crate) struct Body<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) is_text: bool,
}

impl ToSql for Body<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(as_text(self.bytes, self.is_text)))
    }
}

const fn as_text(bytes: &[u8], is_text: bool) -> ValueRef<'_> {
    if is_text { ValueRef::Text(bytes) } else { ValueRef::Blob(bytes) }
}

/// A digest as stored: 32 bytes.
pub(crate) struct Bytes32(pub(crate) Option<Digest>);

impl ToSql for Bytes32 {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match &self.0 {
            Some(digest) => ToSqlOutput::Borrowed(ValueRef::Blob(digest.as_bytes())),
            None => ToSqlOutput::Owned(Value::Null),
        })
    }
}

/// A time as stored.
pub(crate) fn micros(time: Option<Micros>) -> Option<i64> {
    time.map(Micros::get)
}
