//! A process that runs a relay and a runner until its workflows have ended.
//!
//! Guarantees: started again after it was killed, it goes on. Does not: end while a command of a
//! workflow waits for a person.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use counterfoil::postgres::PostgresStore;
use counterfoil::relay::{self, Relay, Served};
use counterfoil::sqlite::SqliteStore;
use counterfoil::workflow::runner::Options;
use counterfoil::workflow::{InputKind, NewInput, Runner, Status, Workflow, Workflows};
use counterfoil::{Contract, Destination, Idempotent, Quiet, Span, Stream, Terms};

use crate::Ledger;

/// Whatever went wrong.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Where the process works.
#[derive(Clone, Debug)]
pub struct Site {
    /// The store: `sqlite:PATH` or `postgres://…`.
    pub store: String,
    /// The ledger's file.
    pub ledger: PathBuf,
}

/// Sends these inputs, each once however often the process is started, and runs `workflow` until
/// every stream of them has ended.
///
/// # Errors
/// The store or the ledger is of no use.
pub async fn run(
    site: Site,
    workflow: impl Workflow,
    inputs: Vec<NewInput>,
) -> Result<(), Failure> {
    let ledger = Ledger::open(&site.ledger)?;
    match site.store.strip_prefix("sqlite:") {
        Some(path) => work(SqliteStore::init(path, None)?, ledger, workflow, inputs).await,
        None => {
            let options = counterfoil::postgres::Options::default();
            let store = PostgresStore::init(&site.store, options, None).await?;
            work(store, ledger, workflow, inputs).await
        }
    }
}

async fn work<S: Workflows>(
    store: S,
    ledger: Ledger,
    workflow: impl Workflow,
    inputs: Vec<NewInput>,
) -> Result<(), Failure> {
    let starts = inputs.iter().filter(|input| input.kind == InputKind::Start);
    let streams: Vec<Stream> = starts.map(|input| input.stream.clone()).collect();
    for sent in store.send_inputs(inputs).await? {
        sent?;
    }
    let mut terms = Terms::new(Contract::new(Idempotent::Forever));
    // Short, so that what a killed process held is soon taken up by the next one.
    terms.pace.lease = Span::from_millis(2500);
    terms.pace.initial = Span::from_millis(50);
    let transport = Arc::new(ledger.transport(&store.source()));
    let served = Served::new(Destination::new("ledger")?, terms, transport);
    let relay = Relay::new(store.clone(), vec![served], relay::Options::default(), Quiet);
    let options = Options::default().lease(Span::from_millis(500));
    let runner = Runner::builder(store.clone()).workflow(workflow).options(options).build()?;
    let (relay_end, runner_end, ended) = tokio::join!(
        relay.run(all_ended(&store, &streams)),
        runner.run(all_ended(&store, &streams)),
        watch(&store, &streams),
    );
    relay_end?;
    runner_end?;
    ended
}

async fn all_ended<S: Workflows>(store: &S, streams: &[Stream]) {
    let _ = watch(store, streams).await;
}

/// Returns when every workflow has ended.
async fn watch<S: Workflows>(store: &S, streams: &[Stream]) -> Result<(), Failure> {
    for stream in streams {
        loop {
            let row = store.workflow(stream.as_str()).await?;
            if row.and_then(|row| row.status).is_some_and(Status::has_ended) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    Ok(())
}
