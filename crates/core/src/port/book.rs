//! A receiver's own book: its inbox, and beside it the jobs it did and the calls it heard.
//!
//! Guarantees asked of an implementation: a page is one write transaction, and `commit` returns
//! only when it is on the disk; a page that is dropped leaves nothing. It is not asked to judge
//! repeats; the inbox's guard does, over the same page.

use super::inbox::{InboxEntry, InboxRows};

/// The effect of one command at the reference receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job<'a> {
    /// Whose command it was.
    pub source: &'a str,
    /// Its key.
    pub key: &'a str,
    /// Its kind, as the sender says.
    pub kind: Option<&'a str>,
    /// Its body, byte for byte.
    pub body: &'a [u8],
}

/// One request that was taken on, whatever came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// The key.
    pub key: &'a str,
    /// Which attempt of its round, as the sender says.
    pub attempt: Option<i64>,
    /// The fencing token, as the sender says.
    pub token: Option<i64>,
    /// What came of it: `done`, `refused`, `repeated`, `conflict`, `unfinished`.
    pub outcome: &'a str,
}

/// A receiver's database, written by one thread.
pub trait Book: Send + 'static {
    /// Why the book cannot be read or written.
    type Error: std::error::Error + Send + Sync + 'static;
    /// One open write transaction.
    type Page<'book>: Page<Error = Self::Error>;

    /// Begins a write transaction; waits for other writers as long as the database waits.
    ///
    /// # Errors
    /// What the database reports; nothing was written.
    fn page(&mut self) -> Result<Self::Page<'_>, Self::Error>;
}

/// One open write transaction of a [`Book`].
pub trait Page: InboxRows {
    /// Remembers this point of the transaction, so that [`Page::undo`] comes back to it. Marks
    /// are not nested.
    ///
    /// # Errors
    /// What the database reports.
    fn mark(&mut self) -> Result<(), Self::Error>;

    /// Keeps what was written since the mark, and forgets the mark.
    ///
    /// # Errors
    /// What the database reports.
    fn keep(&mut self) -> Result<(), Self::Error>;

    /// Takes back what was written since the mark, and forgets the mark.
    ///
    /// # Errors
    /// What the database reports.
    fn undo(&mut self) -> Result<(), Self::Error>;

    /// What stands about a key; an expired one counts as absent.
    ///
    /// # Errors
    /// What the database reports.
    fn look(&mut self, source: &str, key: &str) -> Result<Option<InboxEntry>, Self::Error>;

    /// Writes a job with the result `{"job":n}`, and gives that result.
    ///
    /// # Errors
    /// What the database reports.
    fn job(&mut self, job: &Job<'_>) -> Result<Vec<u8>, Self::Error>;

    /// The result of the first job of a key, whether or not the key was kept; the place where a
    /// receiver without keys can still be asked.
    ///
    /// # Errors
    /// What the database reports.
    fn first_job(&mut self, source: &str, key: &str) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Writes a call.
    ///
    /// # Errors
    /// What the database reports.
    fn call(&mut self, call: &Call<'_>) -> Result<(), Self::Error>;

    /// Removes at most `limit` keys whose retention is over; how many.
    ///
    /// # Errors
    /// What the database reports.
    fn purge(&mut self, limit: usize) -> Result<usize, Self::Error>;

    /// Commits durably.
    ///
    /// # Errors
    /// What the database reports: it is not known whether the transaction took effect.
    fn commit(self) -> Result<(), Self::Error>;
}
