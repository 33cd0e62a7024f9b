//! Runners that are frozen in the middle of a decision, as a machine that sleeps would be.
//!
//! Guarantees: each runner is a process of its own: this test, started again. Does not: trust a
//! clock to say when; a file says that it decides, and another that it may go on.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use counterfoil_core::domain::Span;
use counterfoil_core::domain::workflow::Status;
use counterfoil_postgres::PostgresStore;
use counterfoil_sqlite::SqliteStore;
use counterfoil_workflow::runner::{Notice, Observer, Options, Runner};
use counterfoil_workflow::{Decision, Input, What, Workflow};

use super::programs::{Happened, Tally};
use super::scene::{Scene, Whole};
use super::server::{Schema, url};

const STORE: &str = "COUNTERFOIL_TEST_FROZEN_STORE";
const FOLDER: &str = "COUNTERFOIL_TEST_FROZEN_FOLDER";
const NAME: &str = "COUNTERFOIL_TEST_FROZEN_NAME";

const SIGNALS: usize = 40;
const LEASE: Span = Span::from_millis(700);
const DECIDE_MAX: Duration = Duration::from_secs(2);

/// A tally of which the first runner is held up while it decides the signal `slow`.
struct Held {
    folder: PathBuf,
    is_first: bool,
}

impl Workflow for Held {
    type State = u64;
    type Event = Happened;

    fn name(&self) -> &str {
        "tally"
    }

    fn evolve(&self, count: u64, event: &Happened) -> u64 {
        Tally::new().evolve(count, event)
    }

    fn decide(&self, count: &u64, input: &Input) -> Decision<Happened> {
        if self.is_first && matches!(&input.what, What::Signal { name, .. } if name == "slow") {
            File::create(self.folder.join("decides")).unwrap();
            while !self.folder.join("go on").exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Tally::new().decide(count, input)
    }
}

/// Writes down what must not be, and the refusal that must.
struct Lines(PathBuf);

impl Observer for Lines {
    fn notice(&self, notice: &Notice) {
        let told = match notice {
            Notice::Refused { .. } => "refused".to_owned(),
            Notice::Stopped { .. } => "stopped".to_owned(),
            Notice::Quarantined { .. } | Notice::SetAside { .. } | Notice::StoreFailed { .. } => {
                format!("harm: {notice:?}")
            }
            _ => return,
        };
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
        writeln!(file, "{told}").unwrap();
    }
}

/// The child's part; it does nothing where it is run as a test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plays_a_runner() {
    let (Ok(store), Ok(folder)) = (std::env::var(STORE), std::env::var(FOLDER)) else { return };
    match store.strip_prefix("sqlite:") {
        Some(file) => work(SqliteStore::open(file, Default::default()).unwrap(), folder).await,
        None => {
            let mut options = counterfoil_postgres::Options::default();
            options.schema = store;
            work(PostgresStore::open(&url(), options).await.unwrap(), folder).await;
        }
    }
}

async fn work<S: Whole>(store: S, folder: String) {
    let (folder, name) = (PathBuf::from(folder), std::env::var(NAME).unwrap());
    let (log, stop) = (folder.join(&name), folder.join(format!("stop {name}")));
    let held = Held { folder, is_first: name == "first" };
    let options = Options::default().owner(&name).lease(LEASE).decide_max(DECIDE_MAX);
    let runner = Runner::builder(store).workflow(held).options(options).observer(Lines(log));
    let stopped = async {
        while !stop.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    runner.build().unwrap().run(stopped).await.unwrap();
}

/// Runners of one store, each a process.
struct Others<'a> {
    store: String,
    folder: &'a Path,
}

/// One of them; it dies with the test.
struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Other {
    fn signal(&self, name: &str) {
        let mut kill = Command::new("kill");
        kill.args([&format!("-{name}"), &self.0.id().to_string()]);
        assert!(kill.status().unwrap().success(), "kill -{name}");
    }
}

impl Others<'_> {
    fn start(&self, name: &str) -> Other {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "frozen::plays_a_runner", "--nocapture"]);
        child.env(STORE, &self.store).env(FOLDER, self.folder).env(NAME, name);
        Other(child.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn touch(&self, name: &str) {
        File::create(self.folder.join(name)).unwrap();
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        text.lines().map(Into::into).collect()
    }

    /// Stops it; what it wrote down.
    async fn stop(&self, name: &str) -> Vec<String> {
        self.touch(&format!("stop {name}"));
        until(async || self.lines(name).last().is_some_and(|line| line == "stopped")).await;
        self.lines(name)
    }
}

async fn until(is_so: impl AsyncFn() -> bool) {
    for _ in 0..6_000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within a minute");
}

async fn has_events<S: Whole>(scene: &Scene<S>, count: usize) {
    until(async || scene.events("t-1").await.len() >= count).await;
}

/// The first runner is in the middle of a decision, and stands still.
async fn frozen<S: Whole>(scene: &Scene<S>, others: &Others<'_>) -> Other {
    let first = others.start("first");
    scene.start("t-1", "tally").await;
    has_events(scene, 1).await;
    scene.signal("t-1", "slow", "slow").await;
    until(async || others.folder.join("decides").exists()).await;
    first.signal("STOP");
    first
}

/// The frozen one is woken when another has gone on: it loses its step, and nothing is harmed.
async fn one_that_slept_loses_its_step<S: Whole>(scene: Scene<S>, others: Others<'_>) {
    let first = frozen(&scene, &others).await;
    scene.signals("t-1", (0..SIGNALS).map(|n| format!("s{n}"))).await;
    let second = others.start("second");
    has_events(&scene, 1 + 2 * (1 + SIGNALS)).await;
    others.touch("go on");
    first.signal("CONT");
    until(async || others.lines("first").contains(&"refused".to_owned())).await;
    assert_eq!(others.stop("second").await, ["stopped"]);
    drop(second);
    // It goes on by itself, from where the other one came to.
    scene.signals("t-1", (0..SIGNALS).map(|n| format!("late-{n}"))).await;
    has_events(&scene, 1 + 2 * (1 + 2 * SIGNALS)).await;
    let said = others.stop("first").await;
    assert!(said.iter().all(|line| line == "refused" || line == "stopped"), "{said:?}");
    each_input_once(&scene, 1 + 2 * SIGNALS).await;
}

async fn each_input_once<S: Whole>(scene: &Scene<S>, signals: usize) {
    let events = scene.events("t-1").await;
    let causes: std::collections::BTreeSet<_> =
        events.iter().filter_map(|event| event.cause.clone()).collect();
    assert_eq!((events.len(), causes.len()), (1 + 2 * signals, 1 + signals));
    let issued = scene.issued("t-1").await;
    let contents: std::collections::BTreeSet<_> = issued.iter().map(|one| one.digest).collect();
    assert_eq!((issued.len(), contents.len()), (signals, signals));
    assert!(scene.store.waiting_inputs(Some("t-1"), None, 9).await.unwrap().is_empty());
    scene.must_hold(Tally::new()).await;
}

/// It stood still for longer than a decision may take, all alone: no program is blamed for that.
async fn one_that_slept_alone_blames_nobody<S: Whole>(scene: Scene<S>, others: Others<'_>) {
    let first = frozen(&scene, &others).await;
    tokio::time::sleep(DECIDE_MAX + Duration::from_secs(1)).await;
    first.signal("CONT");
    tokio::time::sleep(DECIDE_MAX / 4).await;
    others.touch("go on");
    has_events(&scene, 3).await;
    assert_eq!(others.stop("first").await, ["stopped"]);
    assert_eq!(scene.status("t-1").await, Some(Status::Running));
    each_input_once(&scene, 1).await;
}

fn on_sqlite(folder: &tempfile::TempDir) -> (Scene<SqliteStore>, Others<'_>) {
    let file = folder.path().join("w.db");
    let store = format!("sqlite:{}", file.display());
    let scene = Scene::new(SqliteStore::init(file, None).unwrap());
    (scene, Others { store, folder: folder.path() })
}

#[tokio::test]
async fn one_that_slept_on_sqlite_loses_its_step() {
    let folder = tempfile::tempdir().unwrap();
    let (scene, others) = on_sqlite(&folder);
    one_that_slept_loses_its_step(scene, others).await;
}

#[tokio::test]
async fn one_that_slept_on_sqlite_alone_blames_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let (scene, others) = on_sqlite(&folder);
    one_that_slept_alone_blames_nobody(scene, others).await;
}

async fn on_postgres<'a>(
    schema: &Schema,
    folder: &'a tempfile::TempDir,
) -> (Scene<PostgresStore>, Others<'a>) {
    let store = PostgresStore::open(&url(), schema.options()).await.unwrap();
    (Scene::new(store), Others { store: schema.0.clone(), folder: folder.path() })
}

#[tokio::test]
async fn one_that_slept_on_postgres_loses_its_step() {
    let (folder, schema) = (tempfile::tempdir().unwrap(), Schema::new().await);
    let (scene, others) = on_postgres(&schema, &folder).await;
    one_that_slept_loses_its_step(scene, others).await;
}

#[tokio::test]
async fn one_that_slept_on_postgres_alone_blames_nobody() {
    let (folder, schema) = (tempfile::tempdir().unwrap(), Schema::new().await);
    let (scene, others) = on_postgres(&schema, &folder).await;
    one_that_slept_alone_blames_nobody(scene, others).await;
}
