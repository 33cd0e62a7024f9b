//! No space is left for the log of the server.
//!
//! The log lies on a small file system in memory. Root may mount one; others may in a namespace of
//! their own, where this test starts itself again; where the system forbids that, too, it fails.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use counterfoil_core::domain::Span;
use counterfoil_core::port::Notice;
use counterfoil_core::port::store::StoreError;
use counterfoil_postgres::{Options, PostgresStore};

use super::scene::{AtWork, Book, SCHEMA, Writers, prepared, prove, wait_for_the_end};
use crate::private::{PrivateServer, Stop, give_away, is_root};

/// A file system of so many MiB.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path, megabytes: usize) -> Self {
        fs::create_dir(at).unwrap();
        let size = format!("size={megabytes}m");
        let done =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at).output();
        let done = done.unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "mount, which needs root: {said}");
        Self(at.to_owned())
    }

    /// Takes all space but a little.
    fn fill(&self, but_kilobytes: usize) -> PathBuf {
        let path = self.0.join("ballast");
        let mut file = File::create(&path).unwrap();
        let kilobyte = [0; 1024];
        while file.write_all(&kilobyte).is_ok() {}
        let length = file.metadata().unwrap().len();
        file.set_len(length.saturating_sub(but_kilobytes as u64 * 1024)).unwrap();
        path
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

/// Set where this process may mount, though it is not root's.
const MAY_MOUNT: &str = "COUNTERFOIL_MAY_MOUNT";

/// Runs `test` again in a namespace where it may mount; `false`: it may here.
fn is_elsewhere(test: &str) -> bool {
    if is_root() || std::env::var(MAY_MOUNT).is_ok() {
        return false;
    }
    let again = Command::new("unshare")
        .args(["--user", "--map-current-user", "--keep-caps", "--mount", "--"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(MAY_MOUNT, "1")
        .status();
    let is_done = again.is_ok_and(|status| status.success());
    assert!(is_done, "it failed, or may not mount: run it as root, or allow user namespaces");
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_disk_is_unavailable_loses_nothing_and_ends_with_it() {
    let this = "a_full_disk_is_unavailable_loses_nothing_and_ends_with_it";
    if is_elsewhere(&format!("fault::disk_full::{this}")) {
        return;
    }
    // Dropped after the server.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let small = Small::mount(&folder.path().join("small"), 48);
    give_away(&small.0);
    let log = small.0.join("wal");
    let init = ["--wal-segsize=1", "--waldir", log.to_str().unwrap()];
    let settings = [("max_wal_size", "16MB"), ("min_wal_size", "2MB"), ("full_page_writes", "on")];
    let mut server = PrivateServer::start_with(&settings, &init);
    let url = server.url();
    prepared(&url).await;
    let store = PostgresStore::open(&url, Options::default()).await.unwrap();
    let book = Book::default();
    let served = book.both(Duration::from_millis(2), Span::from_secs(4));
    let relay = AtWork::start(&store, served, counterfoil_relay::Options::default().workers(16));
    let writers = Writers::start(&store, &url, Duration::from_millis(2));
    tokio::time::sleep(Duration::from_millis(500)).await;

    let ballast = small.fill(512);
    let began = Instant::now();
    while writers.errors.lock().unwrap().len() < 3 {
        assert!(began.elapsed() < Duration::from_secs(120), "the disk does not fill up");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // A while without space; the server may have given up by now.
    tokio::time::sleep(Duration::from_secs(2)).await;
    for error in writers.errors.lock().unwrap().iter() {
        let is_named = matches!(error, StoreError::Unavailable(_) | StoreError::NotKnown(_));
        assert!(is_named, "{error:?}");
    }
    fs::remove_file(ballast).unwrap();
    if server.has_ended() {
        eprintln!("the server had given up");
        server.stop(Stop::Immediate);
        server.go_on();
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let ids = writers.stop().await;
    wait_for_the_end(&url, SCHEMA).await;
    assert!(relay.heard.count(|it| matches!(it, Notice::StoreFailed { .. })) > 0);
    relay.stop().await;
    let ends = prove(&store, &url, SCHEMA, &book, &ids).await;
    eprintln!("{ends:?}");
    drop(server);
}
