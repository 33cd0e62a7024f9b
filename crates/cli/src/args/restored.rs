//! `restored`: what can be typed.
//!
//! Guarantees: each flag with its unit and default. Does not: act.

use clap::Args;

/// `restored`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Restored {
    /// When the backup was taken: RFC 3339, such as 2026-12-01T09:00:00Z, or so long ago, such as
    /// 2h. If in doubt, earlier
    #[arg(long, value_name = "TIME")]
    pub(crate) at: String,
    /// Who says so, for the books. Default: the user of the operating system
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// Ask nothing. Without it a terminal is asked; a script is not
    #[arg(long)]
    pub(crate) yes: bool,
}
