//! Lanes whose key is no UTF-8: a stranger's SQL can write it, and SQLite takes any bytes for text.
//!
//! Guarantees: what a stranger wrote parks itself, and stands in nobody's way, the audit's least.

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::port::{Act, Acted, Actor, Deed, Store as _};

use crate::lanes::Shop;
use crate::store::shipping;

/// Keys in the order of bytes: the middle one is UTF-8, and the character that stands for what is
/// none comes after it.
const KEYS: [&str; 4] = ["80", "e994ae", "efbfbd", "ff"];

fn insert(shop: &Shop, id: &str, key: &str) {
    shop.fixture.ok(&format!(
        "INSERT INTO counterfoil_outbox(command_id, destination, kind, body, ordering_key) \
         VALUES ('{id}', 'shipping', 'k', 'b', CAST(x'{key}' AS TEXT))"
    ));
}

/// The ids of those that have the turn of their lanes.
fn have_the_turn(shop: &Shop) -> String {
    shop.fixture.text(
        "SELECT coalesce(group_concat(command_id, ' '), '') FROM (SELECT o.command_id
         FROM counterfoil_delivery d JOIN counterfoil_outbox o USING (n)
         WHERE d.turn IS NOT NULL ORDER BY o.n)",
    )
}

async fn cancel(shop: &Shop, id: &str) {
    let deed = Deed { command_id: id.into(), act: Act::Cancel, by_filter: false };
    let ann = Actor { name: "ann".into(), reason: "rubbish".into() };
    let acted = shop.store.act(vec![deed], ann).await.unwrap();
    assert!(matches!(acted[..], [Acted::Done { .. }]), "{acted:?}");
}

/// The others of the lane were pending for ever, and nobody would ever have looked at them again.
#[tokio::test]
async fn a_lane_whose_key_is_no_utf8_goes_on() {
    for on_parked in [OnParked::Block, OnParked::Skip] {
        let shop = Shop::new(on_parked).await;
        for id in ["a", "b", "c", "d"] {
            insert(&shop, id, "ff41");
        }
        assert!(shop.claim().await.is_empty());
        if on_parked == OnParked::Skip {
            for id in ["a", "b", "c", "d"] {
                let state = shop.store.show(id).await.unwrap().unwrap().listed.state;
                assert_eq!(state, "dead", "{id}");
            }
            continue;
        }
        cancel(&shop, "a").await;
        assert_eq!(have_the_turn(&shop), "b");
        shop.report("b");
        assert_eq!((shop.sweep(10).await.promoted, shop.notes()), (1, 0));
        assert_eq!(have_the_turn(&shop), "c");
        let story = shop.store.show("d").await.unwrap().unwrap();
        assert_eq!(story.lane.unwrap().ahead, 1);
    }
}

/// They were looked at again and again, as long as a relay may hold the lock, once a second.
#[tokio::test]
async fn a_note_whose_key_is_no_utf8_is_looked_at_once() {
    let shop = Shop::new(OnParked::Block).await;
    for round in 1..=2 {
        for key in 0..20 {
            insert(&shop, &format!("{key}-{round}"), &format!("ff{:02x}", key + 0x80));
        }
        assert!(shop.claim().await.is_empty());
    }
    assert_eq!(shop.notes(), 20);
    assert_eq!((shop.sweep(10).await.promoted, shop.notes()), (0, 0));
}

/// Behind the first of them no lane was ever walked to.
#[tokio::test]
async fn the_walk_goes_past_keys_that_are_no_utf8() {
    let shop = Shop::new(OnParked::Block).await;
    for key in KEYS {
        insert(&shop, &format!("{key}-1"), key);
        insert(&shop, &format!("{key}-2"), key);
    }
    // What is UTF-8 is sent, and its receiver gives no answer.
    drop(shop.claim().await);
    let heads = "UPDATE counterfoil_delivery SET state = 'dead', available_at = NULL, turn = NULL,
        lease_until = NULL, lease_owner = NULL WHERE turn IS NOT NULL";
    shop.fixture.own.execute(heads, []).unwrap();
    let mut skips = shop.terms.contract.clone();
    skips.on_parked = OnParked::Skip;
    shop.store.declare(&shipping(), &skips, true).await.unwrap();
    let mut promoted = 0;
    for _ in 0..3 {
        promoted += shop.sweep(3).await.promoted;
    }
    assert_eq!((promoted, have_the_turn(&shop).as_str()), (4, "80-2 e994ae-2 efbfbd-2 ff-2"));
}

/// One such key, and no audit of the store was possible any more.
#[tokio::test]
async fn the_audit_goes_past_keys_that_are_no_utf8() {
    use counterfoil_core::audit::{AuditOptions, audit};
    let shop = Shop::new(OnParked::Block).await;
    for key in KEYS.into_iter().chain(["61ff", "61ff80", "efbfbd6666", "ff6666"]) {
        insert(&shop, key, key);
    }
    // Those behind wait for their turn, as any others do.
    for key in KEYS {
        insert(&shop, &format!("{key}-2"), key);
    }
    for page in [1, 2, 100] {
        let report = audit(&shop.store, AuditOptions::default().page(page)).await.unwrap();
        assert_eq!(report.violations, []);
        assert_eq!(report.checked.lanes, 8, "pages of {page}");
    }
    shop.is_sound().await;
}
