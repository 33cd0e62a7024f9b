//! Pages of commands, the next one read while one is looked at.
//!
//! Guarantees: a store that reads on a thread of its own does so while pages are judged; two pages
//! at most are in memory; pages that do not go on are an error. Does not: judge.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use crate::port::Store;
use crate::port::read::{Facts, FactsFrom};
use crate::port::store::StoreError;

type Reading<'a> = Pin<Box<dyn Future<Output = Result<Facts, StoreError>> + Send + 'a>>;

enum Next<'a> {
    Under(Reading<'a>),
    Read(Result<Facts, StoreError>),
    Nothing,
}

/// The commands of a store, page by page.
pub(super) struct Pages<'a, S> {
    store: &'a S,
    from: FactsFrom,
    size: usize,
    next: Next<'a>,
}

impl<'a, S: Store> Pages<'a, S> {
    pub(super) fn new(store: &'a S, from: FactsFrom, size: usize) -> Self {
        let next = Next::Under(Box::pin(store.facts(from, size)));
        Self { store, from, size, next }
    }

    /// The next page; `None` after the last.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) async fn next(&mut self) -> Result<Option<Facts>, StoreError> {
        let facts = match std::mem::replace(&mut self.next, Next::Nothing) {
            Next::Nothing => return Ok(None),
            Next::Read(facts) => facts?,
            Next::Under(reading) => reading.await?,
        };
        if let Some(last) = facts.commands.last().filter(|_| !facts.last) {
            self.from.after = goes_on(&self.from.after, last.n)?;
            let reading = Box::pin(self.store.facts(self.from, self.size));
            self.next = begun(reading).await;
        }
        Ok(Some(facts))
    }
}

/// A future is idle until it is polled.
async fn begun(mut reading: Reading<'_>) -> Next<'_> {
    let polled = std::future::poll_fn(|context| Poll::Ready(reading.as_mut().poll(context))).await;
    match polled {
        Poll::Ready(facts) => Next::Read(facts),
        Poll::Pending => Next::Under(reading),
    }
}

/// A store whose pages stand still would be read for ever.
pub(super) fn goes_on<T: PartialEq>(after: &T, last: T) -> Result<T, StoreError> {
    let stands = "its pages do not go on; report this as a bug of the store";
    if last == *after { Err(StoreError::Broken(stands.into())) } else { Ok(last) }
}
