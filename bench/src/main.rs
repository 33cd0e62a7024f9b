//! The benchmark: each figure beside the raw limit that was measured in the same run.
//!
//! Guarantees: default settings, full durability, real files; rounds of ours and of the limit are
//! interleaved, so that a drifting machine hits both. Does not: assert anything; ratios are for
//! people, see `docs/benchmarks.md`.

mod commit;
mod drain;
mod figure;
mod flow;
mod foreign;
mod grown;
mod lanes;
mod latency;
mod limit;
mod load;
mod mixed;
mod postgres;

use anyhow::Result;
use clap::Parser;

use figure::Report;
use load::Ids;

/// Measures Counterfoil beside the raw limits of this machine.
#[derive(Parser)]
#[command(name = "counterfoil-bench", version)]
struct Args {
    /// Which figures: s1 s2 s3 s3b s5 s7 lanes p1 p2 p3 p4 g4 s6 p5
    /// g3 w1; g1 g2 g5 (SQLite) and g1pg g5pg, which fill a large store first. Default: all.
    figures: Vec<String>,
    /// Seconds of each timed round.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Rounds of each; the median counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Commands in each drain.
    #[arg(long, default_value_t = 60_000)]
    items: usize,
    /// Ended commands of g1, g2 and g5; a tenth as many wait, 10⁶ at most.
    #[arg(long, default_value_t = 1_000_000)]
    ended: u64,
    /// Where the files go; a real disk, or the figures mean nothing. Default: this folder.
    #[arg(long, default_value = ".")]
    dir: std::path::PathBuf,
    /// Also write the report as JSON to this file.
    #[arg(long)]
    json: Option<std::path::PathBuf>,
    /// Part of g2: relays from this file and says the memory that it took.
    #[arg(long, hide = true)]
    relay_memory: Option<std::path::PathBuf>,
    /// Part of g2: audits this file and says the memory that it took.
    #[arg(long, hide = true)]
    audit_memory: Option<std::path::PathBuf>,
    /// Part of w1: runs workflows of this file and says the memory that it took.
    #[arg(long, hide = true)]
    runner_memory: Option<std::path::PathBuf>,
    /// Part of g1: audits this store and archives from it into `--dir`, until it is killed.
    #[arg(long, hide = true)]
    books_of: Option<String>,
    /// Part of s5 and s7: a foreign writer in its own process.
    #[arg(long, hide = true)]
    foreign_writer: Option<std::path::PathBuf>,
    /// Part of s5: pause between two writes of the foreign writer, in milliseconds.
    #[arg(long, hide = true, default_value_t = 0)]
    pause_ms: u64,
    /// Of lanes: makes this file and ends. Counts of instructions are taken by `--drain` on it.
    #[arg(long, hide = true)]
    fill: Option<std::path::PathBuf>,
    /// What `--fill` fills it with.
    #[arg(long, hide = true, value_enum, default_value = "unordered")]
    shape: lanes::Shape,
    /// Of lanes: claims and settles this many of the file of `--fill`, and ends.
    #[arg(long, hide = true)]
    drain: Option<std::path::PathBuf>,
    /// How many, of `--drain`.
    #[arg(long, hide = true, default_value_t = 6_400)]
    count: usize,
    /// How many a write, of `--drain`.
    #[arg(long, hide = true, default_value_t = 64)]
    batch: usize,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(part) = part(&args) {
        return part;
    }
    let wanted = |name: &str| args.figures.is_empty() || args.figures.iter().any(|f| f == name);
    let scale = load::Scale::new(&args.dir, args.seconds, args.rounds, args.items);
    let mut report = Report::default();
    for ids in [Ids::Orders, Ids::Uuids] {
        if wanted("s1") {
            report.add(commit::one_committer(&scale, ids)?);
        }
        if wanted("s2") {
            report.add(commit::many_committers(&scale, ids)?);
        }
        if wanted("s3") {
            report.add(drain::no_op_handler(&scale, ids)?);
        }
        if wanted("s3b") {
            report.add(mixed::commit_and_drain(&scale, ids)?);
        }
    }
    if wanted("s5") {
        for figure in latency::commit_to_handled(&scale)? {
            report.add(figure);
        }
    }
    if wanted("s7") {
        report.add(foreign::beside_a_relay(&scale)?);
    }
    if wanted("lanes") {
        for figure in lanes::beside_unordered(&scale)? {
            report.add(figure);
        }
    }
    postgres::figures(&scale, wanted, &mut report)?;
    flow::figures(&scale, wanted, &mut report)?;
    // Only where they are named: to fill a large store takes minutes.
    let named = |name: &str| args.figures.iter().any(|figure| figure == name);
    grown::figures(&scale, args.ended, named, &mut report)?;
    report.print();
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&report)?)?;
    }
    Ok(())
}

/// What is run in a process of its own, as a part of a figure.
fn part(args: &Args) -> Option<Result<()>> {
    if let Some(path) = &args.foreign_writer {
        return Some(foreign::write(path, args.seconds, args.pause_ms));
    }
    if let Some(path) = &args.relay_memory {
        return Some(
            drain::runtime().and_then(|it| it.block_on(grown::relay_memory(path, args.seconds))),
        );
    }
    if let Some(path) = &args.audit_memory {
        return Some(drain::runtime().and_then(|it| it.block_on(grown::audit_memory(path))));
    }
    if let Some(path) = &args.runner_memory {
        return Some(drain::runtime().and_then(|it| it.block_on(flow::memory(path))));
    }
    if let Some(store) = &args.books_of {
        return Some(
            drain::runtime().and_then(|it| it.block_on(grown::keep_books(store, &args.dir))),
        );
    }
    if let Some(path) = &args.fill {
        return Some(lanes::fill(path, args.shape));
    }
    if let Some(path) = &args.drain {
        return Some(lanes::drain(path, args.count, args.batch).map(drop));
    }
    None
}
