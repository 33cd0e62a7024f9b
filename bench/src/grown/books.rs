//! The books, kept in a process of their own beside the relay that is measured.
//!
//! Guarantees: full audits and archives as the command line does them, with its rests. Does not:
//! end by itself.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::Result;
use counterfoil::audit::{AuditError, AuditOptions, How, audit_sealed, keep};
use counterfoil::port::archive::{Entry, SealChange};
use counterfoil::port::{Archive, Audited, BoxFuture};
use counterfoil::{Micros, StoreError};
use counterfoil_archive::{Folder, Options, Seals, Watch, Work, archive};

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

async fn keep_books_of(store: &(impl Archive + Audited), folder: &Path) -> Result<()> {
    let seals = Kept(store);
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

/// Keeps the seal right while rows leave.
struct Kept<'s, S>(&'s S);

impl<S: Archive + Audited> Seals for Kept<'_, S> {
    fn burying<'a>(
        &'a self,
        _: &'a str,
        entries: &'a [Entry],
    ) -> BoxFuture<'a, Result<Option<SealChange>, StoreError>> {
        Box::pin(async { keep::burying(self.0, entries).await.map_err(unkept) })
    }

    fn erasing<'a>(
        &'a self,
        command_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<SealChange>, StoreError>> {
        Box::pin(async { keep::erasing(self.0, command_id).await.map_err(unkept) })
    }
}

fn unkept(error: AuditError) -> StoreError {
    match error {
        AuditError::Store(error) => error,
        other => StoreError::Broken(other.to_string()),
    }
}
