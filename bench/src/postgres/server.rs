//! A server of its own for the figures of PostgreSQL: a fresh cluster with default settings.
//!
//! Guarantees: nothing else runs on it; it is stopped and removed when dropped. Does not: tune
//! anything but the extension that counts statements.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// Where distributions put the server's programs, newest first.
const PROGRAMS: [&str; 5] = [
    "/usr/lib/postgresql/17/bin",
    "/usr/lib/postgresql/16/bin",
    "/usr/lib/postgresql/15/bin",
    "/usr/lib/postgresql/14/bin",
    "/usr/local/pgsql/bin",
];

/// A running server.
pub(crate) struct Server {
    folder: TempDir,
    programs: PathBuf,
    port: u16,
}

impl Server {
    /// Makes a cluster in a folder below `dir` and starts it.
    pub(crate) fn start(dir: &Path) -> Result<Self> {
        let found = PROGRAMS.iter().map(PathBuf::from).find(|path| path.join("initdb").exists());
        let programs = found.context(
            "no PostgreSQL server is installed: install it (Debian: postgresql), 14 or newer",
        )?;
        let folder = tempfile::Builder::new().prefix("counterfoil-bench-").tempdir_in(dir)?;
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        drop(listener);
        let server = Self { folder, programs, port };
        if is_root() {
            run(Command::new("chown").arg("-R").arg("postgres").arg(server.folder.path()))?;
        }
        let data = server.data();
        run(server.program("initdb").args(["-A", "trust", "-U", "postgres", "-D"]).arg(&data))?;
        let options = format!(
            "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
             -c shared_preload_libraries=pg_stat_statements"
        );
        let log = server.folder.path().join("log");
        run(server
            .program("pg_ctl")
            .args(["-w", "-o", &options, "-D"])
            .arg(&data)
            .arg("-l")
            .arg(log)
            .arg("start"))?;
        Ok(server)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A program of the server; it refuses to run as root.
    fn program(&self, name: &str) -> Command {
        let path = self.programs.join(name);
        if !is_root() {
            return Command::new(path);
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
        command.current_dir("/");
        command
    }

    /// Its URL, for one database.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// A connection by itself.
    pub(crate) async fn connect(&self, database: &str) -> Result<Client> {
        let (client, connection) = tokio_postgres::connect(&self.url(database), NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// A new database of this name; one that stands goes.
    pub(crate) async fn create(&self, database: &str) -> Result<()> {
        let client = self.connect("postgres").await?;
        client.batch_execute(&format!("DROP DATABASE IF EXISTS {database} WITH (FORCE)")).await?;
        client.batch_execute(&format!("CREATE DATABASE {database}")).await?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.data();
        let stop =
            self.program("pg_ctl").args(["-m", "immediate", "-D"]).arg(data).arg("stop").output();
        drop(stop);
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn run(command: &mut Command) -> Result<()> {
    let said = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    ensure!(said.success(), "{command:?} failed: {said}");
    Ok(())
}
