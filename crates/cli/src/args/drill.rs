//! What can be typed after `drill`; some of it only by a drill itself.
//!
//! Guarantees: the flags of its own processes are hidden from help. Does not: read a store from
//! the environment.

use clap::{Args, ValueEnum, value_parser};

/// `drill`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Drill {
    /// How many orders to pay
    #[arg(long, value_name = "N", default_value_t = 200)]
    #[arg(value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub(crate) orders: u32,
    /// How many relay processes deliver
    #[arg(long, value_name = "N", default_value_t = 2)]
    #[arg(value_parser = value_parser!(u32).range(1..=16))]
    pub(crate) relays: u32,
    /// What is killed when comes from this number
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// What the receiver guarantees, and so what may follow where nobody knows what it did
    #[arg(long, value_name = "CONTRACT", default_value = "idempotent")]
    pub(crate) contract: Contract,
    /// Keep the files of the run and say where they are. Default: removed, unless --store is given
    #[arg(long)]
    pub(crate) keep: bool,
    /// Inside a drill: the process that pays orders and may be killed doing so
    #[arg(long, hide = true, value_name = "PART")]
    pub(crate) part: Option<Part>,
    /// Inside a drill: the first order to pay
    #[arg(long, hide = true, value_name = "N", default_value_t = 1)]
    pub(crate) first: u32,
    /// Inside a drill: stop and wait to be killed at the last order
    #[arg(long, hide = true, value_name = "WHERE")]
    pub(crate) hold: Option<Hold>,
}

/// What the receiver of a drill guarantees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Contract {
    /// It keeps keys and folds repeats: what is in doubt is sent again
    Idempotent,
    /// It acts at every request, but says what it did: what is in doubt is asked about
    Askable,
    /// It acts at every request and says nothing: what is in doubt waits for a person
    None,
}

/// A part of a drill that runs as a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Pays orders.
    Pay,
}

/// Where a paying process stops and waits for its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Hold {
    /// After the order and its command are written, before COMMIT.
    BeforeCommit,
    /// Right after COMMIT.
    AfterCommit,
}
