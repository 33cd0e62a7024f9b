//! Holds the table of `docs/state_machine.md` to the code.
//!
//! Guarantees: every state and every kind of input has a row, taken from `transition` itself.
//! Does not: write the file, unless `UPDATE_DOCS=1` is set.

use std::fmt::Write as _;
use std::path::Path;

use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::domain::{
    Answer, Completion, Delivery, Idempotent, Input, Judge, Next, OnRefusal, Outcome, Position,
    Reason, ReceiptOutcome, ResultBody, State, Terms, Token, Transition, transition,
};

use crate::shape::{
    MAX_ASKS, MAX_ATTEMPTS, NOW, STALE, TOKEN, answered, asking, before, cancel, due, ended,
    reported, resolve, settled, terms,
};

const BEGIN: &str = "<!-- generated: begin -->\n";
const END: &str = "<!-- generated: end -->\n";

/// A situation: what the contract allows, and whether the command is in doubt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Safe,
    Askable,
    Neither,
}

const WAYS: [Way; 3] = [Way::Safe, Way::Askable, Way::Neither];

/// One kind of input, in words.
struct Row {
    words: &'static str,
    input: fn(Token) -> Input,
    /// The round's attempts and questions are spent.
    spent: bool,
    change: fn(&mut Terms),
}

const fn row(words: &'static str, input: fn(Token) -> Input) -> Row {
    Row { words, input, spent: false, change: |_| {} }
}

impl Row {
    const fn spent(mut self) -> Self {
        self.spent = true;
        self
    }

    const fn under(mut self, change: fn(&mut Terms)) -> Self {
        self.change = change;
        self
    }
}

fn text() -> String {
    "words".into()
}

fn machine_rows() -> Vec<Row> {
    vec![
        row("a relay looks at it, due", |_| due(None)),
        row("a relay looks at it, due and spent", |_| due(None)).spent(),
        row("a relay looks at it, past its expiry", |_| due(Some(before(1)))),
        row("the sweep, past its expiry", |_| Input::Swept { expires_at: before(1) }),
        row("its row cannot be read", |_| Input::Unreadable { reason: text() }),
        row("handed back unsent", |token| Input::HandedBack { token }),
        row("lease renewed", |token| Input::Renewed { token }),
    ]
}

fn settle_rows() -> Vec<Row> {
    let not_sent = |token| settled(token, Outcome::not_sent("words"));
    let unknown = |token| settled(token, Outcome::unknown("words"));
    let by_status = |token| settled(token, Outcome::Rejected { reason: text(), by: Judge::Status });
    let accepted = |token| settled(token, Outcome::Accepted { evidence: text() });
    let completed = |token| {
        let result = ResultBody::default();
        settled(token, Outcome::Completed { result, evidence: text() })
    };
    vec![
        row("settled: Completed", completed),
        row("settled: Accepted", accepted),
        row("settled: Accepted, which is completion", accepted)
            .under(|terms| terms.contract.completion = Completion::Accepted),
        row("settled: Rejected by the receiver's word", |token| {
            settled(token, Outcome::Rejected { reason: text(), by: Judge::Receiver })
        }),
        row("settled: Rejected by a status, `park`", by_status),
        row("settled: Rejected by a status, `reject`", by_status)
            .under(|terms| terms.contract.on_refusal = OnRefusal::Reject),
        row("settled: NotSent", not_sent),
        row("settled: NotSent, spent", not_sent).spent(),
        row("settled: Unknown", unknown),
        row("settled: Unknown, spent", unknown).spent(),
        row("settled: Ask, an answer that a repeat would only hear again", |token| {
            settled(token, Outcome::Ask { reason: text() })
        }),
        row("settled: Conflict", |token| settled(token, Outcome::Conflict { reason: text() })),
        row("settled with a stale token: Completed", |_| {
            let result = ResultBody::default();
            settled(STALE, Outcome::Completed { result, evidence: text() })
        }),
        row("settled with a stale token: anything else", |_| {
            settled(STALE, Outcome::unknown("words"))
        }),
    ]
}

fn answer_rows() -> Vec<Row> {
    let unclear = |token| answered(token, Answer::Unclear { reason: text() });
    vec![
        row("answered: done", |token| {
            answered(token, Answer::Done { result: ResultBody::default(), evidence: text() })
        }),
        row("answered: refused", |token| answered(token, Answer::Refused { reason: text() })),
        row("answered: not there, believed", |token| {
            answered(token, Answer::NotThere { believed: true, reason: text() })
        }),
        row("answered: not there, not believed", |token| {
            answered(token, Answer::NotThere { believed: false, reason: text() })
        }),
        row("answered: in progress, or unclear", unclear),
        row("answered: in progress, or unclear, spent", unclear).spent(),
    ]
}

fn report_rows() -> Vec<Row> {
    use ReceiptOutcome::{Completed, Rejected};
    vec![
        row("reported: completed", |_| reported(Completed, None, false)),
        row("reported: rejected", |_| reported(Rejected, None, false)),
        row("reported as an earlier round's receipt says", |_| reported(Completed, None, true)),
        row("reported with the newest token", |token| reported(Completed, Some(token), false)),
        row("reported with a stale token", |_| reported(Completed, Some(STALE), false)),
    ]
}

fn verb_rows() -> Vec<Row> {
    vec![
        row("`retry`", |_| Input::Retry { may_act_twice: false, expires_at: None }),
        row("`retry --may-act-twice`", |_| Input::Retry { may_act_twice: true, expires_at: None }),
        row("`retry`, past its expiry", |_| Input::Retry {
            may_act_twice: true,
            expires_at: Some(before(1)),
        }),
        row("`resolve --completed`", |_| resolve(Verdict::Completed { result: None })),
        row("`resolve --rejected`", |_| resolve(Verdict::Rejected)),
        row("`resolve --not-done`", |_| resolve(Verdict::NotDone)),
        row("`cancel`", |_| cancel()),
        row("`redeliver`", |_| Input::Redeliver { may_act_twice: false, expires_at: None }),
        row("`redeliver --may-act-twice`", |_| Input::Redeliver {
            may_act_twice: true,
            expires_at: None,
        }),
        row("`restored`", |_| Input::Restored { at: before(3600) }),
    ]
}

fn rows() -> Vec<Row> {
    let groups = [machine_rows(), settle_rows(), answer_rows(), report_rows(), verb_rows()];
    groups.into_iter().flatten().collect()
}

fn terms_of(way: Way) -> Terms {
    let idempotent = if way == Way::Safe { Idempotent::Forever } else { Idempotent::No };
    let mut terms = terms(idempotent, way == Way::Askable);
    if way == Way::Askable {
        terms.contract.ask = Some(asking());
    }
    terms
}

fn open_at(state: State, leased: bool, in_doubt: bool, spent: bool) -> Delivery {
    let asking = state == State::Asking;
    let sent = in_doubt || matches!(state, State::Sending | State::Published);
    Delivery {
        state,
        attempts: if spent && !asking { MAX_ATTEMPTS } else { 1 },
        asks: if spent && asking { MAX_ASKS } else { 1 },
        round_since: Some(before(600)),
        in_doubt,
        available_at: (!state.is_parked()).then_some(before(1)),
        token: TOKEN,
        lease_until: leased.then_some(before(1)),
        lease_owner: leased.then(|| "relay-1".into()),
        first_sent_at: sent.then_some(before(600)),
        last_lease_until: Some(before(300)),
        ..Delivery::new(7, NOW)
    }
}

/// What became of it, in words.
fn told(position: &Position, answer: &Transition) -> String {
    let was = match position {
        Position::Open(open) => Some(open),
        Position::Ended(_) => None,
    };
    match answer {
        Transition::Applied { next: Next::Open(open), .. } => {
            let mut words = format!("→ {}", open.state.name());
            match was {
                Some(was) if open.state == was.state && open.token == was.token => {
                    words = if open.available_at == was.available_at || open.lease_until.is_some() {
                        "stays".into()
                    } else {
                        "stays, later".into()
                    };
                }
                Some(was) if open.token > was.token => words.push_str(" under a new lease"),
                _ => {}
            }
            if was.is_none_or(|was| open.round > was.round) {
                words.push_str(", new round");
            }
            match was.map(|was| (was.in_doubt, open.in_doubt)) {
                Some((false, true)) => words.push_str(", in doubt"),
                Some((true, false)) => words.push_str(", doubt cleared"),
                _ => {}
            }
            words
        }
        Transition::Applied { next: Next::Ended(receipt), .. } => {
            format!("**ends {}**", receipt.outcome.name())
        }
        Transition::Applied { next: Next::Contradicted(_), .. } => "contradiction kept".into(),
        Transition::Ignored { reason, .. } => format!("ignored: {}", short(*reason)),
        Transition::Refused(reason) => format!("refused: {}", short(*reason)),
    }
}

/// The first half of a reason; the second is the way out, which the command line prints.
fn short(reason: Reason) -> String {
    let text = reason.to_string();
    text.split([';', ':']).next().unwrap_or_default().to_owned()
}

/// The same words for several ways are said once.
fn by_way(told: &[String; 3]) -> String {
    let [safe, askable, neither] = told;
    if safe == askable && askable == neither {
        safe.clone()
    } else if askable == neither {
        format!("safe to repeat: {safe} · else: {neither}")
    } else if safe == neither {
        format!("askable: {askable} · else: {neither}")
    } else if safe == askable {
        format!("safe to repeat or askable: {safe} · else: {neither}")
    } else {
        format!("safe to repeat: {safe} · askable: {askable} · neither: {neither}")
    }
}

fn cell(row: &Row, position: impl Fn() -> Position) -> String {
    by_way(&WAYS.map(|way| {
        let mut terms = terms_of(way);
        (row.change)(&mut terms);
        let position = position();
        told(&position, &transition(&position, (row.input)(TOKEN), &terms, NOW))
    }))
}

fn table_of(title: &str, doubts: &[bool], at: impl Fn(bool, bool) -> Position) -> String {
    let mut table = format!("### {title}\n\n| input | what |\n|---|---|\n");
    let mut ignored: Vec<(String, Vec<&str>)> = Vec::new();
    for row in rows() {
        let cells: Vec<_> =
            doubts.iter().map(|in_doubt| cell(&row, || at(*in_doubt, row.spent))).collect();
        let what = match cells.as_slice() {
            [plain, doubted] if plain != doubted => {
                format!("not in doubt: {plain}<br>in doubt: {doubted}")
            }
            _ => cells[0].clone(),
        };
        let nothing = what.starts_with("ignored") || what.starts_with("refused");
        if nothing && !what.contains('·') && !what.contains("<br>") {
            match ignored.iter_mut().find(|(said, _)| *said == what) {
                Some((_, words)) => words.push(row.words),
                None => ignored.push((what, vec![row.words])),
            }
        } else {
            writeln!(table, "| {} | {what} |", row.words).unwrap();
        }
    }
    for (what, words) in ignored {
        writeln!(table, "| {} | {what} |", shortened(&words).join(" · ")).unwrap();
    }
    table
}

/// All of a kind that come to the same are named by their kind.
fn shortened<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let kinds = [("settled", "any other settle"), ("answered", "any answer")];
    let mut kept = words.to_vec();
    for (kind, name) in kinds {
        let of_kind = |words: &&&str| words.starts_with(kind);
        if kept.iter().filter(of_kind).count() > 4 {
            let first = kept.iter().position(|words| words.starts_with(kind)).unwrap_or(0);
            kept[first] = name;
            kept.retain(|words| !words.starts_with(kind));
        }
    }
    kept
}

/// Each state, and whether it holds a lease: asking does while its question is in flight.
const PLACES: [(State, bool, &str); 8] = [
    (State::Pending, false, "pending"),
    (State::Sending, true, "sending"),
    (State::Asking, false, "asking, before its question"),
    (State::Asking, true, "asking, its question in flight"),
    (State::Published, false, "published"),
    (State::Dead, false, "dead"),
    (State::Uncertain, false, "uncertain"),
    (State::Conflict, false, "conflict"),
];

fn generated() -> String {
    let mut all = String::new();
    for (state, leased, title) in PLACES {
        let doubts: &[bool] = match state {
            State::Dead => &[false],
            State::Asking | State::Uncertain => &[true],
            _ => &[false, true],
        };
        let table = table_of(title, doubts, |in_doubt, spent| {
            Position::Open(open_at(state, leased, in_doubt, spent))
        });
        all.push_str(&table);
        all.push('\n');
    }
    let sent = Some(before(600));
    for outcome in [ReceiptOutcome::Completed, ReceiptOutcome::Rejected] {
        let title = format!("ended: {}", outcome.name());
        let table = table_of(&title, &[false], |_, _| Position::Ended(ended(outcome, sent)));
        all.push_str(&table);
        all.push('\n');
    }
    all
}

#[test]
fn the_document_says_what_the_code_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/state_machine.md");
    let stands = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = stands.split_once(BEGIN).expect("a place for the generated table");
    let (table, tail) = rest.split_once(END).expect("the end of the generated table");
    let fresh = generated();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}{BEGIN}\n{fresh}{END}{tail}")).unwrap();
    } else {
        assert_eq!(table.trim(), fresh.trim(), "UPDATE_DOCS=1 cargo test writes the table anew");
    }
}

#[test]
fn every_state_and_every_outcome_has_its_place() {
    let table = generated();
    for state in State::ALL {
        assert!(table.contains(&format!("### {}", state.name())));
    }
    for outcome in crate::shape::outcomes() {
        let name = match outcome {
            Outcome::NotSent { .. } | Outcome::Busy { .. } | Outcome::Gone { .. } => "NotSent",
            Outcome::Completed { .. } => "Completed",
            Outcome::Accepted { .. } => "Accepted",
            Outcome::Rejected { .. } => "Rejected",
            Outcome::Unknown { .. } => "Unknown",
            Outcome::Ask { .. } => "Ask",
            Outcome::Conflict { .. } => "Conflict",
            other => panic!("{} has no row", other.name()),
        };
        assert!(table.contains(&format!("settled: {name}")), "{name}");
    }
}
