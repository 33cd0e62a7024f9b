//! The README's commands, run as they stand there, in both languages.
//!
//! Guarantees: every line of the sixty-seconds tour runs in order and does what the page says; the
//! Rust lines stand in code that is compiled. Does not: install; the build under test is on the
//! PATH instead, and the receiver takes a free port instead of the page's.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{Desk, Running, Said};

const PAGES: [&str; 2] = ["README.md", "README.zh-CN.md"];
/// The port that the page names.
const PORT: &str = "8080";

/// A fenced block of code.
#[derive(Clone, Debug)]
struct Block {
    language: String,
    /// As written.
    text: String,
}

impl Block {
    /// The lines without comments, which each language writes in its own words, and empty ones.
    fn lines(&self) -> Vec<String> {
        let comment = if self.language == "rust" { " //" } else { " #" };
        let code = |line: &str| line.split(comment).next().unwrap_or_default().trim().to_owned();
        self.text.lines().map(code).filter(|line| !line.is_empty()).collect()
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn blocks(page: &str) -> Vec<Block> {
    let text = read(page);
    let parts: Vec<_> = text.split("```").collect();
    assert!(parts.len() % 2 == 1, "{page}: a block is not closed");
    let inside = parts.iter().skip(1).step_by(2);
    let blocks = inside.map(|part| {
        let (language, text) = part.split_once('\n').unwrap();
        Block { language: language.to_owned(), text: text.to_owned() }
    });
    blocks.collect()
}

/// Runs the tour of one page, block by block.
struct Tour {
    desk: Desk,
    receiver: Option<(Running, String)>,
    /// The commands that ended, as typed, and what they said.
    said: Vec<(String, Said)>,
}

impl Tour {
    fn of(page: &str) -> Self {
        let mut tour = Self { desk: Desk::empty(), receiver: None, said: Vec::new() };
        for block in blocks(page) {
            match block.language.as_str() {
                "console" => tour.type_in(&block),
                "python" => tour.end("python3", &["-c", &block.text]),
                "toml" => tour.write(&block.text),
                // These have tests of their own.
                "sh" | "rust" => {}
                other => panic!("{page}: nobody runs a block of {other:?}"),
            }
        }
        tour
    }

    /// A program in the tour's folder, with the build under test before all others.
    fn program(&self, name: &str, args: &[&str]) -> Command {
        let built = Path::new(env!("CARGO_BIN_EXE_counterfoil")).parent().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all = std::iter::once(built.to_owned()).chain(std::env::split_paths(&path));
        let mut command = Command::new(name);
        command.args(args).current_dir(self.desk.path(".")).stdin(Stdio::null());
        command.env_remove("COUNTERFOIL_STORE").env_remove("COUNTERFOIL_LOG");
        command.env("NO_COLOR", "1").env("PATH", std::env::join_paths(all).unwrap());
        command
    }

    fn end(&mut self, name: &str, args: &[&str]) {
        let output = self.program(name, args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let said =
            Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
        said.is_done();
        self.said.push((args.last().copied().unwrap_or_default().to_owned(), said));
    }

    fn type_in(&mut self, block: &Block) {
        for line in block.lines() {
            let typed = line.strip_prefix("$ ").unwrap_or_else(|| panic!("no command: {line}"));
            if let Some(path) = typed.strip_prefix("cargo install --path ") {
                let manifest = read(&format!("{path}/Cargo.toml"));
                assert!(manifest.contains("name = \"counterfoil\"\npath = \"src/main.rs\""));
            } else if let Some(receiver) = typed.strip_suffix(" &") {
                self.listen(receiver);
            } else {
                self.end("sh", &["-c", typed]);
            }
        }
    }

    /// Starts the receiver; `exec`, so that it is the child and ends with it.
    fn listen(&mut self, typed: &str) {
        assert!(typed.ends_with(&format!(":{PORT}")), "{typed}");
        let typed = format!("exec {}0", typed.strip_suffix(PORT).unwrap());
        let running = Running::start(self.program("sh", &["-c", &typed]));
        let line = running.hear("listening on ");
        let port = line.rsplit(':').next().unwrap().to_owned();
        self.receiver = Some((running, port));
    }

    fn write(&self, text: &str) {
        let page = format!(":{PORT}/");
        assert_eq!(text.matches(&page).count(), 1, "the receiver's port stands in the file");
        let (_, port) = self.receiver.as_ref().expect("the receiver is started first");
        self.desk.write("counterfoil.toml", &text.replace(&page, &format!(":{port}/")));
    }

    fn said(&self, words: &str) -> &Said {
        let found = self.said.iter().find(|(typed, _)| typed.starts_with(words));
        &found.unwrap_or_else(|| panic!("the page does not run {words}")).1
    }
}

/// Every line has ended with exit 0 by then.
fn the_tour_is_true(page: &str) {
    let tour = Tour::of(page);
    tour.said("counterfoil relay --until-idle");
    let status = &tour.said("counterfoil status").out;
    assert!(status.contains("shipping") && status.contains("completed"), "{status}");
    let show = &tour.said("counterfoil show order.paid:A-001").out;
    let begin = "order.paid:A-001 · order.paid · to shipping\ncompleted · round 1, 1 attempt\n";
    assert!(show.starts_with(begin), "{show}");
    let audit = &tour.said("counterfoil audit --inbox").out;
    assert!(audit.starts_with("the audit holds: 1 command,"), "{audit}");
    assert!(audit.contains("1 expected id, 1 key of the receiver"), "{audit}");
    let show = &tour.said("counterfoil workflow show trip-001").out;
    let begin = "trip-001 · trip · waits for its start to be decided since ";
    assert!(show.starts_with(begin) && show.contains("signal:approve"), "{show}");
    let waiting = &tour.said("counterfoil workflow list --status waiting").out;
    assert!(waiting.contains("trip-001"), "{waiting}");
    let jobs = "SELECT count(*) FROM jobs WHERE key = 'order.paid:A-001'";
    let warehouse = tour.desk.path("warehouse.db");
    assert_eq!(crate::program::number(&warehouse, jobs), 1);
    assert_eq!(crate::program::number(&warehouse, "SELECT count(*) FROM jobs"), 1);
}

#[test]
fn the_tour_of_the_english_page_is_true() {
    the_tour_is_true(PAGES[0]);
}

#[test]
fn the_tour_of_the_chinese_page_is_true() {
    the_tour_is_true(PAGES[1]);
}

#[test]
fn the_example_programs_are_where_the_page_says() {
    for page in PAGES.map(read) {
        let run: Vec<_> = page.split("`cargo run -p ").skip(1).collect();
        assert_eq!(run.len(), 2);
        for words in run {
            let (package, rest) = words.split_once(" --bin ").unwrap();
            let bin = rest.split('`').next().unwrap();
            let manifest = read(&format!("examples/{package}/Cargo.toml"));
            assert!(manifest.contains(&format!("name = \"{package}\"\n")), "{package}");
            assert!(read(&format!("examples/{package}/src/bin/{bin}.rs")).contains("fn main"));
        }
    }
}

#[test]
fn both_languages_show_the_same_code() {
    let [english, chinese] = PAGES.map(blocks);
    assert_eq!(english.len(), chinese.len());
    for (one, other) in english.iter().zip(&chinese) {
        assert_eq!(one.language, other.language);
        assert_eq!(one.lines(), other.lines());
    }
}

#[test]
fn the_two_commands_are_there_and_ci_runs_the_second() {
    let sh: Vec<_> = blocks(PAGES[0]).into_iter().filter(|b| b.language == "sh").collect();
    assert_eq!(sh.len(), 1);
    assert_eq!(sh[0].lines(), ["cargo run --release -- drill", "cargo xtask test"]);
    let ci = read(".ci/run");
    assert_eq!(ci.lines().filter(|line| *line == "cargo xtask test").count(), 1, "{ci}");
    // `cargo run` from the root is this program, and `drill` one of its verbs.
    assert!(read("Cargo.toml").contains("default-members = [\"crates/cli\"]"));
    assert!(read(".cargo/config.toml").contains("xtask = \"run "));
    Desk::empty().run(&["drill", "--help"]).is_done();
}

/// The page shortens code of which every line is compiled elsewhere, as a doc test or an example.
#[test]
fn the_rust_lines_stand_in_code_that_is_compiled() {
    let example = Block { language: "rust".into(), text: read("examples/orders/src/main.rs") };
    let doc_tests = blocks("docs/front_page.md").into_iter().map(|block| {
        assert!(block.language.is_empty(), "not compiled as it stands: {block:?}");
        Block { language: "rust".into(), ..block }
    });
    // The facade's documentation of its module `workflow`, so a doc test.
    let workflows = blocks("docs/workflows.md").into_iter().filter(|b| b.language == "rust");
    let compiled = doc_tests.chain([example]).chain(workflows);
    let compiled: BTreeSet<_> = compiled.flat_map(|b| b.lines()).collect();
    let rust: Vec<_> = blocks(PAGES[0]).into_iter().filter(|b| b.language == "rust").collect();
    assert_eq!(rust.len(), 2);
    for line in rust.iter().flat_map(Block::lines) {
        assert!(compiled.contains(&line), "nowhere compiled: {line}");
    }
}
