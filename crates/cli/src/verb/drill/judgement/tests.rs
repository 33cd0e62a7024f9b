//! One balanced pair of books for each contract, and everything that unbalances it.

use super::super::book::{Received, Sent};
use super::*;

fn id(n: u32) -> String {
    command_id(&order_id(n))
}

fn completed() -> Entry {
    Entry { is_recorded: true, completed: 1, ..Entry::default() }
}

fn uncertain() -> Entry {
    let (state, reason) = (Some("uncertain".into()), "unknown: the lease ran out".into());
    Entry { is_recorded: true, state, in_doubt: true, reason, ..Entry::default() }
}

/// Four orders: three told, and one that went well.
fn balanced(contract: Contract) -> Books {
    let told = if contract == Contract::None { uncertain() } else { completed() };
    let entries = (1..=3).map(|n| (order_id(n), told.clone())).chain([(order_id(4), completed())]);
    let done: &[u32] = if contract == Contract::None { &[1, 2, 4] } else { &[1, 2, 3, 4] };
    let questions = match contract {
        Contract::Askable => {
            [("done".to_owned(), 3), ("not_there".to_owned(), 1), ("unclear".to_owned(), 1)].into()
        }
        Contract::Idempotent | Contract::None => [].into(),
    };
    Books {
        sent: Sent { orders_paid: 4, commands: 4, ..Sent::default() },
        received: Received::default(),
        questions,
        entries: entries.collect(),
        command_ids: (1..=4).map(id).collect(),
        effects: done.iter().map(|n| (id(*n), 1)).collect(),
    }
}

const ALL: [Contract; 3] = [Contract::Idempotent, Contract::Askable, Contract::None];

/// After `change` the judgement under `contract` holds `word`.
#[track_caller]
fn differs(contract: Contract, change: impl Fn(&mut Books), word: &str) {
    let mut books = balanced(contract);
    change(&mut books);
    let found = differences(&books, 4, contract).join("; ");
    assert!(found.contains(word), "{contract:?}: {word:?} is not in {found:?}");
}

fn entry(books: &mut Books, n: u32) -> &mut Entry {
    books.entries.get_mut(&order_id(n)).unwrap()
}

#[test]
fn balanced_books_have_no_difference() {
    for contract in ALL {
        assert_eq!(differences(&balanced(contract), 4, contract), Vec::<String>::new());
        let found = differences(&balanced(contract), 5, contract);
        assert_eq!(found, ["4 orders are paid, not 5"]);
    }
}

#[test]
fn what_is_lost_invented_or_doubled_differs_under_every_contract() {
    for contract in ALL {
        let differs = |change: fn(&mut Books), word| differs(contract, change, word);
        differs(|books| books.sent.open = 1, "1 commands are still open");
        differs(|books| entry(books, 4).is_recorded = false, "000004 does not stand");
        differs(|books| _ = books.effects.remove(&id(4)), "is completed, yet has 0 effects");
        differs(|books| _ = books.effects.insert(id(4), 2), "000004 has 2 effects");
        differs(|books| _ = books.effects.insert(id(1), 2), "000001 has 2 effects");
        differs(|books| entry(books, 4).completed = 0, "has 0 completed receipts");
        differs(|books| entry(books, 4).completed = 2, "has 2 completed receipts");
        differs(|books| entry(books, 4).otherwise = 1, "1 receipts that do not say completed");
        differs(|books| entry(books, 4).state = Some("dead".into()), "completed and dead at once");
        differs(|books| _ = books.command_ids.insert("x".into()), "x stands without a paid order");
        differs(|books| _ = books.effects.insert("y".into(), 1), "y has an effect without a paid");
    }
}

#[test]
fn with_keys_nothing_waits_for_a_person() {
    for state in ["uncertain", "dead", "conflict"] {
        let parked = |books: &mut Books| {
            *entry(books, 4) = Entry { state: Some(state.into()), ..uncertain() };
        };
        differs(Contract::Idempotent, parked, &format!("is {state}: unknown"));
    }
    let asked = |books: &mut Books| _ = books.questions.insert("done".into(), 1);
    differs(Contract::Idempotent, asked, "cannot be asked was");
}

#[test]
fn without_keys_a_command_may_wait_only_if_that_is_the_truth() {
    for contract in [Contract::Askable, Contract::None] {
        for effects in [0, 1] {
            let mut books = balanced(contract);
            *entry(&mut books, 4) = uncertain();
            books.effects.insert(id(4), effects);
            assert_eq!(differences(&books, 4, contract), Vec::<String>::new());
        }
        let differs = |change: fn(&mut Books), word| differs(contract, change, word);
        let dead = |books: &mut Books| {
            let state = Some("dead".into());
            *entry(books, 4) = Entry { state, in_doubt: false, ..uncertain() };
        };
        let mut books = balanced(contract);
        dead(&mut books);
        books.effects.remove(&id(4));
        assert_eq!(differences(&books, 4, contract), Vec::<String>::new());
        differs(
            |books| *entry(books, 4) = Entry { in_doubt: false, ..uncertain() },
            "uncertain, yet not in doubt",
        );
        differs(
            |books| *entry(books, 4) = Entry { reason: String::new(), ..uncertain() },
            "uncertain for no reason",
        );
        let dead_in_doubt = |books: &mut Books| {
            *entry(books, 4) = Entry { state: Some("dead".into()), ..uncertain() };
        };
        differs(dead_in_doubt, "dead, yet in doubt");
        let conflict = |books: &mut Books| {
            *entry(books, 4) = Entry { state: Some("conflict".into()), ..uncertain() };
        };
        differs(conflict, "is in conflict");
    }
    let dead = |books: &mut Books| {
        let state = Some("dead".into());
        *entry(books, 4) = Entry { state, in_doubt: false, ..uncertain() };
    };
    differs(Contract::None, dead, "is dead, yet has 1 effects");
}

/// A drill whose faults did not bite, or whose relays guessed, showed nothing.
#[test]
fn the_told_orders_end_as_their_contract_says() {
    let guessed = |books: &mut Books| *entry(books, 1) = completed();
    differs(Contract::None, guessed, "000001 must be uncertain, and is completed");
    let parked = |books: &mut Books| *entry(books, 2) = uncertain();
    differs(Contract::Askable, parked, "000002 must be completed, and is uncertain");
    for answer in ["not_there", "unclear"] {
        let unasked = |books: &mut Books| _ = books.questions.remove(answer);
        differs(Contract::Askable, unasked, "too few questions");
    }
    let once = |books: &mut Books| _ = books.questions.insert("done".into(), 2);
    differs(Contract::Askable, once, "too few questions");
    let asked = |books: &mut Books| _ = books.questions.insert("done".into(), 1);
    differs(Contract::None, asked, "cannot be asked was");
}
