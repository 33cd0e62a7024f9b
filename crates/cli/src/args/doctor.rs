//! What `doctor` takes.

use clap::Args;

/// `doctor`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Doctor {
    /// The receiver's book, the store that holds its inbox, sqlite:PATH or postgres://…: how long
    /// it keeps its keys is compared with what the contracts of idempotent destinations say
    #[arg(long, value_name = "URL")]
    pub(crate) inbox: Option<String>,
    /// With --inbox: a destination that this receiver serves; may be given several times. Default:
    /// it serves all
    #[arg(long, value_name = "NAME")]
    pub(crate) destination: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
