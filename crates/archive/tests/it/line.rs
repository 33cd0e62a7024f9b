//! A line holds an entry exactly, whatever stands in it.

use counterfoil_archive::{decode, encode};
use counterfoil_core::domain::laws::{AttemptFacts, ContradictionFacts, ReceiptFacts};
use counterfoil_core::domain::{
    CommandId, Destination, Digest, Kind, Micros, OrderingKey, OutboxRow, Receipt, ReceiptOutcome,
    Stream, Token,
};
use counterfoil_core::port::archive::{ActionRow, Entry};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![any::<Vec<u8>>(), any::<String>().prop_map(String::into_bytes)]
}

fn name() -> impl Strategy<Value = String> {
    "[ -~ä订\u{1f980}\"\\\\]{1,40}"
}

fn time() -> impl Strategy<Value = Micros> {
    any::<i64>().prop_map(Micros::new)
}

fn digest() -> impl Strategy<Value = Digest> {
    any::<u64>().prop_map(|seed| Digest::of(&seed.to_be_bytes()))
}

prop_compose! {
    fn receipt(n: i64)(
        round in 1..9_u32,
        outcome in proptest::sample::select(&ReceiptOutcome::ALL[..]),
        result in option::of(bytes()),
        texts in (option::of(any::<String>()), any::<String>(), any::<String>()),
        numbers in (any::<u32>(), any::<i64>(), any::<i64>(), option::of(any::<i64>())),
        times in (option::of(time()), time()),
        digests in (option::of(digest()), option::of(digest())),
    ) -> ReceiptFacts {
        let (evidence, source, destination) = texts;
        let (attempts, token, arrival, key_seq) = numbers;
        let receipt = Receipt {
            n, round, outcome, result, evidence, source, attempts, token: Token::new(token),
            first_sent_at: times.0, recorded_at: times.1, key_seq,
        };
        ReceiptFacts { arrival, receipt, destination, digest: digests.0, row_digest: digests.1 }
    }
}

prop_compose! {
    fn attempt()(
        numbers in (any::<i64>(), any::<i64>(), any::<u32>()),
        texts in (option::of(any::<String>()), any::<String>(), any::<String>()),
        times in (option::of(time()), time()),
    ) -> AttemptFacts {
        let ((arrival, token, round), (reason, purpose, outcome)) = (numbers, texts);
        let (started_at, ended_at) = times;
        AttemptFacts { arrival, token, started_at, reason, round, purpose, outcome, ended_at }
    }
}

prop_compose! {
    fn said()(
        numbers in (any::<i64>(), any::<u32>()),
        result in option::of(bytes()),
        texts in (option::of(any::<String>()), any::<String>(), any::<String>()),
        recorded_at in time(),
    ) -> ContradictionFacts {
        let ((arrival, round), (evidence, source, outcome)) = (numbers, texts);
        ContradictionFacts { arrival, result, evidence, source, round, outcome, recorded_at }
    }
}

prop_compose! {
    fn act()(
        arrival in any::<i64>(),
        names in (any::<String>(), any::<String>(), any::<String>()),
        texts in (option::of(any::<String>()), option::of(any::<String>()), option::of(any::<String>())),
        recorded_at in time(),
    ) -> ActionRow {
        let ((verb, about, actor), (reason, before, after)) = (names, texts);
        ActionRow { arrival, verb, about, actor, reason, before, after, recorded_at }
    }
}

prop_compose! {
    fn outbox()(
        n in any::<i64>(),
        names in (name(), option::of(name()), name(), name(), option::of(name())),
        place in (option::of(any::<i64>()), option::of(any::<i64>())),
        body in bytes(),
        texts in (any::<String>(), option::of(any::<String>()), option::of(any::<String>())),
        times in (option::of(time()), option::of(time()), time()),
    ) -> OutboxRow {
        let (command_id, stream, destination, kind, key) = names;
        let (content_type, headers, core_digest) = texts;
        OutboxRow {
            n,
            command_id: CommandId::new(command_id).unwrap(),
            stream: stream.map(|it| Stream::new(it).unwrap()),
            seq: place.0,
            idx: place.1,
            destination: Destination::new(destination).unwrap(),
            kind: Kind::new(kind).unwrap(),
            ordering_key: key.map(|it| OrderingKey::new(it).unwrap()),
            body, content_type, headers, core_digest,
            not_before: times.0,
            expires_at: times.1,
            recorded_at: times.2,
        }
    }
}

fn entry() -> impl Strategy<Value = Entry> {
    outbox().prop_flat_map(|outbox| {
        let lists = (
            vec(receipt(outbox.n), 0..3),
            vec(attempt(), 0..3),
            vec(said(), 0..3),
            vec(act(), 0..3),
            option::of(time()),
        );
        lists.prop_map(move |(receipts, attempts, contradictions, actions, erased_at)| Entry {
            outbox: outbox.clone(),
            erased_at,
            receipts,
            attempts,
            contradictions,
            actions,
        })
    })
}

proptest! {
    #[test]
    fn an_entry_comes_back_exactly(entry in entry()) {
        let line = encode(&entry);
        prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "one line");
        prop_assert_eq!(line.last(), Some(&b'\n'));
        let read = decode(&line).unwrap();
        prop_assert_eq!(&read, &entry);
        prop_assert_eq!(encode(&read), line);
    }
}

#[test]
fn what_is_no_line_is_refused_without_its_content() {
    for line in ["", "{}", "null", "{\"n\":1,\"secret\":\"hunter2\"}", "\u{fffd}"] {
        let refused = decode(line.as_bytes()).unwrap_err();
        assert!(!refused.contains("hunter2") && !refused.is_empty(), "{refused}");
    }
}
