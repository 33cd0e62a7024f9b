//! The server that all tests of a run share.
//!
//! Guarantees: the one that is named, else the machine's own on 5432, else one that the first test
//! starts in a temp folder; that one ends when no test has used it for a while. Does not: change
//! it; tests that restart or configure a server have their own.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::private::{PrivateServer, answers};

/// Where a server listens if one is installed and runs.
const USUAL: u16 = 5432;

/// Runs the server in a session of its own; ends it once no test holds the file of users.
const KEEPER: &str = r#"folder=$1; users=$2; shift 2
"$@" & set -- $!
while sleep 20; do
    kill -0 $1 || break
    flock -n "$users" sh -c "kill -INT $1; while kill -0 $1; do sleep 0.2; done" && break
done
wait
rm -rf "$folder""#;

/// The URL of that server.
pub(crate) fn url() -> String {
    static URL: OnceLock<String> = OnceLock::new();
    let find = || {
        if let Ok(named) = std::env::var("COUNTERFOIL_TEST_POSTGRES") {
            return named;
        }
        url_at(if listens(USUAL) { USUAL } else { started() })
    };
    URL.get_or_init(find).clone()
}

fn url_at(port: u16) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable")
}

fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// The port of the server of this run; starts it, unless another test has.
fn started() -> u16 {
    let state = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let open = |name: &str| {
        let mut options = File::options();
        options.create(true).truncate(false).write(true).open(state.join(name)).unwrap()
    };
    let turn = open("postgres.lock");
    turn.lock().unwrap();
    // Held until this process ends: the keeper asks for it alone.
    let using = open("postgres.users");
    using.lock_shared().unwrap();
    std::mem::forget(using);
    let says = state.join("postgres.port");
    let said = fs::read_to_string(&says).ok().and_then(|said| said.trim().parse::<u16>().ok());
    if let Some(port) = said.filter(|port| answers(*port)) {
        return port;
    }
    let server = PrivateServer::start(&[("max_connections", "300")]);
    let port = server.port();
    keep(server, &state.join("postgres.users"));
    let began = Instant::now();
    while !answers(port) {
        assert!(began.elapsed() < Duration::from_secs(120), "the run's server does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    fs::write(says, port.to_string()).unwrap();
    port
}

fn keep(server: PrivateServer, users: &Path) {
    let (launch, folder): (Command, PathBuf) = server.give_to_keeper();
    let mut keeper = Command::new("setsid");
    keeper.args(["sh", "-c", KEEPER, "keeper"]).arg(folder).arg(users);
    keeper.arg(launch.get_program()).args(launch.get_args()).current_dir("/");
    keeper.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // It outlives this process.
    drop(keeper.spawn().unwrap());
}
