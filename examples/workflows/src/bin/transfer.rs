//! Moves money between two accounts by way of a third: both postings are made, or none stands.
//!
//! Guarantees: the sum of all accounts is what it was. Does not: move what is not there.
//!
//! Without arguments it shows itself; `transfer STORE LEDGER PREFIX COUNT` works on a site, and may
//! be killed and started again.

use counterfoil::workflow::{InputKind, NewInput, Saga, Step, Unnamed};
use counterfoil::{CommandRefused, Stream};
use serde::{Deserialize, Serialize};
use workflows::{Failure, Ledger, Posting, Site, run};

#[derive(Serialize, Deserialize)]
struct Transfer {
    from: String,
    to: String,
    amount: i64,
}

fn post(from: &str, to: &str, amount: i64) -> Result<Unnamed, CommandRefused> {
    let (from, to) = (from.to_owned(), to.to_owned());
    Unnamed::json("ledger", "post", &Posting { from, to, amount })
}

fn transfer() -> Saga<Transfer> {
    Saga::new("transfer")
        .step(
            Step::new("debit", |t: &Transfer, _| post(&t.from, "transit", t.amount))
                .undo(|t, _| post("transit", &t.from, t.amount)),
        )
        .step(Step::new("credit", |t: &Transfer, _| post("transit", &t.to, t.amount)))
}

/// Every third one credits an account that is not there.
fn starts(prefix: &str, count: usize) -> Result<Vec<NewInput>, Failure> {
    let start = |at: usize| {
        let to = if at % 3 == 2 { "nobody" } else { "bob" };
        let body = Transfer { from: "ann".into(), to: to.into(), amount: 10 };
        Ok(NewInput {
            stream: Stream::new(format!("{prefix}-{at}"))?,
            id: "start".into(),
            kind: InputKind::Start,
            name: "transfer".into(),
            body: Some(serde_json::to_vec(&body)?),
        })
    };
    (0..count).map(start).collect()
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
            (Site { store, ledger: folder.path().join("ledger.db") }, "transfer", 6)
        }
    };
    let ledger = Ledger::open(&site.ledger)?;
    for (account, cents) in [("ann", 1000), ("bob", 0), ("transit", 0)] {
        ledger.account(account, cents)?;
    }
    Box::pin(run(site, transfer(), starts(prefix, count)?)).await?;
    for account in ["ann", "bob", "transit"] {
        println!("{account}: {}", ledger.cents(account)?);
    }
    Ok(())
}
