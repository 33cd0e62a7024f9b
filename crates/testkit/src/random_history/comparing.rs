//! What both stores show, compared.

use counterfoil_core::domain::laws::{Totals, law, of_command, of_lane, of_totals};
use counterfoil_core::domain::{Destination, Micros};
use counterfoil_core::port::Store;
use counterfoil_core::port::read::{Facts, FactsFrom, Filter, Story};

use super::{Both, DESTINATIONS};
use crate::exercise_store::Hands;

impl<H: Hands> Both<H> {
    pub(super) async fn compare(&mut self) {
        let (memory, store) = (&self.memory, &self.store);
        assert_eq!(store.status().await, memory.status().await);
        assert_eq!(counted(store).await, counted(memory).await);
        let served = DESTINATIONS.map(|name| Destination::new(name).unwrap());
        assert_eq!(store.remaining(&served[1..]).await, memory.remaining(&served[1..]).await);
        assert_eq!(store.next_due(&served[..2]).await, memory.next_due(&served[..2]).await);
        assert_eq!(store.lane_facts(None, 99).await, memory.lane_facts(None, 99).await);
        assert_eq!(store.event_facts(None, 99).await, memory.event_facts(None, 99).await);
        let facts = FactsFrom { n: 2, open_only: false };
        let told = bare(store.facts(facts, 7).await.unwrap());
        assert_eq!(told, bare(memory.facts(facts, 7).await.unwrap()));
        for command in store.facts(FactsFrom::default(), 999).await.unwrap().commands {
            let mut broken = of_command(&command);
            // Reports may well say two things here.
            broken.retain(|violation| violation.code != law::CONTRADICTED.code);
            assert_eq!(broken, [], "{command:#?}");
        }
        for totals in store.totals().await.unwrap() {
            assert_eq!(of_totals(&totals), []);
        }
        for lane in store.lane_facts(None, 99).await.unwrap() {
            assert_eq!(of_lane(&lane), [], "{lane:?}");
        }
        let open = FactsFrom { n: 3, open_only: true };
        let told = bare(store.facts(open, 3).await.unwrap());
        assert_eq!(told, bare(memory.facts(open, 3).await.unwrap()));
        let state = self.dice.pick(&[
            None,
            Some("parked".to_owned()),
            Some("pending".into()),
            Some("completed".into()),
        ]);
        let filter = Filter { state, limit: 5, ..Filter::default() };
        assert_eq!(store.list(filter.clone()).await, memory.list(filter).await);
        let id = self.ids();
        let story = |told: Result<Option<Story>, _>| {
            let mut story = told.unwrap();
            let receipts = story.iter_mut().flat_map(|story| &mut story.receipts);
            receipts.for_each(|receipt| receipt.digest = None);
            story
        };
        let told = story(self.store.show(&id).await);
        assert_eq!(told, story(self.memory.show(&id).await), "{id}");
        let ids = [id];
        assert_eq!(self.store.known(&ids).await, self.memory.known(&ids).await);
    }
}

/// The totals, without counts of nothing.
async fn counted(store: &impl Store) -> Vec<Totals> {
    let mut totals = store.totals().await.unwrap();
    for totals in &mut totals {
        totals.tally.retain(|(_, counted, found)| (*counted, *found) != (0, 0));
    }
    totals
}

/// Without the digests: the store in memory keeps those of settles only. What an arrival counts is
/// each store's own.
fn bare(mut facts: Facts) -> Facts {
    facts.now = Micros::default();
    for command in &mut facts.commands {
        if let Some(delivery) = &mut command.delivery {
            (delivery.digest, delivery.row_digest) = (None, None);
        }
        for receipt in &mut command.receipts {
            (receipt.arrival, receipt.digest, receipt.row_digest) = (0, None, None);
        }
        command.attempts.iter_mut().for_each(|attempt| attempt.arrival = 0);
        command.contradictions.iter_mut().for_each(|said| said.arrival = 0);
    }
    facts
}
