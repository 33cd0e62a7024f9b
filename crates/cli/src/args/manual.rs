//! `explain`, `completions` and `man`: what can be typed.
//!
//! Guarantees: none of them needs a store. Does not: print.

use clap::Args;

/// `explain`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Explain {
    /// The code, such as CF0104. Without it all codes are listed
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
    /// Print JSON; all codes one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// `completions`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// `man`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Man {
    /// The page of this verb. Without it the page of the command
    #[arg(value_name = "VERB")]
    pub(crate) verb: Option<String>,
}
