//! The HTTP API beside a relay: one process, a listener of its own.
//!
//! Guarantees: it listens before the relay begins, and ends when the relay has; a port that is
//! taken ends the verb before anything is sent. Does not: outlive the relay.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use counterfoil_console::{Api, ApiError, ApiOptions, Board, Counters, Standing};
use counterfoil_core::audit::Expect;
use counterfoil_core::domain::Span;
use counterfoil_core::port::{Notice, Observer};
use counterfoil_relay::TracingObserver;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::config::ApiSettings;
use crate::exit::Failure;
use crate::store::OpenStore;

/// What the API shows beside the store.
pub(super) struct Shown {
    /// The destinations of the configuration.
    pub(super) served: Vec<String>,
    /// Queries of the user's own, with the kind of their commands.
    pub(super) expect: Vec<(String, Option<String>)>,
    /// How long a stop waits.
    pub(super) drain: Span,
    /// What the relay counts.
    pub(super) counters: Arc<Counters>,
    /// How the relay's destinations stand.
    pub(super) board: RelayBoard,
}

/// How the relay's destinations stand, and its workers.
#[derive(Debug)]
pub(super) struct RelayBoard {
    /// The relay writes it.
    pub(super) board: Arc<counterfoil_relay::Board>,
    /// How many sends it may have in flight.
    pub(super) workers: usize,
}

impl Board for RelayBoard {
    fn workers(&self) -> usize {
        self.workers
    }

    fn standings(&self) -> Vec<Standing> {
        let standings = self.board.standings().into_iter();
        let shown = standings.map(|(destination, standing)| {
            Standing::new(destination.as_str(), standing.running, standing.breaker.name())
        });
        shown.collect()
    }
}

/// Counts what the relay tells, and logs it.
#[derive(Clone, Default)]
pub(super) struct Counted {
    pub(super) counters: Arc<Counters>,
}

impl Observer for Counted {
    fn notice(&self, notice: &Notice) {
        self.counters.notice(notice);
        TracingObserver.notice(notice);
    }
}

/// An API that is being served.
pub(super) struct Serving {
    task: JoinHandle<Result<(), ApiError>>,
    end: oneshot::Sender<()>,
}

/// Binds the address, says so on stderr, and serves from now on.
///
/// # Errors
/// The address cannot be listened at, or the API refuses its options.
pub(super) async fn start(
    store: &OpenStore,
    settings: ApiSettings,
    shown: Shown,
) -> Result<Serving, Failure> {
    let mut options = ApiOptions::default();
    options.tokens = settings.tokens;
    options.served = Some(shown.served);
    options.drain = shown.drain.to_std();
    let expect = shown.expect.into_iter().map(|(sql, kind)| match kind {
        Some(kind) => Expect::new(sql).kind(kind),
        None => Expect::new(sql),
    });
    options.expect = expect.collect();
    options.counters = Some(shown.counters);
    options.board = Some(Arc::new(shown.board));
    let api = Api::new(store.clone(), options).map_err(Failure::could_not_run)?;
    let refused = |error| no_address(settings.listen, &error);
    let listener = TcpListener::bind(settings.listen).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let (end, ended) = oneshot::channel();
    let task = tokio::spawn(api.serve(listener, async move {
        // A sender that was dropped ends it too.
        let _ = ended.await;
    }));
    // Whoever started it reads this, whatever the log level.
    let _ = writeln!(std::io::stderr(), "listening on http://{address}");
    Ok(Serving { task, end })
}

impl Serving {
    /// Answers what is there, and ends.
    ///
    /// # Errors
    /// It had ended by itself, and why.
    pub(super) async fn end(self) -> Result<(), Failure> {
        drop(self.end);
        match self.task.await {
            Ok(served) => served.map_err(Failure::could_not_run),
            Err(error) => Err(Failure::could_not_run(format!("the API failed: {error}"))),
        }
    }
}

fn no_address(listen: SocketAddr, error: &std::io::Error) -> Failure {
    let failure = Failure::could_not_run(format!("[api] cannot listen at {listen}: {error}"));
    failure.help(match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "another program has this port, perhaps another relay: stop it, or give [api] listen \
             another one (0: any); only one relay of a machine needs [api]"
        }
        std::io::ErrorKind::PermissionDenied => {
            "ports below 1024 need rights: give [api] listen a higher one"
        }
        _ => "give [api] listen ADDRESS:PORT of this machine, such as 127.0.0.1:7070",
    })
}
