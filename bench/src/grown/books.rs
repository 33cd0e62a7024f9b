//! The books, kept in a process of their own beside the relay that is measured.
//!
//! Guarantees: full audits and archives as the command line does them, with its rests. Does not:
//! end by itself.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::Result;
use counterfoil::Micros;
use counterfoil::audit::{AuditOptions, How, audit_sealed};
use counterfoil::port::{Archive, Audited, Bodies, BoxFuture};
use counterfoil_archive::{Folder, KeptSeal, Options, Watch, Work, archive};

/// How long others have the store between two batches.
const REST: Duration = Duration::from_millis(2);

/// A process that audits all and archives what has ended, over and over, until it is killed.
pub(crate) fn beside(store: &str, folder: &Path) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    Ok(command.arg("--books-of").arg(store).arg("--dir").arg(folder).spawn()?)
}

/// What [`beside`] starts.
pub(crate) async fn keep_books(store: &str, folder: &Path) -> Result<()> {
    if store.starts_with("postgres") {
        let options = counterfoil_postgres::Options::default();
        let store = counterfoil_postgres::PostgresStore::open(store, options).await?;
        return keep_books_of(&store, folder).await;
    }
    keep_books_of(&counterfoil::sqlite::SqliteStore::open(store, Default::default())?, folder).await
}

async fn keep_books_of(store: &(impl Archive + Audited + Bodies), folder: &Path) -> Result<()> {
    let seals = KeptSeal(store);
    let folder = Folder::new(folder)?.lock()?;
    let work = Work::new(store, &folder).watched(&Resting).sealed(&seals);
    loop {
        archive(&work, &Options::new(Micros::LATEST)).await?;
        audit_sealed(store, AuditOptions::default(), How::default().full()).await?;
    }
}

struct Resting;

impl Watch for Resting {
    fn rest(&self) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(REST))
    }
}
