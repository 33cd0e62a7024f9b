//! A store, a folder, and commands that have ended.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use counterfoil_archive::{
    ArchiveError, ArchiveReport, Erasure, Folder, Lines, Lock, Options, Step, Unwatched,
    VerifyReport, Watch, Work, archive, erase, verify,
};
use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    Command, CommandId, Contract, Destination, Idempotent, Outcome, ReceiptOutcome, ResultBody,
    Seed, Span, Terms,
};
use counterfoil_core::port::archive::{Archive, Entry};
use counterfoil_core::port::read::FactsFrom;
use counterfoil_core::port::store::{ClaimFrom, Ended, Exchange, Reported, Settle};
use counterfoil_core::port::{Act, Acted, Actor, Bodies, Deed};
use counterfoil_testkit::{ManualClock, MemoryStore};
use tempfile::TempDir;

pub(crate) const SHOP: &str = "shop";

/// A store and the folder of its archive.
pub(crate) struct Site<S> {
    pub(crate) store: S,
    pub(crate) clock: ManualClock,
    pub(crate) dir: TempDir,
}

pub(crate) fn in_memory() -> Site<MemoryStore> {
    let clock = ManualClock::default();
    Site { store: MemoryStore::new(clock.clone()), clock, dir: TempDir::new().unwrap() }
}

pub(crate) fn command(id: &str) -> Command {
    Command::bytes(id, SHOP, "order.paid", format!("body of {id}")).unwrap().header("X-Id", id)
}

impl<S: Archive + Bodies> Site<S> {
    /// A site with these commands ended, and one that is open and the newest.
    pub(crate) async fn with(self, ids: impl IntoIterator<Item = String>) -> Self {
        let ids: Vec<String> = ids.into_iter().collect();
        self.end(ids.iter().map(|id| command(id)).collect()).await;
        self.store.enqueue(vec![Command::bytes("open", "bank", "k", "1").unwrap()]).await.unwrap();
        self.clock.advance(Span::from_secs(60));
        self
    }

    /// Records these, and ends them as completed.
    pub(crate) async fn end(&self, commands: Vec<Command>) {
        let terms = Arc::new(Terms::new(Contract::new(Idempotent::Forever)));
        let shop = Destination::new(SHOP).unwrap();
        self.store.declare(&shop, &terms.contract, false).await.unwrap();
        for chunk in commands.chunks(500) {
            for answer in self.store.enqueue(chunk.to_vec()).await.unwrap() {
                answer.unwrap();
            }
        }
        self.deliver().await;
    }

    /// Claims and completes all that is due at the shop.
    pub(crate) async fn deliver(&self) {
        let terms = Arc::new(Terms::new(Contract::new(Idempotent::Forever)));
        loop {
            let destination = Destination::new(SHOP).unwrap();
            let from = ClaimFrom { destination, limit: 500, terms: Arc::clone(&terms) };
            let owner = "relay-1".to_owned();
            let claims =
                Exchange { claim_from: vec![from], claim_limit: 500, owner, ..Exchange::default() };
            let claimed = self.store.exchange(claims).await.unwrap().claimed;
            if claimed.is_empty() {
                return;
            }
            let started_at = self.store.now().unwrap();
            let settle = |claimed| {
                let result = ResultBody::whole("done");
                let outcome = Outcome::Completed { result, evidence: "HTTP 200".into() };
                let (ended, terms) = (Ended::Outcome(outcome), Arc::clone(&terms));
                Settle { claimed, ended, started_at, burns: true, seed: Seed(1), terms }
            };
            let settles = claimed.into_iter().map(settle).collect();
            self.store.exchange(Exchange { settles, ..Exchange::default() }).await.unwrap();
        }
    }

    pub(crate) async fn report(&self, id: &str, outcome: ReceiptOutcome) -> Reported {
        let report = Report {
            outcome,
            result: Some(b"done".to_vec()),
            evidence: Some("HTTP 200".into()),
            source: "report".into(),
            token: None,
            equals_earlier: false,
        };
        self.store.report(&CommandId::new(id).unwrap(), report).await.unwrap()
    }

    pub(crate) async fn act(&self, id: &str, act: Act) {
        let deed = Deed { command_id: id.into(), act, by_filter: false };
        let acted = self.store.act(vec![deed], ann("looked")).await.unwrap();
        assert!(matches!(acted[0], Acted::Done { .. }), "{acted:?}");
    }

    pub(crate) fn folder(&self) -> Folder {
        Folder::new(self.dir.path()).unwrap()
    }

    pub(crate) fn lock(&self) -> Lock {
        self.folder().lock().unwrap()
    }

    pub(crate) fn options(&self) -> Options {
        Options::new(self.store.now().unwrap())
    }

    /// A run of the archive of what has ended by now.
    pub(crate) async fn run(&self) -> ArchiveReport {
        self.run_watched(&self.options(), &Unwatched).await.unwrap()
    }

    pub(crate) async fn run_watched(
        &self,
        options: &Options,
        watch: &dyn Watch,
    ) -> Result<ArchiveReport, ArchiveError> {
        let lock = self.lock();
        archive(&Work::new(&self.store, &lock).watched(watch), options).await
    }

    pub(crate) async fn erase(&self, id: &str, watch: &dyn Watch) -> Result<Erasure, ArchiveError> {
        let lock = self.lock();
        erase(&Work::new(&self.store, &lock).watched(watch), id, ann("letter 12")).await
    }

    pub(crate) async fn verified(&self) -> VerifyReport {
        verify(&self.store, &[self.folder()], 100).await.unwrap()
    }

    /// What a verification finds, by code.
    pub(crate) async fn findings(&self) -> Vec<&'static str> {
        let report = self.verified().await;
        assert_eq!(report.holds, report.findings.is_empty());
        report.findings.iter().map(|finding| finding.code).collect()
    }

    /// Laws, files and tombstones hold, and nothing unfinished lies there.
    pub(crate) async fn is_sound(&self) {
        let report = self.verified().await;
        assert!(report.holds, "{report:#?}");
        let report = audit(&self.store, AuditOptions::default()).await.unwrap();
        assert!(report.holds, "{report:#?}");
        assert_eq!(self.files(".part"), [""; 0]);
    }

    /// The names of the files that end so, sorted.
    pub(crate) fn files(&self, end: &str) -> Vec<String> {
        let files = std::fs::read_dir(self.dir.path()).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name.ends_with(end)).collect();
        names.sort();
        names
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The commands of all files, in the order of files.
    pub(crate) fn lines(&self) -> Vec<Entry> {
        let mut all = Vec::new();
        for name in self.files(".jsonl.zst") {
            let mut lines = Lines::open(&self.path(&name)).unwrap();
            while let Some(entry) = lines.entry().unwrap() {
                all.push(entry);
            }
        }
        all
    }

    /// The ids in the outbox.
    pub(crate) async fn here(&self) -> BTreeSet<String> {
        let facts = self.store.facts(FactsFrom::default(), 100_000).await.unwrap();
        facts.commands.into_iter().map(|facts| facts.id).collect()
    }

    /// The ids with a tombstone.
    pub(crate) async fn archived(&self) -> BTreeSet<String> {
        let tombstones = self.store.tombstones(None, 100_000).await.unwrap();
        tombstones.into_iter().map(|tombstone| tombstone.command_id).collect()
    }

    /// The manifest of the only file, or of the one at this place.
    pub(crate) fn manifest(&self, at: usize) -> serde_json::Value {
        let name = &self.files(".manifest.json")[at];
        serde_json::from_slice(&std::fs::read(self.path(name)).unwrap()).unwrap()
    }
}

pub(crate) fn ids(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|at| format!("c-{at:04}"))
}

pub(crate) fn ann(why: &str) -> Actor {
    Actor { name: "ann".into(), reason: why.into() }
}

/// Does something at each step, or dies at one.
pub(crate) struct At<F>(pub(crate) F);

impl<F: Fn(Step<'_>) + Sync> Watch for At<F> {
    fn reached(&self, step: Step<'_>) {
        (self.0)(step);
    }
}

/// Dies after so many steps; `None`: the work ended before.
pub(crate) async fn die_after<T>(
    steps: usize,
    work: impl AsyncFnOnce(&dyn Watch) -> T,
) -> Option<T> {
    let left = AtomicUsize::new(steps);
    let watch = At(|step: Step<'_>| {
        if left.fetch_sub(1, Ordering::Relaxed) == 1 {
            std::panic::panic_any(format!("dies after {step:?}"));
        }
    });
    match futures(AssertUnwindSafe(work(&watch))).await {
        Ok(done) => Some(done),
        Err(died) => {
            // Only the death that was asked for is one.
            let said = died.downcast_ref::<String>();
            assert!(said.is_some_and(|said| said.starts_with("dies after")), "{said:?}");
            None
        }
    }
}

/// Polls a future and catches its panic.
async fn futures<F: Future>(work: AssertUnwindSafe<F>) -> std::thread::Result<F::Output> {
    let mut work = Box::pin(work.0);
    std::future::poll_fn(move |context| {
        match std::panic::catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(std::task::Poll::Ready(done)) => std::task::Poll::Ready(Ok(done)),
            Ok(std::task::Poll::Pending) => std::task::Poll::Pending,
            Err(died) => std::task::Poll::Ready(Err(died)),
        }
    })
    .await
}
