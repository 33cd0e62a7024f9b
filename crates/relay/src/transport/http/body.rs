//! The body of an answer, read within bounds.
//!
//! Guarantees: keeps the first bytes up to a limit, counts and digests the whole, holds no more in
//! memory, and says how the body ended. Ends by the deadline, and after [`ANSWER_BYTES_MAX`].
//! Does not: judge; see `answer`.

use bytes::Bytes;
use counterfoil_core::domain::{Digest, ResultBody};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, timeout_at};

/// An answer longer than this counts as broken off: 64 MiB.
pub(super) const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How a body ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// As its framing said.
    Whole,
    /// With the connection: nothing said how long it would be, so a cut cannot be seen.
    ByClose,
    /// Enough was read; the rest was not waited for.
    Enough,
    /// Before its framing said so.
    Broken(String),
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Body {
    /// What is kept, and the length and digest of what came.
    pub(super) result: ResultBody,
    /// How it ended.
    pub(super) end: End,
}

impl Body {
    /// Keeps at most `max` bytes; what is cut is counted and digested.
    pub(super) fn cut(&mut self, max: usize) {
        let result = &mut self.result;
        if result.bytes.len() > max {
            if matches!(self.end, End::Whole | End::ByClose) && result.full_digest.is_none() {
                result.full_digest = Some(Digest::of(&result.bytes));
            }
            result.bytes.truncate(max);
        }
    }
}

/// How much of a body is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// How many bytes to keep.
    pub(super) kept: usize,
    /// Whether it is the result, and so to be read to its end.
    pub(super) is_result: bool,
    /// Whether the head says where it ends.
    pub(super) is_framed: bool,
}

/// Reads `incoming`.
pub(super) async fn read(mut incoming: Incoming, wanted: Wanted, deadline: Instant) -> Body {
    let announced = incoming.size_hint().exact();
    let mut kept = Kept { bytes: Vec::new(), max: wanted.kept, len: 0, rest: None };
    let end = timeout_at(deadline, fill(&mut incoming, &mut kept, wanted)).await;
    let end = end.unwrap_or_else(|_| End::Broken("it did not end within request_timeout".into()));
    kept.finish(end, announced)
}

async fn fill(incoming: &mut Incoming, kept: &mut Kept, wanted: Wanted) -> End {
    while let Some(frame) = incoming.frame().await {
        match frame.map(hyper::body::Frame::into_data) {
            Ok(Ok(data)) => kept.take(&data),
            Ok(Err(_trailers)) => {}
            Err(error) => return End::Broken(super::connection::said_by(&error)),
        }
        if kept.len > ANSWER_BYTES_MAX {
            return End::Broken("it is longer than 64 MiB".into());
        }
        if !wanted.is_result && kept.len > wanted.kept as u64 {
            return End::Enough;
        }
    }
    if wanted.is_framed { End::Whole } else { End::ByClose }
}

struct Kept {
    bytes: Vec<u8>,
    max: usize,
    len: u64,
    rest: Option<Sha256>,
}

impl Kept {
    fn take(&mut self, data: &Bytes) {
        self.len += data.len() as u64;
        let (kept, cut) = data.split_at(data.len().min(self.max - self.bytes.len()));
        if let Some(rest) = &mut self.rest {
            rest.update(data);
            return;
        }
        self.bytes.extend_from_slice(kept);
        if !cut.is_empty() {
            let mut whole = Sha256::new_with_prefix(&self.bytes);
            whole.update(cut);
            self.rest = Some(whole);
        }
    }

    fn finish(self, end: End, announced: Option<u64>) -> Body {
        let whole = matches!(end, End::Whole | End::ByClose);
        let digest = self.rest.filter(|_| whole);
        let full_digest = digest.and_then(|digest| Digest::from_bytes(&digest.finalize()));
        let full_len = if whole { self.len } else { announced.unwrap_or(self.len) };
        Body { result: ResultBody { bytes: self.bytes, full_len, full_digest }, end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(max: usize, pieces: &[&'static [u8]]) -> ResultBody {
        let mut kept = Kept { bytes: Vec::new(), max, len: 0, rest: None };
        pieces.iter().for_each(|piece| kept.take(&Bytes::from_static(piece)));
        kept.finish(End::Whole, None).result
    }

    #[test]
    fn the_whole_is_counted_and_digested_where_it_is_cut() {
        assert_eq!(kept(6, &[b"abc", b"def"]), ResultBody::whole("abcdef"));
        for pieces in [&[&b"abc"[..], b"def", b"g"][..], &[b"abcdefg"], &[b"", b"abcd", b"efg"]] {
            let digest = Some(Digest::of(b"abcdefg"));
            let cut =
                |bytes: &[u8]| ResultBody { bytes: bytes.into(), full_len: 7, full_digest: digest };
            assert_eq!(kept(5, pieces), cut(b"abcde"));
            assert_eq!(kept(0, pieces), cut(b""));
        }
    }

    #[test]
    fn what_was_read_to_be_judged_is_cut_afterwards() {
        let whole = kept(9, &[b"abc", b"defg"]);
        let mut body = Body { result: whole.clone(), end: End::Whole };
        body.cut(7);
        assert_eq!(body.result, whole);
        body.cut(5);
        assert_eq!(body.result, kept(5, &[b"abcdefg"]));
        body.cut(3);
        assert_eq!(body.result, kept(3, &[b"abcdefg"]));
    }

    #[test]
    fn a_broken_body_has_the_length_that_was_announced_and_no_digest() {
        let mut broken = Kept { bytes: Vec::new(), max: 2, len: 0, rest: None };
        broken.take(&Bytes::from_static(b"abc"));
        let body = broken.finish(End::Broken("reset".into()), Some(9));
        let result = ResultBody { bytes: b"ab".into(), full_len: 9, full_digest: None };
        assert_eq!(body.result, result);
    }
}
