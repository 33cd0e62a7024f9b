//! Seals: read as written, exact in what counts.

use super::*;
use crate::domain::laws::AttemptFacts;
use crate::domain::{
    ArchivedBody, Command, CommandId, Destination, Kind, OutboxRow, Receipt, ReceiptOutcome,
    Stream, Token,
};

fn row(n: i64) -> OutboxRow {
    let command = Command::bytes(format!("c-{n}"), "shop", "paid", "body").unwrap();
    OutboxRow {
        n,
        command_id: CommandId::new(format!("c-{n}")).unwrap(),
        stream: None,
        seq: None,
        idx: None,
        destination: Destination::new("shop").unwrap(),
        kind: Kind::new("paid").unwrap(),
        ordering_key: None,
        body: command.body,
        content_type: "application/json".into(),
        headers: None,
        core_digest: None,
        not_before: None,
        expires_at: None,
        recorded_at: Micros::new(n),
    }
}

fn entry(n: i64) -> Entry {
    let receipt = Receipt {
        n,
        round: 1,
        outcome: ReceiptOutcome::Completed,
        result: Some(b"job".to_vec()),
        evidence: Some("HTTP 200".into()),
        source: "relay".into(),
        attempts: 1,
        token: Token::new(5),
        first_sent_at: None,
        recorded_at: Micros::new(n),
        key_seq: None,
    };
    let receipt = ReceiptFacts {
        arrival: n,
        receipt,
        destination: "shop".into(),
        digest: None,
        row_digest: None,
    };
    let attempt = AttemptFacts { arrival: n, outcome: "unknown".into(), ..AttemptFacts::default() };
    let said = ContradictionFacts { arrival: n, ..ContradictionFacts::default() };
    Entry {
        outbox: row(n),
        erased_at: None,
        receipts: vec![receipt],
        attempts: vec![attempt],
        contradictions: vec![said],
        actions: vec![act(n)],
    }
}

fn act(arrival: i64) -> ActionRow {
    ActionRow {
        arrival,
        verb: "resolve".into(),
        about: format!("c-{arrival}"),
        actor: "ann".into(),
        reason: Some("looked".into()),
        before: None,
        after: None,
        recorded_at: Micros::new(arrival),
    }
}

fn up_to(n: i64) -> Horizon {
    Horizon { n, receipt: n, attempt: n, contradiction: n, action: n, event: Micros::new(n) }
}

/// A seal of these commands, up to `horizon`.
fn seal(entries: &[Entry], horizon: i64) -> Seal {
    let below = Horizon { n: i64::MIN, ..up_to(i64::MIN) };
    let mut summing = Summing::of(Window { after: below, to: up_to(horizon) });
    for entry in entries {
        let facts = CommandFacts {
            n: entry.outbox.n,
            has_outbox: true,
            erased: entry.erased_at.is_some(),
            outbox: Some(entry.outbox.clone()),
            receipts: entry.receipts.clone(),
            attempts: entry.attempts.clone(),
            ..CommandFacts::default()
        };
        summing.outbox(&facts, facts.digests().map(|digests| digests.row));
        summing.receipts(&facts, |_| true);
        summing.attempts(&facts);
        let id = entry.outbox.command_id.as_str();
        entry.contradictions.iter().for_each(|said| summing.contradiction(id, said));
        entry.actions.iter().for_each(|act| summing.action(act));
    }
    let below = entries.iter().filter(|entry| entry.outbox.n <= horizon).count();
    let recorded = BTreeMap::from([("shop".to_owned(), i64::try_from(below).unwrap())]);
    let horizon = up_to(horizon);
    let (kinds, full_at, held_at) = (Kinds::default(), Some(Micros::new(9)), Some(Micros::new(10)));
    Seal { horizon, is_whole: true, full_at, held_at, sums: summing.sums, recorded, kinds }
}

fn differs(one: &Seal, other: &Seal) -> Vec<&'static str> {
    let tables = Table::ALL.into_iter();
    let differs = |table: &Table| !one.sums.of(*table).differing(&other.sums.of(*table)).is_empty();
    tables.filter(differs).map(Table::name).collect()
}

#[test]
fn it_is_read_as_it_was_written() {
    let sealed = seal(&[entry(1), entry(2)], 2);
    assert_eq!(Seal::read(&sealed.write()), Ok(sealed));
    assert_eq!(Seal::read(&Seal::default().write()), Ok(Seal::default()));
    let older = seal(&[entry(1)], 1).write().replace("\"held_at\":10,", "");
    assert_eq!(Seal::read(&older).map(|seal| seal.held_at), Ok(None), "{older}");
}

#[test]
fn what_is_no_seal_is_told() {
    let newer = Seal::default().write().replace("\"format\":2", "\"format\":3");
    assert_eq!(Seal::read(&newer), Err(SealUnreadable::Format(3)));
    for no_seal in ["", "{}", "[]", r#"{"format":2}"#, "\u{0}"] {
        assert!(matches!(Seal::read(no_seal), Err(SealUnreadable::NoSeal(_))), "{no_seal}");
    }
    let wide = seal(&[entry(1)], 1).write().replace("\"shift\":0", "\"shift\":64");
    assert!(matches!(Seal::read(&wide), Err(SealUnreadable::NoSeal(_))));
    let more = Seal::default().write().replace("\"n\":0", "\"n\":0,\"m\":0");
    assert!(matches!(Seal::read(&more), Err(SealUnreadable::NoSeal(_))));
}

fn event() -> EventRow {
    EventRow {
        stream: Stream::new("trip-1").unwrap(),
        seq: 1,
        kind: Kind::new("start:trip").unwrap(),
        body: b"to Rome".to_vec(),
        cause: Some("start".into()),
        commands: 0,
        recorded_at: Micros::new(1),
        decided: None,
        archived: None,
    }
}

fn seal_of(events: &[EventRow]) -> Seal {
    let to = Horizon { event: Micros::new(9), ..Horizon::default() };
    let mut summing = Summing::of(Window { after: Horizon::default(), to });
    events.iter().for_each(|event| summing.event(event));
    Seal { sums: summing.sums, ..Seal::default() }
}

#[test]
fn an_event_counts_the_same_before_and_after_its_body_is_archived() {
    let sealed = seal_of(&[event()]);
    let taken = |digest: Option<Digest>| {
        let archived = Some(ArchivedBody { file: "f".into(), digest });
        seal_of(&[EventRow { body: Vec::new(), archived, ..event() }])
    };
    assert_eq!(differs(&sealed, &taken(Some(Digest::of(b"to Rome")))), [""; 0]);
    assert_eq!(differs(&sealed, &taken(Some(Digest::of(b"to Oslo")))), ["event"]);
    assert_eq!(differs(&sealed, &taken(None)), ["event"]);
    assert_eq!(differs(&sealed, &seal_of(&[EventRow { body: Vec::new(), ..event() }])), ["event"]);
}

/// In the form before, bodies counted themselves: such a sum would never be met again.
#[test]
fn a_seal_of_the_form_before_is_read_where_it_sealed_no_event() {
    let before = |seal: &Seal| seal.write().replace("\"format\":2", "\"format\":1");
    let without = seal(&[entry(1)], 1);
    assert_eq!(Seal::read(&before(&without)), Ok(without));
    assert_eq!(Seal::read(&before(&seal_of(&[event()]))), Err(SealUnreadable::Format(1)));
}

#[test]
fn each_column_of_each_row_counts() {
    let sealed = seal(&[entry(1)], 1);
    let of = |change: &dyn Fn(&mut Entry)| {
        let mut entry = entry(1);
        change(&mut entry);
        differs(&sealed, &seal(&[entry], 1))
    };
    assert_eq!(of(&|_| {}), [""; 0]);
    let outbox: [&dyn Fn(&mut Entry); 4] = [
        &|it| it.outbox.body.push(b'!'),
        &|it| it.outbox.headers = Some("{}".into()),
        &|it| it.outbox.not_before = Some(Micros::new(1)),
        &|it| it.erased_at = Some(Micros::new(1)),
    ];
    outbox.iter().for_each(|change| assert_eq!(of(change), ["outbox"]));
    let receipt: [&dyn Fn(&mut Entry); 13] = [
        &|it| it.receipts[0].receipt.round = 2,
        &|it| it.receipts[0].receipt.outcome = ReceiptOutcome::Accepted,
        &|it| it.receipts[0].receipt.result = None,
        &|it| it.receipts[0].receipt.evidence = None,
        &|it| it.receipts[0].receipt.source = "operator".into(),
        &|it| it.receipts[0].receipt.attempts = 2,
        &|it| it.receipts[0].receipt.token = Token::new(6),
        &|it| it.receipts[0].receipt.first_sent_at = Some(Micros::new(0)),
        &|it| it.receipts[0].receipt.recorded_at = Micros::new(0),
        &|it| it.receipts[0].receipt.key_seq = Some(1),
        &|it| it.receipts[0].destination = "shop2".into(),
        &|it| it.receipts[0].digest = Some(Digest::of(b"")),
        &|it| it.receipts[0].row_digest = Some(Digest::of(b"")),
    ];
    receipt.iter().for_each(|change| assert_eq!(of(change), ["receipt"]));
    let attempt: [&dyn Fn(&mut Entry); 7] = [
        &|it| it.attempts[0].round = 2,
        &|it| it.attempts[0].token = 2,
        &|it| it.attempts[0].purpose = "ask".into(),
        &|it| it.attempts[0].outcome = "not_sent".into(),
        &|it| it.attempts[0].reason = Some("r".into()),
        &|it| it.attempts[0].started_at = Some(Micros::new(1)),
        &|it| it.attempts[0].ended_at = Micros::new(1),
    ];
    attempt.iter().for_each(|change| assert_eq!(of(change), ["attempt"]));
}

#[test]
fn each_column_of_what_was_said_and_done_counts() {
    let sealed = seal(&[entry(1)], 1);
    let of = |change: &dyn Fn(&mut Entry)| {
        let mut entry = entry(1);
        change(&mut entry);
        differs(&sealed, &seal(&[entry], 1))
    };
    let said: [&dyn Fn(&mut Entry); 6] = [
        &|it| it.contradictions[0].round = 2,
        &|it| it.contradictions[0].outcome = "rejected".into(),
        &|it| it.contradictions[0].result = Some(Vec::new()),
        &|it| it.contradictions[0].evidence = Some("e".into()),
        &|it| it.contradictions[0].source = "x".into(),
        &|it| it.contradictions[0].recorded_at = Micros::new(7),
    ];
    said.iter().for_each(|change| assert_eq!(of(change), ["contradiction"]));
    let acts: [&dyn Fn(&mut Entry); 7] = [
        &|it| it.actions[0].verb = "retry".into(),
        &|it| it.actions[0].about = "c-2".into(),
        &|it| it.actions[0].actor = "bob".into(),
        &|it| it.actions[0].reason = None,
        &|it| it.actions[0].before = Some("b".into()),
        &|it| it.actions[0].after = Some("a".into()),
        &|it| it.actions[0].recorded_at = Micros::new(7),
    ];
    acts.iter().for_each(|change| assert_eq!(of(change), ["operator_action"]));
}

#[test]
fn an_archive_takes_away_what_was_at_or_below_the_horizon() {
    let all = [entry(1), entry(2), entry(3)];
    let sealed = seal(&all, 2);
    let without = sealed.clone().without(&all[1..]);
    // Contradictions and acts stay in the store; a tombstone stands for each.
    let kept = [Entry { receipts: vec![], attempts: vec![], ..entry(2) }];
    let left = seal(&[&all[..1], &kept[..]].concat(), 2);
    assert_eq!(differs(&without, &left), ["outbox", "archived"]);
    assert_eq!(without.sums.of(Table::Outbox).rows(), 1);
    assert_eq!(without.sums.of(Table::Archived).rows(), 2);
    assert_eq!(without.recorded["shop"], 3, "one above it was never counted");
    let again = without.with(&all[1..]);
    assert_eq!(differs(&again, &sealed), [""; 0]);
    assert_eq!(again.recorded, sealed.recorded);
}

#[test]
fn an_erasure_changes_what_was_at_or_below_the_horizon() {
    let mut after = entry(2);
    after.erased_at = Some(Micros::new(8));
    (after.outbox.body, after.receipts[0].receipt.result) = (Vec::new(), None);
    (after.actions[0].reason, after.contradictions[0].evidence) = (None, Some("gone".into()));
    after.actions.push(act(9));
    let before = [entry(1), entry(2)];
    let changed = seal(&before, 2).changed(&before[1], &after);
    assert_eq!(differs(&changed, &seal(&[entry(1), after.clone()], 2)), [""; 0]);
    let above = seal(&before, 1);
    assert_eq!(differs(&above.clone().changed(&before[1], &after), &above), [""; 0]);
}
