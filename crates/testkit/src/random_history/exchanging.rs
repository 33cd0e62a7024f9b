//! What relays do in the random histories.

use counterfoil_core::domain::{Answer, Destination, Judge, Outcome, ResultBody, Seed, Span};
use counterfoil_core::port::store::{ClaimFrom, Claimed, Ended, Exchange, Renew, Settle};
use counterfoil_core::port::{Clock as _, Store};

use super::{Both, DESTINATIONS, terms};
use crate::exercise_store::Hands;

impl<H: Hands> Both<H> {
    fn ended(&mut self, claimed: &Claimed) -> Ended {
        let text = || "because".to_owned();
        let result = ResultBody::whole(self.dice.pick(&["", "1"]));
        if claimed.delivery.asks > 0 && !self.dice.one_in(4) {
            return Ended::Answer(self.dice.pick(&[
                Answer::Done { result, evidence: text() },
                Answer::Refused { reason: text() },
                Answer::NotThere { believed: true, reason: text() },
                Answer::Unclear { reason: text() },
            ]));
        }
        if self.dice.one_in(6) {
            return Ended::HandedBack;
        }
        let retry_after = self.dice.one_in(2).then_some(Span::from_secs(7));
        Ended::Outcome(self.dice.pick(&[
            Outcome::Completed { result, evidence: text() },
            Outcome::Accepted { evidence: text() },
            Outcome::Rejected { reason: text(), by: Judge::Receiver },
            Outcome::Rejected { reason: text(), by: Judge::Status },
            Outcome::NotSent { reason: text(), retry_after, misconfigured: false },
            Outcome::Unknown { reason: text(), retry_after },
            Outcome::Conflict { reason: text() },
        ]))
    }

    pub(super) async fn exchange(&mut self) {
        let announce = self.announce();
        let mut exchange =
            Exchange { owner: "me".into(), seed: 5, announce, ..Exchange::default() };
        let held = self.held.clone();
        for claimed in held {
            let terms = terms(claimed.command.destination.as_str());
            let (n, token) = (claimed.delivery.n, claimed.delivery.token);
            match self.dice.below(5) {
                0 => exchange.renewals.push(Renew { n, token, terms }),
                1 | 2 => {
                    let (ended, seed) = (self.ended(&claimed), Seed(self.dice.below(99)));
                    let started_at = self.clock.machine();
                    exchange.settles.push(Settle {
                        claimed,
                        ended,
                        started_at,
                        burns: !self.dice.one_in(4),
                        seed,
                        terms,
                    });
                }
                _ => {}
            }
        }
        // Most are settled once; some again and again, as after `NotKnown`.
        let settled: Vec<_> = exchange.settles.iter().map(|s| s.claimed.delivery.n).collect();
        let forget = !self.dice.one_in(4);
        self.held.retain(|claimed| !(forget && settled.contains(&claimed.delivery.n)));
        for name in DESTINATIONS {
            let limit = usize::try_from(self.dice.below(4)).unwrap();
            let destination = Destination::new(name).unwrap();
            exchange.claim_from.push(ClaimFrom { destination, limit, terms: terms(name) });
        }
        exchange.claim_limit = usize::try_from(self.dice.below(6)).unwrap();
        if self.settles_apart {
            let settles = std::mem::take(&mut exchange.settles);
            let renewals = std::mem::take(&mut exchange.renewals);
            let announce = exchange.announce.clone();
            let first = Exchange { settles, renewals, announce, ..Exchange::default() };
            self.at_both(first).await;
        }
        self.at_both(exchange).await;
    }

    async fn at_both(&mut self, exchange: Exchange) {
        let mut memory = self.memory.exchange(exchange.clone()).await.unwrap();
        let mut told = self.store.exchange(exchange).await.unwrap();
        for told in [&mut memory, &mut told] {
            // In any order, once; and a store that looks in batches may say more than there is.
            told.lost.sort_unstable();
            told.lost.dedup();
            told.more = false;
        }
        assert_eq!(told, memory);
        self.held.extend(memory.claimed);
    }
}
