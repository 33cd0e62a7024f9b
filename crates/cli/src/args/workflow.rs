//! `workflow` and its verbs: what can be typed.
//!
//! Guarantees: each flag with its unit and default. Does not: decide.

use std::path::PathBuf;

use clap::{Args, Subcommand, value_parser};

/// `workflow`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Workflow {
    #[command(subcommand)]
    pub(crate) verb: WorkflowVerb,
}

/// What to do with workflows.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum WorkflowVerb {
    /// Start one; the same start twice is one
    Start(StartWorkflow),
    /// List workflows, or signals that no workflow is there for
    List(ListWorkflows),
    /// Tell the story of one workflow, with each command's fate
    Show(ShowWorkflow),
    /// Send a signal; the same id twice is one signal
    Signal(SignalWorkflow),
    /// Ask one to end; it decides how
    Cancel(CancelWorkflow),
    /// Take a quarantined one up again
    Retry(RetryWorkflow),
    /// Take away an input of one that is quarantined or did not begin
    Drop(DropInput),
    /// End a quarantined one as failed; nothing is undone
    End(EndWorkflow),
    /// Bring the archived bodies of one's events back from their files
    Recall(RecallWorkflow),
    /// Have your program decide stored histories again, or write them to a file for a test
    Verify(VerifyWorkflows),
}

/// A body, in one of three ways.
#[derive(Clone, Debug, Args)]
pub(crate) struct GivenBody {
    /// The body, as text; JSON by custom. Default: none
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file")]
    pub(crate) body: Option<String>,
    /// The body, read from a file, byte for byte; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) body_file: Option<PathBuf>,
}

/// `workflow start`.
#[derive(Clone, Debug, Args)]
pub(crate) struct StartWorkflow {
    /// The workflow's stream, its id for ever: 1 to 200 bytes
    #[arg(value_name = "STREAM")]
    pub(crate) stream: String,
    /// The name of its program
    #[arg(long, value_name = "NAME")]
    pub(crate) workflow: String,
    /// The id of the start
    #[arg(long, value_name = "ID", default_value = "start")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) body: GivenBody,
}

/// `workflow list`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListWorkflows {
    /// Of the program of this name alone
    #[arg(long, value_name = "NAME")]
    pub(crate) workflow: Option<String>,
    /// Of this status alone; waiting: no runner has decided its start
    #[arg(long, value_name = "STATUS")]
    #[arg(value_parser = ["waiting", "running", "completed", "failed", "quarantined"])]
    pub(crate) status: Option<String>,
    /// Signals and cancels instead whose workflow was never started
    #[arg(long, conflicts_with_all = ["workflow", "status"])]
    pub(crate) orphans: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100)]
    #[arg(value_parser = value_parser!(u32).range(1..=100_000))]
    pub(crate) limit: u32,
    /// Those after this stream, in the order of streams
    #[arg(long, value_name = "STREAM")]
    pub(crate) after: Option<String>,
    /// With --orphans: those after this input of the stream, too
    #[arg(long, value_name = "ID", requires_all = ["orphans", "after"])]
    pub(crate) after_id: Option<String>,
    /// Print JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// `workflow show`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShowWorkflow {
    /// The workflow's stream
    #[arg(value_name = "STREAM")]
    pub(crate) stream: String,
    /// Its events up to this seq alone. Default: up to the newest
    #[arg(long, value_name = "SEQ")]
    #[arg(value_parser = value_parser!(i64).range(1..))]
    pub(crate) at: Option<i64>,
    /// At most so many events, the newest of them, and 8 MiB of them as JSON
    #[arg(long, value_name = "N", default_value_t = 200)]
    #[arg(value_parser = value_parser!(u32).range(1..=100_000))]
    pub(crate) limit: u32,
    /// The waiting inputs behind this one
    #[arg(long, value_name = "ID")]
    pub(crate) inputs_after: Option<String>,
    /// A folder of the archive, in which archived bodies of events are looked for; may be given
    /// several times. Default: [archive] dir
    #[arg(long, value_name = "DIR")]
    pub(crate) archive: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `workflow signal`.
#[derive(Clone, Debug, Args)]
pub(crate) struct SignalWorkflow {
    /// The workflow's stream
    #[arg(value_name = "STREAM")]
    pub(crate) stream: String,
    /// The signal's name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The id of this one signal: the same twice is the same signal
    #[arg(long, value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) body: GivenBody,
}

/// `workflow cancel`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CancelWorkflow {
    /// The workflow's stream
    #[arg(value_name = "STREAM")]
    pub(crate) stream: String,
    /// Why, which the workflow is told
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// The id of this request
    #[arg(long, value_name = "ID", default_value = "cancel")]
    pub(crate) id: String,
}

/// `workflow retry`.
#[derive(Clone, Debug, Args)]
pub(crate) struct RetryWorkflow {
    /// The workflow's stream
    #[arg(value_name = "STREAM")]
    pub(crate) stream: String,
    /// Why, for the books
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Who acts, for the books. Default: the user of the operating system
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
}

/// `workflow drop`.
#[derive(Clone, Debug, Args)]
pub(crate) struct DropInput {
    /// The workflow's stream
    #[arg(value_name = "STREAM")]
    pub(crate) stream: String,
    /// The id of a start, signal or cancel that waits
    #[arg(long, value_name = "ID")]
    pub(crate) input: String,
    /// Why, for the books
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Who acts, for the books. Default: the user of the operating system
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
}

/// `workflow end`.
#[derive(Clone, Debug, Args)]
pub(crate) struct EndWorkflow {
    /// The workflow's stream
    #[arg(value_name = "STREAM")]
    pub(crate) stream: String,
    /// Why: what the workflow failed for, and for the books
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Who acts, for the books. Default: the user of the operating system
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
}

/// `workflow recall`.
#[derive(Clone, Debug, Args)]
pub(crate) struct RecallWorkflow {
    /// The workflow's stream
    #[arg(value_name = "STREAM")]
    pub(crate) stream: String,
    /// A folder of the archive, in which the files are; may be given several times. Default:
    /// [archive] dir
    #[arg(long, value_name = "DIR")]
    pub(crate) archive: Vec<PathBuf>,
    /// Why, for the books
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Who acts, for the books. Default: the user of the operating system
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
}

/// `workflow verify`.
#[derive(Clone, Debug, Args)]
pub(crate) struct VerifyWorkflows {
    /// This workflow alone. Default: all
    #[arg(value_name = "STREAM")]
    pub(crate) stream: Option<String>,
    /// Of the program of this name alone
    #[arg(long, value_name = "NAME", conflicts_with = "stream")]
    pub(crate) workflow: Option<String>,
    /// Write the histories to this file, as JSON lines, for a test of your own; `-` is standard
    /// output
    #[arg(long, value_name = "FILE")]
    pub(crate) export: Option<PathBuf>,
    /// A folder of the archive, in which archived bodies of events are looked for; may be given
    /// several times. Default: [archive] dir. A workflow whose file is in none is named, and exit 1
    #[arg(long, value_name = "DIR")]
    pub(crate) archive: Vec<PathBuf>,
    /// Print JSON: one object with the verdict. What PROGRAM prints goes to standard error
    #[arg(long)]
    pub(crate) json: bool,
    /// After `--`: your program and its arguments. It reads the histories from its standard input,
    /// decides again and tells what differs, see `verify::judge` of the library; its exit code is
    /// this command's
    #[arg(value_name = "PROGRAM", last = true)]
    pub(crate) program: Vec<String>,
}
