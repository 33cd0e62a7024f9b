//! A book whose database fails: busy, or in the COMMIT itself.
//!
//! Guarantees: nothing is called done that may not be; the next request is served. Does not: fill
//! a disk.

use counterfoil_core::domain::{Digest, Micros, ReceiptOutcome};
use counterfoil_core::port::{Book, Call, InboxEntry, InboxRows, Job, Page};
use counterfoil_inbox::receiver::Options;
use counterfoil_sqlite::{BookPage, InboxBook};

use crate::client::{Serving, count, deliver};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Busy,
    CommitFails,
    CommitFailsAfterAll,
    JobFails,
}

#[derive(Debug, thiserror::Error)]
#[error("on purpose: {0:?}")]
struct Failed(Fault);

/// Fails by this plan, a page each, last first; then no more.
struct FailingBook {
    inner: InboxBook,
    plan: Vec<Fault>,
}

struct FailingPage<'book> {
    inner: BookPage<'book>,
    fault: Option<Fault>,
}

impl Book for FailingBook {
    type Error = Failed;
    type Page<'book> = FailingPage<'book>;

    fn page(&mut self) -> Result<FailingPage<'_>, Failed> {
        let fault = self.plan.pop();
        if fault == Some(Fault::Busy) {
            return Err(Failed(Fault::Busy));
        }
        Ok(FailingPage { inner: self.inner.page().unwrap(), fault })
    }
}

impl InboxRows for FailingPage<'_> {
    type Error = Failed;

    fn now(&mut self) -> Result<Micros, Failed> {
        Ok(self.inner.now().unwrap())
    }

    fn insert(
        &mut self,
        source: &str,
        key: &str,
        digest: Digest,
        expires_at: Micros,
    ) -> Result<Option<InboxEntry>, Failed> {
        Ok(self.inner.insert(source, key, digest, expires_at).unwrap())
    }

    fn finish(
        &mut self,
        source: &str,
        key: &str,
        outcome: ReceiptOutcome,
        result: &[u8],
    ) -> Result<(), Failed> {
        self.inner.finish(source, key, outcome, result).unwrap();
        Ok(())
    }

    fn is_busy(error: &Failed) -> bool {
        error.0 == Fault::Busy
    }
}

impl Page for FailingPage<'_> {
    fn mark(&mut self) -> Result<(), Failed> {
        self.inner.mark().unwrap();
        Ok(())
    }

    fn keep(&mut self) -> Result<(), Failed> {
        self.inner.keep().unwrap();
        Ok(())
    }

    fn undo(&mut self) -> Result<(), Failed> {
        self.inner.undo().unwrap();
        Ok(())
    }

    fn look(&mut self, source: &str, key: &str) -> Result<Option<InboxEntry>, Failed> {
        Ok(self.inner.look(source, key).unwrap())
    }

    fn job(&mut self, job: &Job<'_>) -> Result<Vec<u8>, Failed> {
        match self.fault {
            Some(Fault::JobFails) => Err(Failed(Fault::JobFails)),
            _ => Ok(self.inner.job(job).unwrap()),
        }
    }

    fn first_job(&mut self, source: &str, key: &str) -> Result<Option<Vec<u8>>, Failed> {
        Ok(self.inner.first_job(source, key).unwrap())
    }

    fn call(&mut self, call: &Call<'_>) -> Result<(), Failed> {
        self.inner.call(call).unwrap();
        Ok(())
    }

    fn purge(&mut self, limit: usize) -> Result<usize, Failed> {
        Ok(self.inner.purge(limit).unwrap())
    }

    fn commit(self) -> Result<(), Failed> {
        match self.fault {
            Some(Fault::CommitFails) => return Err(Failed(Fault::CommitFails)),
            Some(_) | None => self.inner.commit().unwrap(),
        }
        match self.fault {
            Some(Fault::CommitFailsAfterAll) => Err(Failed(Fault::CommitFailsAfterAll)),
            _ => Ok(()),
        }
    }
}

/// The status of one key's request under a fault, then that of its repeat, and the jobs.
fn under(fault: Fault) -> (u16, u16, i64) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let book = FailingBook { inner: InboxBook::open(&path).unwrap(), plan: vec![fault] };
    let serving = Serving::of(book, Options::default());
    let first = deliver(serving.at, "k", b"{}");
    assert_eq!(first.header("retry-after"), Some("1"), "{fault:?}");
    assert_ne!(first.header("counterfoil-outcome"), Some("completed"));
    let second = deliver(serving.at, "k", b"{}");
    assert_eq!(second.text(), r#"{"job":1}"#, "{fault:?}");
    serving.stop();
    (first.status, second.status, count(&path, "SELECT count(*) FROM jobs"))
}

#[test]
fn a_database_that_fails_is_never_called_done_and_the_repeat_is() {
    assert_eq!(under(Fault::Busy), (409, 200, 1));
    assert_eq!(under(Fault::CommitFails), (503, 200, 1));
    assert_eq!(under(Fault::CommitFailsAfterAll), (503, 200, 1));
}

#[test]
fn a_request_that_fails_half_way_leaves_no_key() {
    assert_eq!(under(Fault::JobFails), (503, 200, 1));
}
