//! Which commands are meant: the filters of `list`, shared with the verbs that act.
//!
//! Guarantees: a filter that lists commands selects the same ones for a verb. Does not: read a
//! store.

use clap::Args;

/// The filters of `list`; each narrows the ones before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct Filters {
    /// A state (pending, sending, asking, published, dead, uncertain, conflict), an outcome
    /// (completed, accepted, rejected, cancelled, expired), or parked
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    /// Of this destination
    #[arg(long, value_name = "NAME")]
    pub(crate) destination: Option<String>,
    /// Of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Of this stream
    #[arg(long, value_name = "STREAM")]
    pub(crate) stream: Option<String>,
    /// Whose last outcome holds this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) last_outcome: Option<String>,
    /// Recorded at or after this time (RFC 3339), or so long ago (such as 2h)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Recorded before this time (RFC 3339), or so long ago (such as 10m)
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
}
