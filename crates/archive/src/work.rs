//! What every piece of work in a folder is given: the store, the folder, who looks on.
//!
//! Guarantees: each step that a crash may fall behind is told, in order, after it is durable. Does
//! not: do anything.

use std::future::poll_fn;
use std::task::Poll;

use counterfoil_core::port::BoxFuture;
use counterfoil_core::port::archive::{Archive, Entry, SealChange};
use counterfoil_core::port::store::StoreError;

use crate::folder::Lock;

/// A step that is done, and after which a process may die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step<'a> {
    /// A file was begun.
    Began(&'a str),
    /// So many commands were written to it, not yet durable.
    Written(u64),
    /// So many events were written to it, not yet durable.
    WroteEvents(u64),
    /// A file is durable under its name for unfinished ones.
    Synced(&'a str),
    /// It was read back and is what was written.
    ReadBack(&'a str),
    /// A file has its name.
    Named(&'a str),
    /// So many commands of a file were removed from the store, of so many in all.
    Buried(u64, u64),
    /// So many bodies of events were taken out of their rows, of so many in all.
    Taken(u64, u64),
    /// What a file became is in its manifest.
    Ended(&'a str),
    /// The store has recorded an erasure.
    Erased(&'a str),
    /// A file that is not needed any more was removed.
    Removed(&'a str),
}

/// Who looks on.
pub trait Watch: Sync {
    /// A step is done.
    fn reached(&self, step: Step<'_>) {
        let _ = step;
    }

    /// Called between two batches that hold the store's write lock: others go first. Default:
    /// yields once.
    fn rest(&self) -> BoxFuture<'_, ()> {
        let mut yielded = false;
        Box::pin(poll_fn(move |context| {
            if std::mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }))
    }
}

/// Nobody looks on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// Who keeps the seal of the audit right while rows leave the store.
pub trait Seals: Sync {
    /// The new seal once these are buried in `file`; `None` where no seal stands.
    fn burying<'a>(
        &'a self,
        file: &'a str,
        entries: &'a [Entry],
    ) -> BoxFuture<'a, Result<Option<SealChange>, StoreError>>;

    /// The new seal once the content of this command is erased; `None` where no seal stands.
    fn erasing<'a>(
        &'a self,
        command_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<SealChange>, StoreError>>;
}

/// No seal stands, or it need not change.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unsealed;

impl Seals for Unsealed {
    fn burying<'a>(
        &'a self,
        _: &'a str,
        _: &'a [Entry],
    ) -> BoxFuture<'a, Result<Option<SealChange>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    fn erasing<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<SealChange>, StoreError>> {
        Box::pin(async { Ok(None) })
    }
}

/// A store, a folder that is locked, and who looks on.
pub struct Work<'a, S> {
    /// The store.
    pub store: &'a S,
    /// The folder.
    pub folder: &'a Lock,
    /// Who looks on.
    pub watch: &'a dyn Watch,
    /// Who keeps the seal.
    pub seals: &'a dyn Seals,
}

impl<'a, S: Archive> Work<'a, S> {
    /// Work that nobody looks on, in a store whose seal need not change.
    #[must_use]
    pub fn new(store: &'a S, folder: &'a Lock) -> Self {
        Self { store, folder, watch: &Unwatched, seals: &Unsealed }
    }

    /// The same, watched.
    #[must_use]
    pub fn watched(mut self, watch: &'a dyn Watch) -> Self {
        self.watch = watch;
        self
    }

    /// The same, with a seal that is kept right.
    #[must_use]
    pub fn sealed(mut self, seals: &'a dyn Seals) -> Self {
        self.seals = seals;
        self
    }
}
