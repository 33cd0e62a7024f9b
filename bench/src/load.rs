//! What is written: ids, bodies, files.
//!
//! Guarantees: ours and the limit get the same ids and bodies. Does not: reuse a file.

use std::path::{Path, PathBuf};

use anyhow::Result;
use counterfoil::{Append, Command, Event, Stream};

/// The bytes of a body.
pub(crate) const BODY: usize = 100;

/// The shape of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ids {
    /// `order.paid:A-000001`, rising.
    Orders,
    /// Random UUIDs.
    Uuids,
}

impl Ids {
    /// The id number `i`.
    pub(crate) fn id(self, i: u64) -> String {
        match self {
            Self::Orders => format!("order.paid:A-{i:06}"),
            Self::Uuids => {
                let (a, b) = (mixed(i), mixed(i ^ 0x5555_5555));
                format!(
                    "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
                    a >> 32,
                    (a >> 16) & 0xffff,
                    a & 0xfff,
                    b >> 52,
                    b & 0xffff_ffff_ffff
                )
            }
        }
    }

    /// For the report.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Orders => "ids order.paid:A-…",
            Self::Uuids => "UUIDs",
        }
    }
}

fn mixed(i: u64) -> u64 {
    let mut z = i.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A body of [`BODY`] bytes of JSON.
pub(crate) fn body() -> Vec<u8> {
    let mut body = br#"{"order_id":"A-000001","note":""#.to_vec();
    body.resize(BODY - 2, b'x');
    body.extend_from_slice(br#""}"#);
    body
}

/// A decision of one event and one command.
pub(crate) fn decision(ids: Ids, i: u64) -> Result<Append> {
    let event = Event { kind: "order.paid".try_into()?, body: body(), cause: None };
    let mut command = Command::bytes("x", "shipping", "order.paid", body())?;
    command.id = None;
    Ok(Append {
        stream: Stream::new(ids.id(i))?,
        expected_seq: 0,
        events: vec![event],
        commands: vec![command],
    })
}

/// A bare command.
pub(crate) fn command(ids: Ids, i: u64) -> Result<Command> {
    Ok(Command::bytes(ids.id(i), "shipping", "order.paid", body())?)
}

/// How much is measured.
pub(crate) struct Scale {
    dir: PathBuf,
    /// Seconds of a timed round.
    pub(crate) seconds: f64,
    /// Rounds; the median counts.
    pub(crate) rounds: usize,
    /// Commands in a drain.
    pub(crate) items: usize,
}

impl Scale {
    pub(crate) fn new(dir: &Path, seconds: f64, rounds: usize, items: usize) -> Self {
        Self { dir: dir.to_path_buf(), seconds, rounds, items }
    }

    /// Where files go.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// A folder for one file, removed when dropped.
    pub(crate) fn folder(&self) -> Result<tempfile::TempDir> {
        Ok(tempfile::Builder::new().prefix("counterfoil-bench-").tempdir_in(&self.dir)?)
    }
}
