//! PostgreSQL for the tests: the machine's server, with a schema for each test; or one of its own.
//!
//! Guarantees: a schema is dropped at the end, a server of a test's own is stopped and its folder
//! removed. `COUNTERFOIL_TEST_POSTGRES` names the machine's server, `COUNTERFOIL_TEST_POSTGRES_BIN`
//! the folder of `initdb` and `pg_ctl`. A server that is not there fails the test.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};

const DEFAULT_URL: &str = "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable";

/// The URL of the machine's server.
fn url() -> String {
    std::env::var("COUNTERFOIL_TEST_POSTGRES").unwrap_or_else(|_| DEFAULT_URL.into())
}

/// A name that no other test has.
pub(crate) fn random_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("test_cf_{}_{:x}_{next}", std::process::id(), since.as_nanos())
}

/// A plain connection, with none of Counterfoil's settings.
pub(crate) struct Plain {
    runtime: Runtime,
    client: Client,
}

impl Plain {
    /// Connects; `cf.` in its statements is not touched.
    pub(crate) fn open(url: &str) -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let connected = runtime.block_on(tokio_postgres::connect(url, NoTls));
        let (client, connection) = connected.unwrap_or_else(|error| {
            panic!(
                "no PostgreSQL at {url}: {error:?}. Install one (Debian: apt-get install \
                 postgresql), start it, and name it by COUNTERFOIL_TEST_POSTGRES"
            )
        });
        runtime.spawn(connection);
        Self { runtime, client }
    }

    /// Runs statements.
    pub(crate) fn run(&self, sql: &str) {
        let ran = self.runtime.block_on(self.client.batch_execute(sql));
        ran.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// One number; 0 where there is none.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.try_number(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    /// The same from a server that may be away.
    pub(crate) fn try_number(&self, sql: &str) -> Result<i64, tokio_postgres::Error> {
        let sql = format!("SELECT coalesce(({sql})::bigint, 0)");
        Ok(self.runtime.block_on(self.client.query_one(&sql, &[]))?.get(0))
    }
}

/// A schema of one test, on the machine's server.
pub(crate) struct Schema {
    pub(crate) name: String,
}

impl Schema {
    /// A name; nothing is made under it.
    pub(crate) fn unmade() -> Self {
        Self { name: random_name() }
    }

    /// The URL of a store in it.
    pub(crate) fn store(&self) -> String {
        let (url, name) = (url(), &self.name);
        let joint = if url.contains('?') { '&' } else { '?' };
        format!("{url}{joint}schema={name}")
    }

    /// A plain connection.
    pub(crate) fn plain(&self) -> Plain {
        Plain::open(&url())
    }

    /// One number; `cf.` stands for the schema.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.plain().number(&sql.replace("cf.", &format!("{}.", self.name)))
    }

    /// Runs statements; `cf.` stands for the schema.
    pub(crate) fn run(&self, sql: &str) {
        self.plain().run(&sql.replace("cf.", &format!("{}.", self.name)));
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let sql = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name);
        // The test may be panicking; a server that is not there was told already.
        let dropping = std::thread::spawn(move || {
            let plain = Plain::open(&url());
            plain.run("SET lock_timeout = '30s'");
            plain.run(&sql);
        });
        drop(dropping.join());
    }
}

/// A server of a test's own.
pub(crate) struct Server {
    folder: TempDir,
    port: u16,
}

impl Server {
    /// A server that trusts everybody on loopback; `settings` stand in its configuration.
    pub(crate) fn start(settings: &str) -> Self {
        Self::with_auth("trust", settings)
    }

    /// A server that wants the password `pässword:1` of `postgres`.
    pub(crate) fn with_passwords() -> Self {
        Self::with_auth("scram-sha-256", "")
    }

    /// A server with TLS, whose certificate is for `localhost`, by the relay's test authority.
    pub(crate) fn with_tls() -> Self {
        let server = Self::start("");
        for name in ["server.pem", "server.key"] {
            let copy = server.data().join(name);
            std::fs::copy(certificate(name), &copy).unwrap();
            give_to_postgres(&copy);
            server.private(&copy);
        }
        let conf = server.data().join("postgresql.conf");
        let text = std::fs::read_to_string(&conf).unwrap();
        let tls = "ssl = on\nssl_cert_file = 'server.pem'\nssl_key_file = 'server.key'\n";
        std::fs::write(&conf, text + tls).unwrap();
        server.restart("fast");
        server
    }

    /// The server refuses a key that others can read.
    fn private(&self, file: &Path) {
        let done = Command::new("chmod").arg("600").arg(file).status().unwrap();
        assert!(done.success(), "{}", self.folder.path().display());
    }

    fn with_auth(auth: &str, settings: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { folder, port: free.local_addr().unwrap().port() };
        let data = server.data();
        std::fs::write(server.folder.path().join("password"), "pässword:1\n").unwrap();
        // initdb refuses to run as root.
        give_to_postgres(server.folder.path());
        let password = server.folder.path().join("password");
        let (shown, file) = (data.display(), password.display());
        server.tool("initdb", &format!(
            "--pgdata={shown} --auth={auth} --username=postgres --pwfile={file} --encoding=UTF8 \
             --locale=C --no-sync"
        ));
        let port = server.port;
        let own = format!(
            "port = {port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n\
             max_connections = 60\nautovacuum = on\n{settings}\n"
        );
        let conf = data.join("postgresql.conf");
        let text = std::fs::read_to_string(&conf).unwrap() + &own;
        std::fs::write(&conf, text).unwrap();
        drop(free);
        let log = server.folder.path().join("server.log");
        server.tool("pg_ctl", &format!("start --wait --pgdata={shown} --log={}", log.display()));
        server
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Stops it by `mode` and starts it again.
    pub(crate) fn restart(&self, mode: &str) {
        let (data, log) = (self.data(), self.folder.path().join("server.log"));
        let (data, log) = (data.display(), log.display());
        self.tool("pg_ctl", &format!("restart --wait --mode={mode} --pgdata={data} --log={log}"));
    }

    /// The URL of a database on it.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Its port.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// A new database; its URL.
    pub(crate) fn database(&self) -> String {
        let name = random_name();
        Plain::open(&self.url("postgres")).run(&format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    fn tool(&self, name: &str, args: &str) {
        let program = binaries().join(name);
        let line = format!("exec {} {args}", program.display());
        let mut command = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--", "sh", "-c", &line]);
            command
        } else {
            let mut command = Command::new("sh");
            command.args(["-c", &line]);
            command
        };
        // Its own output would keep a pipe open for as long as the server runs.
        let said = std::fs::File::create(self.folder.path().join("tool.log")).unwrap();
        command.current_dir(self.folder.path()).stdin(std::process::Stdio::null());
        command.stdout(said.try_clone().unwrap()).stderr(said);
        let ended = command.status().unwrap();
        let read = |name: &str| std::fs::read_to_string(self.folder.path().join(name));
        let said = || (read("tool.log"), read("server.log"));
        assert!(ended.success(), "{line}: {ended}: {:?}", said());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.data().join("postmaster.pid").exists() {
            let data = self.data();
            self.tool(
                "pg_ctl",
                &format!("stop --wait --mode=immediate --pgdata={}", data.display()),
            );
        }
    }
}

/// A file of the certificates that the relay is tested with.
pub(crate) fn certificate(name: &str) -> PathBuf {
    let folder = "../relay/tests/it/http/certificates";
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(name)
}

pub(crate) fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    String::from_utf8_lossy(&id.stdout).trim() == "0"
}

/// Gives a folder to the user that the server runs as.
pub(crate) fn give_to_postgres(folder: &Path) {
    if is_root() {
        let given = Command::new("chown").args(["-R", "postgres"]).arg(folder).status().unwrap();
        assert!(given.success(), "there is no user postgres: install PostgreSQL");
    }
}

fn binaries() -> PathBuf {
    if let Some(folder) = std::env::var_os("COUNTERFOIL_TEST_POSTGRES_BIN") {
        return folder.into();
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<_> = versions.map(|version| version.path().join("bin")).collect();
    found.sort();
    let newest = found.pop().filter(|folder| folder.join("initdb").exists());
    newest.expect(
        "no initdb below /usr/lib/postgresql: install PostgreSQL (Debian: apt-get install \
         postgresql), or name its folder by COUNTERFOIL_TEST_POSTGRES_BIN",
    )
}
