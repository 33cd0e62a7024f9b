//! The verbs that act on commands and destinations: what can be typed.
//!
//! Guarantees: commands are named by ids or found by the filters of `list`, never both. Does not:
//! act.

use std::path::PathBuf;

use clap::{Args, value_parser};

use super::filters::Filters;

/// What every acting verb takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Selection {
    /// The ids of the commands; or give filters
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) filters: Filters,
    /// With filters: at most so many commands. Default: all that match
    #[arg(long, value_name = "N", conflicts_with = "ids")]
    #[arg(value_parser = value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// With filters: only say how many it would be
    #[arg(long, conflicts_with = "ids")]
    pub(crate) dry_run: bool,
    /// With filters: ask nothing. Without it a terminal is asked; where there is none, nothing is
    /// done
    #[arg(long)]
    pub(crate) yes: bool,
    /// Who acts, for the books. Default: the user of the operating system
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// Print JSON: with ids one object a line, with filters one in all
    #[arg(long)]
    pub(crate) json: bool,
}

/// `retry`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Retry {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Also where an attempt may have acted and a repeat could act twice; needs --reason, and
    /// commands that are named by id
    #[arg(long)]
    pub(crate) may_act_twice: bool,
    /// Why, for the books
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// `cancel`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Cancel {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Why, for the books; it must be said
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// `redeliver`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Redeliver {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Also where a repeat could act twice, as the receiver may have forgotten the key
    #[arg(long)]
    pub(crate) may_act_twice: bool,
    /// Why, for the books; it must be said
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// `resolve`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Resolve {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// It was done: the command ends as completed
    #[arg(long, group = "verdict")]
    pub(crate) completed: bool,
    /// It was refused: the command ends as rejected
    #[arg(long, group = "verdict")]
    pub(crate) rejected: bool,
    /// It was not done: the doubt is cleared, and it is sent again in a new round
    #[arg(long, group = "verdict")]
    pub(crate) not_done: bool,
    /// By what that is known; it must be said
    #[arg(long, value_name = "TEXT")]
    pub(crate) evidence: Option<String>,
    /// With --completed: the receiver's result, as text
    #[arg(long, value_name = "TEXT")]
    pub(crate) result: Option<String>,
    /// Verdicts from a file of JSON lines {"id", "outcome": "completed" | "rejected" | "not_done",
    /// "evidence", "result"}; `-` is standard input. Every line is checked before anything is done
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["ids", "verdict", "evidence", "result", "dry_run", "limit"])]
    pub(crate) from: Option<PathBuf>,
}

/// `pause`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Pause {
    /// The destination
    #[arg(value_name = "DESTINATION")]
    pub(crate) destination: String,
    /// Why, for the books and for whoever looks at `status`; it must be said
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Who acts, for the books. Default: the user of the operating system
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `resume`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Resume {
    /// The destination
    #[arg(value_name = "DESTINATION")]
    pub(crate) destination: String,
    /// Why, for the books
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Who acts, for the books. Default: the user of the operating system
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
