//! Random histories, told alike by the SQLite store and by the store in memory.

use counterfoil_testkit::random_history::{History, first_seed, random_history, random_workflows};

use crate::suite::make;

const STEPS: usize = 150;
const HISTORIES: u64 = 12;

#[tokio::test]
async fn both_stores_tell_the_same_history() {
    let first = first_seed();
    for seed in first..first + HISTORIES {
        let history = History { seed, steps: STEPS, settles_apart: false };
        random_history(make().await, history).await;
    }
}

#[tokio::test]
async fn both_stores_tell_the_same_history_of_workflows() {
    let first = first_seed();
    for seed in first..first + HISTORIES {
        let history = History { seed, steps: 2 * STEPS, settles_apart: false };
        Box::pin(random_workflows(make().await, history)).await;
    }
}
