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
            // Nothing is larger than the largest number, so a page that ends with it is the last.
            let next = last.n.checked_add(1).filter(|next| *next > self.from.n);
            self.from.n = goes_on(&self.from.n, next.unwrap_or(self.from.n))?;
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

/// A text that is below `key` and above every other key that is below it: keys have 255 bytes at
/// most.
pub(super) fn just_before(key: &str) -> String {
    let mut before = key.to_owned();
    let Some(last) = before.pop() else { return before };
    let lower = (0..u32::from(last)).rev().find_map(char::from_u32);
    if let Some(lower) = lower {
        before.push(lower);
        let room = 260_usize.saturating_sub(before.len()) / char::MAX.len_utf8();
        before.extend(std::iter::repeat_n(char::MAX, room));
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_lies_between_a_key_and_what_is_just_before_it() {
        for key in ["A", "A1", "é", "\u{e000}", "订单-1", " "] {
            let before = just_before(key);
            assert!(before.as_str() < key, "{key}");
            for other in ["@", "A0", "A", "A0zzzz", "è\u{10ffff}", "订单-0\u{10ffff}", "\u{d7ff}x"]
            {
                assert!(!(before.as_str() < other && other < key), "{key}: {other}");
            }
        }
    }
}
