//! How soon a lane goes on that a stranger's statement has freed: counted in sweeps, which a relay
//! makes once a second.

use std::sync::Arc;

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::{
    Command, Contract, Event, Idempotent, OrderingKey, Outcome, Stream, Terms,
};
use counterfoil_core::port::store::{
    Append, ClaimFrom, Claimed, Ended, Exchange, Settle, Settled, Swept, WriteRefused,
};
use counterfoil_core::port::{Act, Acted, Actor, Deed, Store as _};
use counterfoil_sqlite::{Options, SqliteStore};

use crate::guards::Fixture;
use crate::store::{command, completed, settle, shipping};

/// A store whose one destination has this rule and no keys, and a stranger beside it.
pub(crate) struct Shop {
    pub(crate) fixture: Fixture,
    pub(crate) store: SqliteStore,
    pub(crate) terms: Arc<Terms>,
}

impl Shop {
    pub(crate) async fn new(on_parked: OnParked) -> Self {
        let fixture = Fixture::empty();
        let store = SqliteStore::open(&fixture.path, Options::default()).unwrap();
        let mut contract = Contract::new(Idempotent::No);
        contract.on_parked = on_parked;
        store.declare(&shipping(), &contract, false).await.unwrap();
        Self { fixture, store, terms: Arc::new(Terms::new(contract)) }
    }

    async fn enqueue(&self, ids_and_keys: impl IntoIterator<Item = (String, String)>) {
        let ordered =
            |(id, key): (String, String)| command(&id).ordering_key(OrderingKey::new(key).unwrap());
        let commands = ids_and_keys.into_iter().map(ordered).collect();
        for answer in self.store.enqueue(commands).await.unwrap() {
            answer.unwrap();
        }
    }

    /// So many lanes, each with one that has the turn and one behind it: `0-1`, `0-2`, `1-1` …
    async fn lanes(&self, count: usize) {
        let both = |lane: usize| [1, 2].map(|at| (format!("{lane}-{at}"), format!("lane {lane}")));
        self.enqueue((0..count).flat_map(both)).await;
    }

    fn insert(&self, id: &str, key: &str) {
        self.fixture.ok(&format!(
            "INSERT INTO counterfoil_outbox(command_id, destination, kind, body, ordering_key) \
             VALUES ('{id}', 'shipping', 'k', 'b', '{key}')"
        ));
    }

    pub(crate) fn report(&self, id: &str) {
        let columns = "counterfoil_report(command_id, outcome)";
        self.fixture.ok(&format!("INSERT INTO {columns} VALUES ('{id}', 'completed')"));
    }

    /// How many lanes are noted for the next sweep.
    pub(crate) fn notes(&self) -> usize {
        let count = "SELECT CAST(count(*) AS TEXT) FROM counterfoil_lane_freed";
        self.fixture.text(count).parse().unwrap()
    }

    pub(crate) async fn sweep(&self, limit: usize) -> Swept {
        self.store.sweep(limit, None).await.unwrap()
    }

    pub(crate) async fn claim(&self) -> Vec<Claimed> {
        let terms = Arc::clone(&self.terms);
        let from = ClaimFrom { destination: shipping(), limit: 1000, terms };
        let (claim_from, claim_limit) = (vec![from], 1000);
        let claim = Exchange { claim_from, claim_limit, owner: "t".into(), ..Exchange::default() };
        self.store.exchange(claim).await.unwrap().claimed
    }

    async fn claimed(&self) -> Vec<String> {
        let claimed = self.claim().await.into_iter();
        claimed.map(|one| one.command.command_id.to_string()).collect()
    }

    async fn settle(&self, claimed: &Claimed, outcome: Outcome) -> Settled {
        let terms = Arc::clone(&self.terms);
        let ended = Ended::Outcome(outcome);
        let settles = vec![Settle { terms, ended, ..settle(claimed, completed()) }];
        let exchange = Exchange { settles, ..Exchange::default() };
        self.store.exchange(exchange).await.unwrap().settled.remove(0)
    }

    /// Claims the one that is due, which then waits for a person.
    async fn park(&self, id: &str) {
        let claimed = self.claim().await;
        assert_eq!(claimed.len(), 1, "{claimed:?}");
        assert_eq!(claimed[0].command.command_id.as_str(), id);
        self.settle(&claimed[0], Outcome::unknown("reset")).await;
        let state = self.store.show(id).await.unwrap().unwrap().listed.state;
        assert_eq!(state, "uncertain");
    }

    async fn retry(&self, id: &str) {
        let act = Act::Retry { may_act_twice: true };
        let deed = Deed { command_id: id.into(), act, by_filter: false };
        let ann = Actor { name: "ann".into(), reason: "asked".into() };
        let acted = self.store.act(vec![deed], ann).await.unwrap();
        assert!(matches!(acted[..], [Acted::Done { .. }]), "{acted:?}");
    }

    pub(crate) async fn is_sound(&self) {
        let report = audit(&self.store, AuditOptions::default()).await.unwrap();
        assert_eq!(report.violations, []);
    }
}

/// It used to look at a few lanes a sweep, so with ten thousand lanes this took forty.
#[tokio::test]
async fn the_next_sweep_gives_on_what_a_report_freed_among_thousands_of_lanes() {
    const LANES: usize = 3_000;
    let shop = Shop::new(OnParked::Block).await;
    shop.lanes(LANES).await;
    let mut flying = 0;
    while flying < LANES {
        flying += shop.claim().await.len();
    }
    for lane in [7, 1_500, 2_999] {
        shop.report(&format!("{lane}-1"));
        let swept = shop.sweep(10).await;
        assert_eq!((swept.promoted, swept.more), (1, false), "lane {lane}");
        assert_eq!(shop.claimed().await, [format!("{lane}-2")]);
        assert_eq!((shop.sweep(10).await, shop.notes()), (Swept::default(), 0));
    }
    shop.is_sound().await;
}

#[tokio::test]
async fn many_that_are_freed_at_once_take_one_sweep_for_each_limit() {
    let shop = Shop::new(OnParked::Block).await;
    shop.lanes(95).await;
    assert_eq!(shop.claim().await.len(), 95);
    for lane in 0..95 {
        shop.report(&format!("{lane}-1"));
    }
    for sweep in 1..=9 {
        let swept = shop.sweep(10).await;
        // Beside those that are noted it meets some by itself.
        assert!(swept.promoted >= 10 || shop.notes() == 0, "sweep {sweep}: {swept:?}");
    }
    shop.sweep(10).await;
    assert_eq!((shop.claimed().await.len(), shop.notes()), (95, 0));
}

#[tokio::test]
async fn a_report_that_frees_nobody_leaves_no_note_and_a_sweep_writes_nothing() {
    let shop = Shop::new(OnParked::Block).await;
    shop.lanes(2).await;
    shop.enqueue([("alone".into(), "A".into())]).await;
    shop.insert("free", "B");
    shop.report("alone");
    shop.report("0-2");
    shop.insert("0-3", "lane 0");
    assert_eq!(shop.notes(), 0);
    let version = || shop.fixture.text("SELECT data_version || '' FROM pragma_data_version");
    let before = version();
    assert_eq!(shop.sweep(10).await, Swept::default());
    assert_eq!(version(), before, "it only read");
    shop.report("1-1");
    assert_eq!(shop.notes(), 1);
    shop.sweep(10).await;
    assert_ne!(version(), before, "this one wrote");
}

#[tokio::test]
async fn a_parked_head_that_blocks_is_not_passed_and_its_own_report_frees_its_lane() {
    let shop = Shop::new(OnParked::Block).await;
    shop.enqueue([("a-1".into(), "A".into())]).await;
    shop.park("a-1").await;
    shop.insert("a-2", "A");
    shop.insert("a-3", "A");
    assert_eq!(shop.notes(), 1, "once a lane");
    let swept = shop.sweep(10).await;
    assert_eq!((swept, shop.notes()), (Swept::default(), 0), "looked at, and forgotten");
    assert_eq!(shop.claimed().await, [""; 0]);
    shop.report("a-1");
    assert_eq!(shop.sweep(10).await.promoted, 1);
    assert_eq!(shop.claimed().await, ["a-2"]);
    shop.is_sound().await;
}

#[tokio::test]
async fn lanes_that_stay_blocked_do_not_hold_up_one_that_is_freed() {
    let shop = Shop::new(OnParked::Block).await;
    shop.enqueue((0..50).map(|lane| (format!("{lane}-1"), format!("lane {lane:02}")))).await;
    for claimed in shop.claim().await {
        shop.settle(&claimed, Outcome::unknown("reset")).await;
    }
    shop.enqueue([1, 2].map(|at| (format!("z-{at}"), "z".into()))).await;
    for lane in 0..50 {
        shop.insert(&format!("{lane}-2"), &format!("lane {lane:02}"));
    }
    shop.report("z-1");
    assert_eq!(shop.notes(), 51);
    assert_eq!(shop.sweep(10).await.promoted, 1);
    assert_eq!((shop.claimed().await, shop.notes()), (vec!["z-2".to_owned()], 0));
}

#[tokio::test]
async fn one_behind_a_head_that_is_skipped_goes_with_the_next_sweep() {
    let shop = Shop::new(OnParked::Skip).await;
    shop.enqueue([("a-1".into(), "A".into())]).await;
    shop.park("a-1").await;
    shop.lanes(200).await;
    while !shop.claim().await.is_empty() {}
    shop.insert("a-2", "A");
    shop.insert("a-3", "A");
    let swept = shop.sweep(10).await;
    assert_eq!((swept.promoted, shop.claimed().await), (1, vec!["a-2".to_owned()]));
    shop.is_sound().await;
}

#[tokio::test]
async fn a_retried_one_goes_before_who_waits_when_a_report_frees_the_lane() {
    let shop = Shop::new(OnParked::Skip).await;
    shop.enqueue([1, 2, 3].map(|at| (format!("a-{at}"), "A".into()))).await;
    shop.park("a-1").await;
    assert_eq!(shop.claimed().await, ["a-2"]);
    shop.retry("a-1").await;
    assert_eq!(shop.claimed().await, [""; 0], "after what is in flight");
    shop.report("a-2");
    for next in ["a-1", "a-3"] {
        assert_eq!(shop.sweep(10).await.promoted, 1);
        assert_eq!(shop.claimed().await, [next]);
        shop.report(next);
    }
    assert_eq!((shop.sweep(10).await, shop.notes()), (Swept::default(), 0));
    shop.is_sound().await;
}

/// Nobody noted these lanes: the walk finds them, and walks only those where one waits.
#[tokio::test]
async fn another_contract_frees_lanes_and_the_walk_finds_them() {
    let shop = Shop::new(OnParked::Block).await;
    shop.lanes(30).await;
    for claimed in shop.claim().await {
        shop.settle(&claimed, Outcome::unknown("reset")).await;
    }
    shop.enqueue((0..500).map(|at| (format!("alone-{at}"), format!("alone {at}")))).await;
    assert_eq!(shop.sweep(100).await, Swept::default());
    let mut skips = shop.terms.contract.clone();
    skips.on_parked = OnParked::Skip;
    shop.store.declare(&shipping(), &skips, true).await.unwrap();
    let mut promoted = 0;
    for _ in 0..5 {
        promoted += shop.sweep(10).await.promoted;
    }
    assert_eq!(promoted, 30);
    shop.is_sound().await;
}

/// A decision that was refused for an id of its commands kept the places of those before it: a gap
/// in their lanes, which the audit called a lost command.
#[tokio::test]
async fn a_refused_decision_takes_no_place() {
    let shop = Shop::new(OnParked::Block).await;
    shop.store.enqueue(vec![command("s:1:2")]).await.unwrap().remove(0).unwrap();
    shop.enqueue([("b-1".into(), "B".into())]).await;
    let ordered = |key| {
        let command = Command::unnamed("shipping", "k", &1).unwrap();
        command.ordering_key(OrderingKey::new(key).unwrap())
    };
    let append = Append {
        stream: Stream::new("s").unwrap(),
        expected_seq: 0,
        events: vec![Event::json("paid", &1).unwrap()],
        commands: ["A", "B", "C"].map(ordered).into(),
    };
    let refused = shop.store.append(append).await.unwrap().unwrap_err();
    assert!(matches!(refused, WriteRefused::Conflict { .. }), "{refused:?}");
    shop.is_sound().await;
    // The numbers of what was taken back are others' now.
    shop.enqueue([("c-1".into(), "C".into()), ("a-1".into(), "A".into())]).await;
    shop.enqueue([("a-2".into(), "A".into()), ("b-2".into(), "B".into())]).await;
    assert_eq!(shop.claimed().await, ["s:1:2", "b-1", "c-1", "a-1"]);
    shop.is_sound().await;
}

/// The last lock behind the rule, whatever a program of ours gets wrong.
#[tokio::test]
async fn two_of_a_lane_cannot_have_the_turn() {
    let shop = Shop::new(OnParked::Block).await;
    shop.lanes(2).await;
    let give = "UPDATE counterfoil_delivery SET available_at = 1, turn = (SELECT l.n
        FROM counterfoil_lane l WHERE l.ordering_key = counterfoil_delivery.ordering_key)
      WHERE turn IS NULL AND ordering_key = 'lane 1'";
    let refused = shop.fixture.own.execute(give, []).unwrap_err().to_string();
    assert!(refused.contains("UNIQUE"), "{refused}");
}
