//! The PostgreSQL server that the tests of a run use.
//!
//! Guarantees: the one that `COUNTERFOIL_TEST_POSTGRES` names, else the machine's own on 5432 if
//! it lets `postgres` in without a password, else one of its own in a temp folder, which ends with
//! the run. Does not: configure the machine's own.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::stage::{Stage, answers, output_of};

/// Names the server to the tests.
const NAMED: &str = "COUNTERFOIL_TEST_POSTGRES";

/// A server that was started for this run; it ends when dropped.
pub(crate) struct Server {
    folder: PathBuf,
    programs: PathBuf,
    url: &'static str,
}

impl Server {
    /// Starts one, unless there is one that tests can use.
    ///
    /// # Errors
    /// Its programs are missing, or it does not start.
    pub(crate) fn start_if_none() -> Result<Option<Self>> {
        let usual = [
            "-h",
            "127.0.0.1",
            "-p",
            "5432",
            "-U",
            "postgres",
            "-w",
            "-Atc",
            "SELECT 1",
            "postgres",
        ];
        if std::env::var_os(NAMED).is_some() || answers("psql", &usual) {
            return Ok(None);
        }
        let programs = programs()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let name = format!("counterfoil-test-postgres-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).with_context(|| format!("{}", folder.display()))?;
        // The run ends soon after, so what is leaked is one short text.
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        let server = Self { folder, programs, url: Box::leak(url.into_boxed_str()) };
        eprintln!(
            "\nnote: no PostgreSQL on 5432 lets postgres in; the run starts its own on {port}"
        );
        if is_root() && !answers("chown", &["postgres", &server.folder.to_string_lossy()]) {
            bail!("there is no user postgres, as whom a server could run");
        }
        server.run("initdb", &["-A", "trust", "-U", "postgres", "-E", "UTF8"])?;
        let options = format!(
            "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
             -c max_connections=300"
        );
        let log = server.folder.join("log").to_string_lossy().into_owned();
        server.run("pg_ctl", &["-w", "-l", &log, "-o", &options, "start"])?;
        Ok(Some(server))
    }

    /// The same stage, whose tests use this server.
    pub(crate) fn named_to(&self, stage: Stage) -> Stage {
        stage.with_env(NAMED, self.url)
    }

    /// Runs a program of the server on its data; the server refuses to run as root.
    fn run(&self, program: &str, args: &[&str]) -> Result<()> {
        let path = self.programs.join(program);
        let mut command = Command::new(&path);
        if is_root() {
            command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(&path);
        }
        // Not by a pipe, which the server would hold open.
        let said = std::fs::File::create(self.folder.with_extension("out"))?;
        command.arg("-D").arg(self.folder.join("data")).args(args).current_dir("/");
        command.stdin(std::process::Stdio::null()).stdout(said.try_clone()?).stderr(said);
        let done = command.status().with_context(|| format!("cannot start {}", path.display()))?;
        if !done.success() {
            let said = std::fs::read_to_string(self.folder.with_extension("out"));
            bail!("{program} ended with {done}: {}", said.unwrap_or_default().trim());
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(why) = self.run("pg_ctl", &["-m", "immediate", "stop"]) {
            eprintln!("note: the server of the tests did not end: {why:#}");
        }
        let removed = std::fs::remove_dir_all(&self.folder);
        drop(removed.and(std::fs::remove_file(self.folder.with_extension("out"))));
    }
}

/// The folder of the newest server's programs.
fn programs() -> Result<PathBuf> {
    let find = "command -v initdb || ls -v /usr/lib/postgresql/*/bin/initdb | tail -1";
    let found = output_of("sh", &["-c", find])?;
    let folder = Path::new(found.trim()).parent().map(Path::to_owned);
    folder.filter(|folder| folder.join("pg_ctl").exists()).context(
        "no PostgreSQL server is installed: install it (Debian: apt-get install postgresql)",
    )
}

fn is_root() -> bool {
    output_of("id", &["-u"]).is_ok_and(|id| id.trim() == "0")
}
