//! Where a drill takes place: its files, its port and its configuration.
//!
//! Guarantees: a folder of its own, removed at the end unless it is to be kept; a store that is
//! given must not have orders yet. Does not: touch the store that `COUNTERFOIL_STORE` names.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::path::{Path, PathBuf};

use counterfoil_core::domain::Seed;

use tempfile::TempDir;

use super::order::{DESTINATION, KIND};
use crate::args::Contract;
use crate::config::store_url::{self, StoreUrl};
use crate::exit::Failure;
use crate::store::OpenStore;

/// The query of `[audit] expect`.
pub(super) const EXPECT: &str = "SELECT 'order.paid:' || id FROM orders WHERE paid = 1";

/// Where a port for the receiver is looked for.
const PORTS: Range<u16> = 20_000..32_768;
/// How often.
const PORT_TRIES: u64 = 100;

/// The site of one drill.
pub(super) struct Site {
    folder: Folder,
    /// The shop's file or database: orders and outbox.
    pub(super) store: StoreUrl,
    /// The same as a flag takes it.
    pub(super) url: String,
    /// The receiver's file: jobs and inbox.
    pub(super) shipping: PathBuf,
    /// The configuration of the relays.
    pub(super) config: PathBuf,
    /// Where the receiver listens, on loopback.
    pub(super) port: u16,
    /// What the receiver guarantees.
    pub(super) contract: Contract,
    /// This executable.
    pub(super) program: PathBuf,
    /// Where to look after the drill, if it stays.
    pub(super) stays: bool,
}

enum Folder {
    Removed(TempDir),
    Kept(PathBuf),
}

impl Site {
    /// Prepares it: `store` is the value of `--store`.
    ///
    /// # Errors
    /// A file stands in the way, or cannot be written.
    pub(super) fn new(
        store: Option<&str>,
        keep: bool,
        contract: Contract,
    ) -> Result<Self, Failure> {
        let made = tempfile::Builder::new().prefix("counterfoil-drill-").tempdir();
        let made = made.map_err(|error| no_file("a temporary folder", &error))?;
        let within = |name: &str| made.path().join(name);
        let (store, url, shipping) = match store {
            None => file(within("orders.db"), within("shipping.db")),
            Some(url) => match store_url::parse("--store", url)? {
                StoreUrl::Sqlite(path) => beside(&path)?,
                store @ StoreUrl::Postgres(_) => (store, url.to_owned(), within("shipping.db")),
            },
        };
        let folder = if keep { Folder::Kept(made.keep()) } else { Folder::Removed(made) };
        let program = std::env::current_exe().map_err(|error| no_file("this program", &error))?;
        let config = folder.path().join("counterfoil.toml");
        let stays = keep;
        let port = free_port()?;
        let site = Self { folder, store, url, shipping, config, port, contract, program, stays };
        std::fs::write(&site.config, site.configuration())
            .map_err(|error| no_file("the drill's configuration", &error))?;
        Ok(site)
    }

    /// The folder of configuration and logs.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Creates the shop's store.
    ///
    /// # Errors
    /// It cannot be created.
    pub(super) async fn create(&self) -> Result<OpenStore, Failure> {
        OpenStore::init(&self.store, None).await
    }

    /// Whether the shop's store is on a server, which may be away for a while.
    pub(super) const fn has_server(&self) -> bool {
        matches!(self.store, StoreUrl::Postgres(_))
    }

    /// Short leases, so that what a killed relay held is taken over soon.
    fn configuration(&self) -> String {
        let store = toml::Value::String(self.url.clone());
        format!(
            r#"# Written by a drill.
[store]
url = {store}

[relay]
workers = 16
lease = "3600ms"
poll = "20ms"
drain = "2s"

[audit]
expect = [{{ sql = "{EXPECT}", kind = "{KIND}" }}]

[destination.{DESTINATION}]
transport = "http"
url = "http://127.0.0.1:{port}/commands"
request_timeout = "1500ms"
retry = {{ initial = "50ms", max = "1s" }}
{contract}
"#,
            port = self.port,
            contract = self.contract.configuration(self.port),
        )
    }
}

impl Folder {
    fn path(&self) -> &Path {
        match self {
            Self::Removed(folder) => folder.path(),
            Self::Kept(path) => path,
        }
    }
}

/// The given store, absolute, and the receiver's file beside it, which must be new.
fn beside(store: &Path) -> Result<(StoreUrl, String, PathBuf), Failure> {
    let store = std::path::absolute(store).map_err(|error| no_file("the store", &error))?;
    let shipping = store.with_extension("shipping.db");
    if shipping.exists() {
        let text = format!("{} stands already, from another drill", shipping.display());
        return Err(Failure::could_not_run(text).help("remove it, or give --store another file"));
    }
    Ok(file(store, shipping))
}

fn file(store: PathBuf, shipping: PathBuf) -> (StoreUrl, String, PathBuf) {
    let url = format!("sqlite:{}", store.display());
    (StoreUrl::Sqlite(store), url, shipping)
}

/// A port below those that systems give to outgoing connections: while the receiver is down, a
/// relay that asks for such a port could be connected to itself, and hold it.
fn free_port() -> Result<u16, Failure> {
    let random = RandomState::new().hash_one(std::process::id());
    let below = (0..PORT_TRIES).map(|n| {
        let offset = Seed(random.wrapping_add(n)).mixed() % u64::from(PORTS.end - PORTS.start);
        PORTS.start + u16::try_from(offset).unwrap_or_default()
    });
    // The last resort: any port that is free.
    let mut candidates = below.chain([0]);
    let bound = candidates.find_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok());
    let address = bound.and_then(|bound| bound.local_addr().ok());
    address
        .map(|address| address.port())
        .ok_or_else(|| Failure::could_not_run("the drill finds no free port on loopback"))
}

fn no_file(what: &str, error: &std::io::Error) -> Failure {
    Failure::could_not_run(format!("the drill cannot use {what}: {error}"))
}
