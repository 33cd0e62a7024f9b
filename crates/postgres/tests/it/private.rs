//! Servers of the tests' own, in temp folders on free ports.
//!
//! Guarantees: made by the newest PostgreSQL that is installed, as the user postgres where the
//! tests run as root; stopped and removed when dropped. Does not: survive a crash of the machine;
//! nothing is flushed to the disk unless a test asks for it.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a server may take to start or stop.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program of PostgreSQL: of the newest that Debian keeps, or from the path.
pub(crate) fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let mut versions: Vec<PathBuf> = versions.map(|dir| dir.path()).collect();
    versions.sort_by_key(number);
    let at = versions.iter().rev().map(|dir| dir.join("bin").join(name));
    if let Some(path) = at.into_iter().find(|path| path.exists()) {
        return path;
    }
    let found = Command::new(name).arg("--version").stdout(Stdio::null()).status();
    assert!(
        found.is_ok_and(|status| status.success()),
        "no {name}: install the server of PostgreSQL (Debian: apt-get install postgresql)"
    );
    name.into()
}

/// The ids of a user and of its group, as `id` says them.
fn ids(user: &str) -> Option<(u32, u32)> {
    let ask = |what: &str| {
        let said = Command::new("id").args([what, user]).output().ok()?;
        String::from_utf8(said.stdout).ok()?.trim().parse::<u32>().ok()
    };
    Some((ask("-u")?, ask("-g")?))
}

/// Whether the tests run as root, who may make networks and mount, and may start no server.
pub(crate) fn is_root() -> bool {
    let said = Command::new("id").arg("-u").output();
    said.is_ok_and(|said| said.stdout.trim_ascii() == b"0")
}

/// A command of the user who may run servers; it is told to end with the thread that starts it.
pub(crate) fn unprivileged(program: &Path) -> Command {
    by_user(program, &["--pdeathsig", "INT"])
}

/// The same, with other words about it than that it ends with us.
fn by_user(program: &Path, words: &[&str]) -> Command {
    if !cfg!(target_os = "linux") {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(words);
    if is_root() {
        let (user, group) = ids("postgres").expect("no user postgres: install postgresql");
        command.args(["--reuid", &user.to_string(), "--regid", &group.to_string()]);
        command.arg("--clear-groups");
    }
    command.arg("--").arg(program);
    command
}

/// Lets the user who runs servers have a folder.
pub(crate) fn give_away(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    if is_root() {
        let (user, group) = ids("postgres").expect("no user postgres: install postgresql");
        chown(folder, Some(user), Some(group)).unwrap();
    }
}

/// A port that nobody listens on, below those that the system gives to clients: a client that
/// tries in vain must not be given the very port that it tries.
pub(crate) fn free_port() -> u16 {
    for _ in 0..1_000 {
        let name = super::server::random_name();
        let mixed = name
            .bytes()
            .fold(7_u64, |sum, byte| sum.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte));
        let port = 20_000 + u16::try_from(mixed % 12_000).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free");
}

/// Sends a signal to a process that a test started, or to one of its server's.
pub(crate) fn signal(name: &str, pid: u32) {
    let script = format!("kill -{name} {pid}");
    let sent = Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status();
    assert!(sent.is_ok_and(|status| status.success()), "{script}");
}

/// Whether a server on this port takes connections now.
pub(crate) fn answers(port: u16) -> bool {
    let port = port.to_string();
    let args = ["-q", "-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-d", "postgres"];
    Command::new(program("pg_isready")).args(args).status().is_ok_and(|said| said.success())
}

/// How a server is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Transactions are rolled back, sessions are told, all is written.
    Fast,
    /// Sessions are told; the next start recovers.
    Immediate,
    /// All its processes are killed at once.
    Crash,
}

/// A server in a temp folder.
pub(crate) struct PrivateServer {
    /// `None` while it is stopped.
    running: Option<Child>,
    port: u16,
    settings: Vec<(String, String)>,
    folder: TempDir,
}

impl PrivateServer {
    /// A new one that answers, with these settings over ours.
    pub(crate) fn start(settings: &[(&str, &str)]) -> Self {
        Self::start_with(settings, &[])
    }

    /// The same, with more words for `initdb`.
    pub(crate) fn start_with(settings: &[(&str, &str)], init: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        give_away(folder.path());
        let made = unprivileged(&program("initdb"))
            .args(["--no-sync", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-D"])
            .arg(folder.path().join("data"))
            .args(init)
            .current_dir("/")
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let ours = [("listen_addresses", "127.0.0.1"), ("unix_socket_directories", "")];
        let fast = [("fsync", "off"), ("full_page_writes", "off"), ("max_connections", "120")];
        let settings = ours.iter().chain(&fast).chain(settings);
        let settings = settings.map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let mut server = Self { running: None, port: free_port(), settings, folder };
        server.go_on();
        server
    }

    /// Where it is.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The URL of its database `postgres`, for the one who may do all.
    pub(crate) fn url(&self) -> String {
        self.url_of("postgres", "postgres")
    }

    /// The URL of a user and a database.
    pub(crate) fn url_of(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Trusts a network, too.
    pub(crate) fn allow(&self, network: &str) {
        let rules = File::options().append(true).open(self.folder.path().join("data/pg_hba.conf"));
        writeln!(rules.unwrap(), "host all all {network} trust").unwrap();
        signal("HUP", self.running.as_ref().expect("it runs").id());
    }

    /// Stops all its processes where they are; connections stay, and nobody answers.
    pub(crate) fn freeze(&self) {
        let postmaster = self.running.as_ref().expect("it runs").id();
        signal("STOP", postmaster);
        children(postmaster).into_iter().for_each(|pid| signal("STOP", pid));
    }

    /// Lets them go on.
    pub(crate) fn thaw(&self) {
        let postmaster = self.running.as_ref().expect("it runs").id();
        children(postmaster).into_iter().for_each(|pid| signal("CONT", pid));
        signal("CONT", postmaster);
    }

    /// Whether it ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.running.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some())
    }

    /// Starts it again, and waits until it answers.
    pub(crate) fn go_on(&mut self) {
        let began = Instant::now();
        loop {
            self.running = Some(self.launch());
            loop {
                if answers(self.port) {
                    return;
                }
                if self.has_ended() {
                    break;
                }
                assert!(began.elapsed() < PATIENCE, "no answer: {}", self.log());
                std::thread::sleep(Duration::from_millis(20));
            }
            // Another has its port, perhaps, or a process of before still ends.
            assert!(began.elapsed() < PATIENCE, "it does not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn launch(&self) -> Child {
        self.with_words(unprivileged(&program("postgres"))).spawn().unwrap()
    }

    fn with_words(&self, mut command: Command) -> Command {
        let log = File::options().create(true).append(true).open(self.folder.path().join("log"));
        let log = log.unwrap();
        command.arg("-D").arg(self.folder.path().join("data"));
        for (name, value) in &self.settings {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        command.arg("-c").arg(format!("port={}", self.port)).current_dir("/");
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        command
    }

    /// Stops it, and gives the command that starts it again, by whoever ends it and removes its
    /// folder.
    pub(crate) fn give_to_keeper(mut self) -> (Command, PathBuf) {
        self.stop(Stop::Fast);
        let command = self.with_words(by_user(&program("postgres"), &[]));
        self.folder.disable_cleanup(true);
        (command, self.folder.path().to_owned())
    }

    /// Stops it, and waits for its end.
    pub(crate) fn stop(&mut self, how: Stop) {
        let Some(mut child) = self.running.take() else { return };
        let children = children(child.id());
        if child.try_wait().unwrap().is_none() {
            let name = match how {
                Stop::Fast => "INT",
                Stop::Immediate => "QUIT",
                Stop::Crash => "KILL",
            };
            signal(name, child.id());
        }
        if how == Stop::Crash {
            for pid in children {
                let script = format!("kill -KILL {pid}");
                // It may have ended by itself.
                drop(Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status());
            }
        }
        let began = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if began.elapsed() > PATIENCE {
                signal("KILL", child.id());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What it said.
    pub(crate) fn log(&self) -> String {
        let mut said = Vec::new();
        if let Ok(mut file) = File::open(self.folder.path().join("log")) {
            drop(file.read_to_end(&mut said));
        }
        String::from_utf8_lossy(&said[said.len().saturating_sub(4_000)..]).into_owned()
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        self.stop(Stop::Immediate);
    }
}

/// The processes that a process has started.
fn children(of: u32) -> Vec<u32> {
    let parent = |stat: &str| -> Option<u32> {
        // `pid (name) state ppid`; the name may hold anything.
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let stat = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    pids.filter(|pid| stat(pid).as_deref().and_then(parent) == Some(of)).collect()
}
