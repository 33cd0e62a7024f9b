//! What the reference receiver is told when it starts.
//!
//! Guarantees: faults on purpose are options that somebody set, never an environment variable.
//! Does not: read a configuration file.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::Span;

use super::caller::Callers;
use super::reporting::Reporting;
use crate::guard::RETENTION;

/// How a receiver behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Who may call, and whose keys theirs are. Default: anybody, by what `ce-source` says.
    pub callers: Callers,
    /// What is made of keys. Default: repeats fold into one effect.
    pub keys: Keys,
    /// Whether `GET /commands/{key}` is answered; else it is 404 like any path where nothing is,
    /// without the word `no_such_key`. Default: true.
    pub is_askable: bool,
    /// Reports receipts to a sender's HTTP API instead of answering with the result. Default: no.
    pub report_to: Option<Reporting>,
    /// How long keys are kept. Default: 7 days, see [`RETENTION`].
    pub retention: Span,
    /// How often keys whose retention is over are removed, 500 in a transaction. Default: 10 s;
    /// at least 1 ms.
    pub purge_every: Duration,
    /// The most bytes a body may have; more is 413. Default: 16 MiB.
    pub body_bytes_max: usize,
    /// How long a client may take for a request's head, and again for its body; an idle
    /// connection is closed after it too. Default: 30 s.
    pub read_timeout: Duration,
    /// How long a stop waits for requests that are being answered. Default: 10 s.
    pub drain: Duration,
    /// The most connections at once; more wait. Default: 1,024.
    pub connections_max: usize,
    /// Kinds (`ce-type`) that the receiver judges and refuses. Default: none.
    pub refused_kinds: BTreeSet<String>,
    /// Faults on purpose. Default: none.
    pub faults: Faults,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            callers: Callers::default(),
            keys: Keys::default(),
            is_askable: true,
            report_to: None,
            retention: RETENTION,
            purge_every: Duration::from_secs(10),
            body_bytes_max: 16 * 1024 * 1024,
            read_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(10),
            connections_max: 1024,
            refused_kinds: BTreeSet::new(),
            faults: Faults::default(),
        }
    }
}

/// What a receiver makes of the keys of its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keys {
    /// A repeat of a key is folded into one effect, by the inbox.
    #[default]
    Fold,
    /// Every request acts, one more row of `jobs` each, like a service that knows no keys. The
    /// key is written down beside the effect, and nothing is compared or remembered: no inbox
    /// row, no conflict, no stored refusal. `GET /commands/{key}` answers with the first job.
    Ignore,
}

/// Faults on purpose, for drills and tests. Effects are counted from 1 since the start; repeats,
/// conflicts and refusals are no effects.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Faults {
    /// Aborts the process right before the commit of the n-th effect.
    pub die_before_commit_at: Option<u64>,
    /// Aborts the process right after the commit of the n-th effect, before its answer.
    pub die_after_commit_at: Option<u64>,
    /// Holds answers back.
    pub hold: Option<Hold>,
    /// Loses the first n receipts, after the answer `accepted`: they are not posted. A repeat of
    /// the command brings its receipt back.
    pub drop_receipts: u64,
}

/// Holds some answers back after their commit, and announces each, so that a drill can kill the
/// sender in that moment.
#[derive(Clone)]
pub struct Hold {
    /// Which effects.
    pub effects: BTreeSet<u64>,
    /// How long their answers are held back.
    pub lasts: Duration,
    /// Hears the key, after the commit and before the wait. It must not block.
    pub announce: Arc<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("effects", &self.effects)
            .field("lasts", &self.lasts)
            .finish_non_exhaustive()
    }
}
