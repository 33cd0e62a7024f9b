//! What can be typed: verbs and flags, each with its unit and default.
//!
//! Guarantees: help, errors and parsing come from this one place. Does not: mean anything yet;
//! each verb gives its flags their meaning.

mod act;
mod archive;
mod audit;
mod doctor;
mod drill;
mod enqueue;
mod filters;
mod manual;
mod receiver;
mod restored;
mod workflow;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};

pub(crate) use act::{Cancel, Pause, Redeliver, Resolve, Resume, Retry, Selection};
pub(crate) use archive::{Archive, Erase};
pub(crate) use audit::Audit;
pub(crate) use doctor::Doctor;
pub(crate) use drill::{Contract, Drill, Hold, Part};
pub(crate) use enqueue::Enqueue;
pub(crate) use filters::Filters;
pub(crate) use manual::{Completions, Explain, Man};
pub(crate) use receiver::Receiver;
pub(crate) use restored::Restored;
pub(crate) use workflow::{
    CancelWorkflow, DropInput, EndWorkflow, GivenBody, ListWorkflows, RecallWorkflow,
    RetryWorkflow, ShowWorkflow, SignalWorkflow, StartWorkflow, VerifyWorkflows, Workflow,
    WorkflowVerb,
};

/// Counterfoil: a transactional outbox with leased delivery, receipts and an audit.
#[derive(Clone, Debug, Parser)]
#[command(name = "counterfoil", version, max_term_width = 100)]
#[command(after_help = "Data goes to stdout, talk to stderr. Exit codes: 0 done or holds; \
    1 refused by a rule of the store, not found, or violated; 2 could not run.")]
pub(crate) struct Typed {
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Flags of every verb.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of every verb")]
pub(crate) struct Shared {
    /// The store, sqlite:PATH or postgres://USER@HOST/DATABASE. Default: COUNTERFOIL_STORE, else
    /// [store] url of the configuration. A relative path is relative to the current directory; a
    /// password is refused here, see PGPASSFILE
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// The configuration file, TOML. Default: ./counterfoil.toml if there is one
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Say more on stderr: -v is debug, -vv is trace. COUNTERFOIL_LOG (error, warn, info, debug,
    /// trace) sets the level where -v is not given
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// The form of the talk on stderr
    #[arg(long, global = true, value_name = "FORM", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Create a store, or upgrade its schema
    Init(Init),
    /// Record a command
    Enqueue(Enqueue),
    /// Deliver commands to their destinations
    Relay(Relay),
    /// Run the reference receiver: HTTP in front of an inbox
    Receiver(Receiver),
    /// Show counts by destination and state
    Status(Reading),
    /// List commands
    List(List),
    /// Tell the whole story of one command
    Show(Show),
    /// Send parked commands again
    Retry(Retry),
    /// Say what became of a command
    Resolve(Resolve),
    /// Withdraw commands
    Cancel(Cancel),
    /// Send ended commands again: same id, same bytes
    Redeliver(Redeliver),
    /// Stop sending to a destination, for all relays
    Pause(Pause),
    /// Let a paused destination go on
    Resume(Resume),
    /// Prove from the tables that nothing was lost, invented or done twice
    Audit(Audit),
    /// Move commands that ended long ago into files, by proof; or prove that the files are whole
    Archive(Archive),
    /// Erase the content of an ended command, in the store and in its archive
    Erase(Erase),
    /// Look whether store, configuration and receivers fit together
    Doctor(Doctor),
    /// Say that the store was restored from a backup: what is open may have acted since
    Restored(Restored),
    /// Pay orders, deliver them to another process, kill processes on the way, and prove the books
    Drill(Drill),
    /// Start, look at and steer workflows
    Workflow(Workflow),
    /// Say what a code means, and the way out
    Explain(Explain),
    /// Print completions for a shell
    Completions(Completions),
    /// Print a manual page
    #[command(hide = true)]
    Man(Man),
    /// A verb that is none, or none yet.
    #[command(external_subcommand)]
    Other(Vec<String>),
}

/// `init`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Init {
    /// The store's name to receivers, a URI reference; it stays for ever. Default: [store] source,
    /// else a URN with the store's id
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,
    /// Print the schema instead of creating a store
    #[arg(long)]
    pub(crate) sql: bool,
    /// Print the roles of a PostgreSQL store and their rights instead, as SQL to run
    #[arg(long, conflicts_with = "sql")]
    pub(crate) roles: bool,
}

/// `relay`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Relay {
    /// Serve this destination alone; may be given several times. Default: all of the configuration
    #[arg(long, value_name = "DEST")]
    pub(crate) only: Vec<String>,
    /// End when nothing is left that this relay will do by itself, retries included: with a
    /// receiver that is down, up to retry.give_up_after; exit 1 if unserved, paused or parked
    /// commands remain (with --only, of the named destinations only)
    #[arg(long)]
    pub(crate) until_idle: bool,
    /// Write this configuration's contracts over differing stored ones, once
    #[arg(long)]
    pub(crate) replace_contract: bool,
    /// End cleanly when standard input ends: for a parent process that may be killed
    #[arg(long)]
    pub(crate) end_with_stdin: bool,
}

/// A verb that only reads.
#[derive(Clone, Debug, Args)]
pub(crate) struct Reading {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `list`.
#[derive(Clone, Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) filters: Filters,
    /// As --last-outcome
    #[arg(long, value_name = "TEXT", conflicts_with = "last_outcome")]
    pub(crate) reason: Option<String>,
    /// At most so many commands
    #[arg(long, value_name = "N", default_value_t = 100)]
    #[arg(value_parser = value_parser!(u32).range(1..=100_000))]
    pub(crate) limit: u32,
    /// Those recorded after this command
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<String>,
    /// Failures that are alike as one line, most frequent first; of what is parked, unless --state
    /// says otherwise, and of all that matches
    #[arg(long, conflicts_with_all = ["limit", "after"])]
    pub(crate) groups: bool,
    /// Print JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// `show`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Show {
    /// The command's id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The folder of the archive, in which the rest of an archived command is looked for. Default:
    /// [archive] dir
    #[arg(long, value_name = "DIR")]
    pub(crate) archive: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_holds_together_and_every_flag_is_explained() {
        let command = Typed::command();
        command.clone().debug_assert();
        for verb in command.get_subcommands() {
            assert!(verb.get_about().is_some(), "{}", verb.get_name());
            for arg in verb.get_arguments() {
                assert!(arg.get_help().is_some(), "{} {}", verb.get_name(), arg.get_id());
            }
        }
    }
}
