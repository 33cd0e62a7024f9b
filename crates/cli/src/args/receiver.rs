//! The flags of `receiver`.
//!
//! Guarantees: faults are flags, never a variable of the environment. Does not: read the token's
//! file.

use std::path::PathBuf;

use clap::Args;

/// `receiver`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Receiver {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    pub(crate) listen: String,
    /// End cleanly when standard input ends: for a parent process that may be killed
    #[arg(long)]
    pub(crate) end_with_stdin: bool,
    /// How long keys are kept, such as 7d: at least as long as senders may retry
    #[arg(long, value_name = "DURATION", default_value = "7d", conflicts_with = "no_keys")]
    pub(crate) retention: String,
    /// Keep no keys: every request acts, a repeat too, one more row of the table jobs each
    #[arg(long)]
    pub(crate) no_keys: bool,
    /// Answer no questions: GET /commands/{key} is 404 like any path where nothing is
    #[arg(long)]
    pub(crate) no_asking: bool,
    /// Answer 202 where a request's Counterfoil-Receipt-Url is below this URL, and post the receipt
    /// there, again for a repeat. No other URL is ever called. http only, such as
    /// http://127.0.0.1:7070/
    #[arg(long, value_name = "PREFIX")]
    pub(crate) report_to: Option<String>,
    /// The bearer token to report with, read from a file. Default: none is shown
    #[arg(long, value_name = "FILE", requires = "report_to")]
    pub(crate) report_token_file: Option<PathBuf>,
    /// Refuse commands of this kind by a judgement of the receiver; may be given several times
    #[arg(long, value_name = "KIND")]
    pub(crate) refuse_kind: Vec<String>,
    /// A fault on purpose: after the commit of the N-th effect, print `held KEY` to stdout and
    /// hold the answer back; may be given several times
    #[arg(long, value_name = "N")]
    pub(crate) hold_after_commit: Vec<u64>,
    /// How long a held answer is held back
    #[arg(long, value_name = "DURATION", default_value = "1h")]
    pub(crate) hold_for: String,
    /// A fault on purpose: abort right before the commit of the N-th effect
    #[arg(long, value_name = "N")]
    pub(crate) die_before_commit: Option<u64>,
    /// A fault on purpose: abort right after the commit of the N-th effect, before its answer
    #[arg(long, value_name = "N")]
    pub(crate) die_after_commit: Option<u64>,
    /// A fault on purpose: lose the first N receipts, so that only a repeat brings them back
    #[arg(long, value_name = "N", default_value_t = 0, requires = "report_to")]
    pub(crate) drop_receipts: u64,
}
