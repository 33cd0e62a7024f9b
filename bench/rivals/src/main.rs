//! Counterfoil beside its rivals: the same server, the same items, the same run.
//!
//! Guarantees: rounds are interleaved, so that a drifting machine hits all; each is driven as its
//! own documentation says, and once more at the best settings that were found; a drain counts when
//! the database says that all are done. Does not: take part in any test of the product.

mod graphile;
mod load;
mod ours;
mod river;
#[path = "../../src/postgres/server.rs"]
mod server;

use anyhow::Result;
use clap::Parser;

use load::{Rates, Way};
use server::Server;

/// Measures enqueue and drain of Counterfoil, riverqueue and graphile_worker.
#[derive(Parser)]
#[command(name = "counterfoil-rivals", version)]
struct Args {
    /// Items enqueued and drained.
    #[arg(long, default_value_t = 10_000)]
    items: u64,
    /// Rounds of each; the median counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// The longest that one drain is watched, in seconds; what is done by then counts.
    #[arg(long, default_value_t = 15.0)]
    most: f64,
    /// Where the server's files go; a real disk, or the figures mean nothing.
    #[arg(long, default_value = ".")]
    dir: std::path::PathBuf,
    /// Only those whose name holds this.
    #[arg(long, default_value = "")]
    only: String,
}

/// Who, how it is set, and how many enqueue at once.
const CONTESTANTS: [(Rival, Way, &str, usize); 6] = [
    (Rival::Counterfoil, Way::Recommended, "defaults", 1),
    (Rival::Counterfoil, Way::Best, "1,024 workers; 16 enqueue", 16),
    (Rival::Riverqueue, Way::Recommended, "README: 10 workers, pool of 10", 1),
    (Rival::Riverqueue, Way::Best, "2,000 workers, cooldown 1 ms, pool of 20; 16 enqueue", 16),
    (Rival::Graphile, Way::Recommended, "defaults, pool of 10", 1),
    (
        Rival::Graphile,
        Way::Best,
        "local queue of 500, 16 at once, completions batched for 5 ms, pool of 20; 16 enqueue",
        16,
    ),
];

#[derive(Clone, Copy)]
enum Rival {
    Counterfoil,
    Riverqueue,
    Graphile,
}

impl Rival {
    const fn name(self) -> &'static str {
        match self {
            Self::Counterfoil => "Counterfoil",
            Self::Riverqueue => "riverqueue 0.5",
            Self::Graphile => "graphile_worker 0.14",
        }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let server = Server::start(&args.dir)?;
    let mut rates: Vec<Vec<Rates>> = CONTESTANTS.iter().map(|_| Vec::new()).collect();
    for _ in 0..args.rounds {
        for ((rival, way, _, tasks), rates) in CONTESTANTS.iter().zip(&mut rates) {
            if !rival.name().contains(&args.only) {
                continue;
            }
            let load = load::Load { items: args.items, tasks: *tasks, most: args.most };
            server.create("rivals").await?;
            let rate = match rival {
                Rival::Counterfoil => ours::measure(&server, *way, load).await?,
                Rival::Riverqueue => river::measure(&server, *way, load).await?,
                Rival::Graphile => graphile::measure(&server, *way, load).await?,
            };
            eprintln!("{}: {rate:?}", rival.name());
            rates.push(rate);
        }
    }
    print(&rates);
    Ok(())
}

/// A table of Markdown, as it stands in the docs.
fn print(rates: &[Vec<Rates>]) {
    println!("| who | settings | enqueue, one by one | drain |");
    println!("|---|---|---|---|");
    for ((rival, _, settings, _), rates) in CONTESTANTS.iter().zip(rates) {
        if rates.is_empty() {
            continue;
        }
        let (enqueue, drain) = (median(rates, |it| it.enqueue), median(rates, |it| it.drain));
        println!("| {} | {settings} | {enqueue:.0} /s | {drain:.0} /s |", rival.name());
    }
}

fn median(rates: &[Rates], of: fn(&Rates) -> f64) -> f64 {
    let mut values: Vec<f64> = rates.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
