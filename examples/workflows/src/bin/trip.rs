//! Books trips: budget, flight and hotel, an approval, the fee; or all of it is undone.
//!
//! Guarantees: a traveller pays for a whole trip or for nothing. Does not: fly.
//!
//! Without arguments it shows itself; `trip STORE LEDGER PREFIX COUNT` works on a site, and may be
//! killed and started again.

use counterfoil::Stream;
use counterfoil::workflow::{InputKind, NewInput};
use workflows::{Failure, Ledger, Site, Trip, run, trip};

fn input(stream: &Stream, id: &str, kind: InputKind, name: &str, body: &[u8]) -> NewInput {
    let (stream, id, name) = (stream.clone(), id.to_owned(), name.to_owned());
    NewInput { stream, id, kind, name, body: Some(body.to_vec()) }
}

/// Of four trips one goes well, one has no hotel, one is not approved, one is cancelled.
fn inputs(prefix: &str, count: usize) -> Result<Vec<NewInput>, Failure> {
    let mut inputs = Vec::new();
    for at in 0..count {
        let stream = Stream::new(format!("{prefix}-{at}"))?;
        let hotel = if at % 4 == 1 { "full" } else { "hotel" };
        let body = Trip { airline: "airline".into(), hotel: hotel.into() };
        let body = serde_json::to_vec(&body)?;
        inputs.push(input(&stream, "start", InputKind::Start, "trip", &body));
        match at % 4 {
            0 | 1 => inputs.push(input(&stream, "boss", InputKind::Signal, "approve", b"\"ok\"")),
            3 => inputs.push(input(&stream, "rain", InputKind::Cancel, "cancel", b"rain")),
            _ => {}
        }
    }
    Ok(inputs)
}

#[tokio::main]
#[allow(clippy::print_stdout, reason = "an example shows what it does")]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let folder = tempfile::tempdir()?;
    let (site, prefix, count) = match args.as_slice() {
        [store, ledger, prefix, count] => {
            (Site { store: store.clone(), ledger: ledger.into() }, prefix.as_str(), count.parse()?)
        }
        _ => {
            let store = format!("sqlite:{}", folder.path().join("app.db").display());
            (Site { store, ledger: folder.path().join("ledger.db") }, "trip", 4)
        }
    };
    let ledger = Ledger::open(&site.ledger)?;
    ledger.account("ann", 10_000)?;
    for account in ["budget", "airline", "hotel", "agency"] {
        ledger.account(account, 0)?;
    }
    Box::pin(run(site, trip(), inputs(prefix, count)?)).await?;
    for account in ["ann", "budget", "airline", "hotel", "agency"] {
        println!("{account}: {}", ledger.cents(account)?);
    }
    Ok(())
}
