//! A unit of work in one transaction, and the loop that tries it again.
//!
//! Guarantees: work that met another transaction in its way, or a connection that was dead before
//! it began, is run again whole; every answer is given after COMMIT. Does not: run again what may
//! have been committed, unless it finds by its ids what it wrote.

use std::future::Future;
use std::time::Duration;

use crate::failure::Failure;
use crate::pool::Pool;
use crate::tx::Tx;

/// How often work is tried where others are in its way.
const TRIES_MAX: u32 = 12;
/// How often work looks for what it may have committed.
const LOOKS_MAX: u32 = 8;
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

    /// What it answers where no answer to COMMIT came: by its ids it finds what it wrote, or does
    /// it now. `None`: it cannot be told.
    fn look_again(
        &self,
        tx: &Tx<'_>,
    ) -> impl Future<Output = Result<Option<Self::Answer>, Failure>> + Send {
        let _ = tx;
        async { Ok(None) }
    }

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
                Err(Failure::NotKnown(why)) => return self.look_again(work, why).await,
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

    /// After a COMMIT without an answer, on another connection.
    async fn look_again<W: Work>(&self, work: &W, why: String) -> Result<W::Answer, Failure> {
        let mut wait = FIRST_WAIT;
        for _ in 0..LOOKS_MAX {
            let Ok(tx) = self.begin().await else { break };
            let told = match work.look_again(&tx).await {
                Ok(None) => break,
                Ok(Some(answer)) => tx.commit_if_open().await.map(|()| answer),
                Err(failure) => Err(failure),
            };
            if let Ok(answer) = told {
                tx.lower(&self.floors);
                return Ok(answer);
            }
            if matches!(told, Err(Failure::Again(_) | Failure::Broken(_))) {
                tx.rollback().await;
            }
            tokio::time::sleep(wait + self.jitter(wait)).await;
            wait = (wait * 2).min(WAIT_MAX);
        }
        Err(Failure::NotKnown(why))
    }

    async fn try_once<W: Work>(&self, work: &W) -> Result<W::Answer, Failure> {
        let tx = self.begin().await?;
        let done = match work.run(&tx).await {
            Ok(answer) => tx.commit_if_open().await.map(|()| answer),
            Err(failure) => Err(failure),
        };
        match done {
            Ok(_) => tx.lower(&self.floors),
            Err(Failure::Again(_) | Failure::Broken(_)) => tx.rollback().await,
            Err(_) => {}
        }
        done
    }
}
