//! One store, one destination and its terms: what nearly every case begins with.
//!
//! Guarantees: a failure names what was being done. Does not: check rules; cases do.

use std::sync::Arc;

use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    Asking, Command, CommandId, Contract, Destination, Idempotent, Outcome, ReceiptOutcome,
    ResultBody, Seed, Span, Terms, Token,
};
use counterfoil_core::port::Store;
use counterfoil_core::port::read::{Listed, Story};
use counterfoil_core::port::store::{
    ClaimFrom, Claimed, Declared, Ended, Exchange, Exchanged, Recorded, Reported, Settle, Settled,
};

use super::Hands;

/// The destination of a scene.
pub(super) const SHOP: &str = "shop";
/// Who claims.
const OWNER: &str = "relay-1";

/// Terms of a receiver that remembers keys for ever.
pub(super) fn forever() -> Terms {
    Terms::new(Contract::new(Idempotent::Forever))
}

/// Terms of a receiver that remembers keys for a day.
pub(super) fn window() -> Terms {
    Terms::new(Contract::new(Idempotent::Window { key_ttl: Span::from_secs(86_400) }))
}

/// Terms of a receiver without keys.
pub(super) fn keyless() -> Terms {
    Terms::new(Contract::new(Idempotent::No))
}

/// Terms of a receiver without keys that can be asked.
pub(super) fn askable() -> Terms {
    let mut terms = keyless();
    terms.contract.ask = Some(Asking { max_asks: 3, ..Asking::new(Span::from_secs(60)) });
    terms
}

pub(super) fn completed() -> Outcome {
    completed_with("done")
}

pub(super) fn completed_with(result: &str) -> Outcome {
    Outcome::Completed { result: ResultBody::whole(result), evidence: "HTTP 200".into() }
}

pub(super) fn destination(name: &str) -> Destination {
    Destination::new(name).unwrap()
}

/// A command to the shop.
pub(super) fn command(id: &str) -> Command {
    command_to(id, SHOP)
}

pub(super) fn command_to(id: &str, to: &str) -> Command {
    Command::bytes(id, to, "order.paid", format!("body of {id}")).unwrap()
}

pub(super) fn report(outcome: ReceiptOutcome, token: Option<Token>) -> Report {
    Report {
        outcome,
        result: Some(b"job 7".to_vec()),
        evidence: Some("the worker said so".into()),
        source: "report".into(),
        token,
        equals_earlier: false,
    }
}

/// A store with one declared destination.
pub(super) struct Scene<H: Hands> {
    pub(super) hands: H,
    pub(super) store: H::Store,
    pub(super) terms: Arc<Terms>,
}

impl<H: Hands> Scene<H> {
    pub(super) async fn new(hands: H, terms: Terms) -> Self {
        let store = hands.store();
        let scene = Self { hands, store, terms: Arc::new(terms) };
        scene.declare(SHOP, false).await;
        scene
    }

    pub(super) async fn declare(&self, name: &str, replace: bool) {
        let contract = &self.terms.contract;
        let declared = self.store.declare(&destination(name), contract, replace).await.unwrap();
        assert_eq!(declared, Declared::Agreed, "declaring {name}");
    }

    /// The same store under other terms of this relay's own.
    pub(super) fn with_terms(mut self, terms: Terms) -> Self {
        self.terms = Arc::new(terms);
        self
    }

    pub(super) async fn enqueue(&self, id: &str) {
        self.enqueue_to(id, SHOP).await;
    }

    pub(super) async fn enqueue_to(&self, id: &str, to: &str) {
        let answers = self.store.enqueue(vec![command_to(id, to)]).await.unwrap();
        assert_eq!(answers, [Ok(Recorded::Recorded)], "enqueue of {id}");
    }

    pub(super) fn claim_from(&self, name: &str, limit: usize) -> ClaimFrom {
        let terms = Arc::clone(&self.terms);
        ClaimFrom { destination: destination(name), limit, terms }
    }

    pub(super) fn claims(&self, limit: usize) -> Exchange {
        self.claims_from(vec![self.claim_from(SHOP, limit)], limit)
    }

    pub(super) fn claims_from(&self, claim_from: Vec<ClaimFrom>, claim_limit: usize) -> Exchange {
        Exchange { claim_from, claim_limit, owner: OWNER.into(), seed: 7, ..Exchange::default() }
    }

    pub(super) async fn exchange(&self, exchange: Exchange) -> Exchanged {
        self.store.exchange(exchange).await.unwrap()
    }

    /// One look at what is due, with room for ten claims.
    pub(super) async fn look(&self) -> Exchanged {
        self.exchange(self.claims(10)).await
    }

    /// Claims what is due: exactly one command.
    pub(super) async fn claim(&self) -> Claimed {
        let mut claimed = self.look().await.claimed;
        assert_eq!(claimed.len(), 1, "claims: {claimed:?}");
        claimed.remove(0)
    }

    /// Records a command and claims it.
    pub(super) async fn claimed(&self, id: &str) -> Claimed {
        self.enqueue(id).await;
        let claimed = self.claim().await;
        assert_eq!(claimed.command.command_id.as_str(), id);
        claimed
    }

    pub(super) fn settling(&self, claimed: &Claimed, ended: Ended) -> Settle {
        Settle {
            claimed: claimed.clone(),
            ended,
            started_at: self.store.now().unwrap(),
            burns: true,
            seed: Seed(3),
            terms: Arc::clone(&self.terms),
        }
    }

    pub(super) async fn end(&self, claimed: &Claimed, ended: Ended) -> Settled {
        let settles = vec![self.settling(claimed, ended)];
        let mut done = self.exchange(Exchange { settles, ..Exchange::default() }).await;
        assert_eq!(done.settled.len(), 1, "one answer a settle");
        done.settled.remove(0)
    }

    pub(super) async fn settle(&self, claimed: &Claimed, outcome: Outcome) -> Settled {
        self.end(claimed, Ended::Outcome(outcome)).await
    }

    /// Records, claims and settles in one go.
    pub(super) async fn sent(&self, id: &str, outcome: Outcome) -> (Claimed, Settled) {
        let claimed = self.claimed(id).await;
        let settled = self.settle(&claimed, outcome).await;
        (claimed, settled)
    }

    pub(super) async fn report(&self, id: &str, outcome: ReceiptOutcome) -> Reported {
        let id = CommandId::new(id).unwrap();
        self.store.report(&id, report(outcome, None)).await.unwrap()
    }

    pub(super) async fn fenced(&self, id: &str, token: Token) -> Reported {
        let id = CommandId::new(id).unwrap();
        let fenced = report(ReceiptOutcome::Completed, Some(token));
        self.store.report(&id, fenced).await.unwrap()
    }

    pub(super) fn advance(&self, secs: i64) {
        self.hands.advance(Span::from_secs(secs));
    }

    pub(super) async fn story(&self, id: &str) -> Story {
        let story = self.store.show(id).await.unwrap();
        story.unwrap_or_else(|| panic!("no story of {id}"))
    }

    pub(super) async fn listed(&self, id: &str) -> Listed {
        self.story(id).await.listed
    }

    pub(super) async fn state(&self, id: &str) -> String {
        self.listed(id).await.state
    }

    /// The names of what was tried, oldest first, as `what outcome`.
    pub(super) async fn tries(&self, id: &str) -> Vec<String> {
        let tries = self.story(id).await.tries;
        tries.into_iter().map(|told| format!("{} {}", told.what, told.outcome)).collect()
    }
}

/// The ids of what was claimed, in order.
pub(super) fn ids(claimed: &[Claimed]) -> Vec<&str> {
    claimed.iter().map(|claimed| claimed.command.command_id.as_str()).collect()
}
