//! The laws that are not about one command: of events, lanes, totals, tombstones and acts.
//!
//! Guarantees: each has a sound sample that is silent. Does not: read a store.

use super::*;

fn codes(violations: Vec<Violation>) -> Vec<&'static str> {
    violations.into_iter().map(|violation| violation.code).collect()
}

#[test]
fn an_event_follows_the_one_before_and_has_its_commands() {
    let sound = EventFacts {
        stream: "o-1".into(),
        seq: 3,
        seq_before: 2,
        commands: 2,
        found: 2,
        body: BodyFacts::default(),
    };
    assert_eq!(of_event(&sound), []);
    let gap = EventFacts { seq_before: 1, ..sound.clone() };
    assert_eq!(codes(of_event(&gap)), [law::EVENT_GAP.code]);
    let lost = EventFacts { found: 1, ..sound };
    assert_eq!(codes(of_event(&lost)), [law::EVENT_COMMANDS.code]);
    assert!(of_event(&lost)[0].text.contains("issued 2 commands, but 1 stand"));
}

#[test]
fn a_lane_is_dense_and_has_one_in_flight() {
    let sound = LaneFacts {
        destination: "shop".into(),
        ordering_key: "A".into(),
        last: Some(4),
        places: 4,
        commands: 4,
        newest: 4,
        in_flight: 1,
        archived: false,
    };
    assert_eq!(of_lane(&sound), []);
    let gap = LaneFacts { places: 3, commands: 3, ..sound.clone() };
    assert_eq!(codes(of_lane(&gap)), [law::LANE_ORDER.code]);
    assert_eq!(of_lane(&LaneFacts { archived: true, ..gap }), []);
    let twice = LaneFacts { places: 3, ..sound.clone() };
    assert_eq!(codes(of_lane(&twice)), [law::LANE_ORDER.code]);
    let beyond = LaneFacts { last: Some(3), archived: true, ..sound.clone() };
    assert_eq!(codes(of_lane(&beyond)), [law::LANE_ORDER.code]);
    let both = LaneFacts { in_flight: 2, ..sound };
    assert_eq!(codes(of_lane(&both)), [law::LANE_IN_FLIGHT.code]);
}

#[test]
fn a_tombstone_keeps_the_digest_of_its_columns() {
    let (one, other) = (Digest::of(b"one"), Digest::of(b"other"));
    assert_eq!(of_tombstone("a", Some(one), one), []);
    assert_eq!(codes(of_tombstone("a", Some(other), one)), [law::TOMBSTONE_CHANGED.code]);
    assert_eq!(codes(of_tombstone("a", None, one)), [law::TOMBSTONE_CHANGED.code]);
    assert_eq!(codes(of_tombstone("", Some(one), one)), [law::NUMBER.code]);
}

#[test]
fn what_came_has_a_number_from_1_on() {
    assert_eq!(of_arrival(1, "a", "`retry`"), None);
    for arrival in [0, -1, i64::MIN] {
        let violation = of_arrival(arrival, "a", "`retry`").unwrap();
        assert_eq!((violation.code, violation.ids), (law::NUMBER.code, vec!["a".into()]));
    }
}

#[test]
fn an_act_is_about_a_command_unless_it_is_about_something_else() {
    assert_eq!(of_action("resolve", "a", true), []);
    assert_eq!(of_action("pause", "shop", false), []);
    assert_eq!(codes(of_action("resolve", "a", false)), [law::ORPHAN_ACTION.code]);
    assert_eq!(codes(of_action("mend", "a", false)), [law::ORPHAN_ACTION.code]);
}

#[test]
fn totals_add_up() {
    let tally = |one, other| vec![("completed".to_owned(), one, other)];
    let sound =
        Totals { destination: "shop".into(), outbox: 4, archived: 1, open: 2, tally: tally(3, 3) };
    assert_eq!(of_totals(&sound), []);
    let lost = Totals { open: 1, ..sound.clone() };
    assert_eq!(codes(of_totals(&lost)), [law::TOTALS.code]);
    let miscounted = Totals { tally: tally(3, 2), ..sound };
    assert_eq!(codes(of_totals(&miscounted)), [law::TALLY.code]);
}
