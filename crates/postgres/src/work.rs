//! A unit of work in one transaction, and the loop that tries it again.
//!
//! Guarantees: work that met another transaction in its way, or a connection that was dead before
//! it began, is run again whole; every answer is given after COMMIT. Does not: run again what may
//! have been committed.

use std::future::Future;
use std::time::Duration;

use crate::failure::Failure;
use crate::pool::Pool;
use crate::tx::Tx;

/// How often work is tried where others are in its way.
const TRIES_MAX: u32 = 12;
/// The first wait between two tries; it doubles.
const FIRST_WAIT: Duration = Duration::from_millis(2);
/// The longest wait between two tries.
const WAIT_MAX: Duration = Duration::from_millis(250);

/// What is done in one transaction. It may run more than once.
pub(crate) trait Work: Sync {
    /// What it answers.
    type Answer: Send;

    /// Does it; COMMIT follows, unless it committed with its last statement.
    fn run(&self, tx: &Tx<'_>) -> impl Future<Output = Result<Self::Answer, Failure>> + Send;

    /// Whether a relay of this process should look now.
    fn wakes(&self, answer: &Self::Answer) -> bool {
        let _ = answer;
        false
    }
}

impl Pool {
    /// Runs work in a transaction of its own.
    pub(crate) async fn transact<W: Work>(&self, work: &W) -> Result<W::Answer, Failure> {
        let mut wait = FIRST_WAIT;
        let mut tries = 0;
        loop {
            tries += 1;
            let failure = match self.try_once(work).await {
                Err(failure @ (Failure::Again(_) | Failure::Unavailable(_))) => failure,
                done => return done,
            };
            let may_help = match &failure {
                Failure::Again(_) => tries < TRIES_MAX,
                // A pooled connection that died while idle; a fresh one is tried once.
                _ => tries < 2,
            };
            if !may_help {
                return Err(failure);
            }
            // Of two in each other's way one should come first.
            tokio::time::sleep(wait + self.jitter(wait)).await;
            wait = (wait * 2).min(WAIT_MAX);
        }
    }

    async fn try_once<W: Work>(&self, work: &W) -> Result<W::Answer, Failure> {
        let tx = self.begin().await?;
        let done = match work.run(&tx).await {
            Ok(answer) => tx.commit_if_open().await.map(|()| answer),
            Err(failure) => Err(failure),
        };
        if matches!(done, Err(Failure::Again(_) | Failure::Broken(_))) {
            tx.rollback().await;
        }
        done
    }
}
