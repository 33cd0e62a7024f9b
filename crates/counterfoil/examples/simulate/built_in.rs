//! Workflows that every second day of the simulator has beside its commands.
//!
//! Guarantees: they use all that a decision can say: events, commands in lanes, timers short and
//! long, cancels, an end. Does not: stand for good programs.

use std::sync::Arc;

use counterfoil::testing::simulation::{Asked, SimAnswer, SimFlows};
use counterfoil::workflow::{
    Decision, Input, InputKind, NewInput, Programs, ProgramsRefused, Saga, Step, Unnamed, What,
    Workflow,
};
use counterfoil::{CommandRefused, Destination, IdRefused, OrderingKey, Span, Stream};
use serde::{Deserialize, Serialize};

const DAY: Span = Span::from_secs(86_400);

fn pay(kind: &str, trip: &String) -> Result<Unnamed, CommandRefused> {
    let mut paid = Unnamed::json("bank", kind, trip)?;
    paid.command.ordering_key = OrderingKey::new("account").ok();
    Ok(paid)
}

fn ask(kind: &str, trip: &String) -> Result<Unnamed, CommandRefused> {
    Unnamed::json("agency", kind, trip)
}

fn trip() -> Saga<String> {
    Saga::new("trip")
        .step(
            Step::new("budget", |trip: &String, _| pay("lock", trip))
                .undo(|trip, _| pay("release", trip)),
        )
        .group(vec![
            Step::new("flight", |trip: &String, _| ask("flight", trip))
                .undo(|trip, _| ask("no flight", trip))
                .within(Span::from_secs(20)),
            Step::new("hotel", |trip: &String, _| ask("hotel", trip))
                .undo(|trip, _| ask("no hotel", trip)),
        ])
        .wait("approve", Span::from_secs(40))
        .step(Step::new("charge", |trip: &String, _| pay("charge", trip)))
}

/// Reminds once a day, three times or until it is paid.
struct Reminder;

#[derive(Serialize, Deserialize)]
enum Sent {
    Sent,
}

impl Workflow for Reminder {
    type State = u32;
    type Event = Sent;

    fn name(&self) -> &'static str {
        "reminder"
    }

    fn evolve(&self, sent: u32, _: &Sent) -> u32 {
        sent + 1
    }

    fn decide(&self, sent: &u32, input: &Input) -> Decision<Sent> {
        match &input.what {
            What::Start { .. } => Decision::none().timer_after("next", DAY),
            What::Timer { .. } if *sent < 3 => match Unnamed::json("agency", "remind", sent) {
                Ok(mail) => {
                    let mail = mail.labelled(format!("reminder {sent}"));
                    Decision::none().event(Sent::Sent).command(mail).timer_after("next", DAY)
                }
                Err(why) => Decision::none().fail(why.to_string()),
            },
            What::Timer { .. } => Decision::none().complete(*sent),
            What::Signal { .. } => Decision::none().unset("next").complete("paid"),
            What::Cancel { reason } => Decision::none().fail(reason),
            _ => Decision::none(),
        }
    }
}

/// Asks two agencies, takes the first that agrees, and takes the other question back.
struct Race;

impl Workflow for Race {
    type State = u32;
    type Event = Sent;

    fn name(&self) -> &'static str {
        "race"
    }

    fn evolve(&self, heard: u32, _: &Sent) -> u32 {
        heard + 1
    }

    fn decide(&self, heard: &u32, input: &Input) -> Decision<Sent> {
        let offer = |kind: &str| ask(kind, &"offer".to_owned());
        match &input.what {
            What::Start { .. } => match (offer("one"), offer("other")) {
                (Ok(one), Ok(other)) => Decision::none().command(one).command(other),
                _ => Decision::none().fail("no command"),
            },
            What::Receipt(receipt) if *heard == 0 => {
                let other = if receipt.label == "one" { "other" } else { "one" };
                Decision::none().event(Sent::Sent).cancel(other)
            }
            What::Receipt(_) => Decision::none().complete("both are known"),
            What::Cancel { reason } => Decision::none().fail(reason),
            _ => Decision::none(),
        }
    }
}

/// The programs.
pub(crate) fn programs() -> Result<Programs, ProgramsRefused> {
    Programs::new().with(trip())?.with(Reminder)?.with(Race)
}

/// `SplitMix64`, Steele et al. 2014.
const fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The workflows of a seed; `None`: it has none.
pub(crate) fn flows(seed: u64) -> Result<Option<SimFlows>, IdRefused> {
    let drawn = mixed(seed);
    if drawn.is_multiple_of(2) {
        return Ok(None);
    }
    let mut inputs = Vec::new();
    for at in 0..1 + drawn / 2 % 4 {
        let stream = Stream::new(format!("flow-{at}"))?;
        let draw = mixed(seed ^ (at + 1));
        let name = ["trip", "trip", "reminder", "race"][usize::try_from(draw % 4).unwrap_or(0)];
        let mut comes = |secs: u64, id: &str, kind, name: &str| {
            let (stream, id, name) = (stream.clone(), id.to_owned(), name.to_owned());
            let body = Some(b"\"Oslo\"".to_vec());
            let after = Span::from_secs(i64::try_from(secs).unwrap_or(0));
            inputs.push((after, NewInput { stream, id, kind, name, body }));
        };
        comes(0, "start", InputKind::Start, name);
        match draw / 4 % 4 {
            0 => comes(draw / 16 % 120, "rain", InputKind::Cancel, "cancel"),
            1 if name == "reminder" => comes(100_000, "bank", InputKind::Signal, "paid"),
            1 | 2 => comes(draw / 16 % 60, "boss", InputKind::Signal, "approve"),
            _ => {}
        }
    }
    let answers = move |asked: Asked<'_>| {
        let text = format!("{}/{}/{}", asked.stream, asked.kind, asked.nth);
        let drawn = text.bytes().fold(seed, |sum, byte| mixed(sum ^ u64::from(byte)));
        if drawn.is_multiple_of(8) {
            SimAnswer::Refused("drawn".into())
        } else {
            SimAnswer::Done(b"{\"seat\":\"12A\"}".to_vec())
        }
    };
    let receivers = vec![Destination::new("bank")?, Destination::new("agency")?];
    let answers = Arc::new(answers);
    Ok(Some(SimFlows { receivers, inputs, answers, is_alone: false, may_wait: true }))
}
