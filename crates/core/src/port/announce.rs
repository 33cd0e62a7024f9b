//! The alert that a parked command becomes: a command of its own, to where alerts are sent.
//!
//! Guarantees: one round of one command makes one alert, by its id; an alert that is parked itself
//! makes none. Does not: write; a store does, in the transaction that parks.

use serde::Serialize;

use super::exchange::ParkedNow;
use crate::domain::{Command, CommandId, Destination, Digest, Kind, Micros};

/// Where alerts are sent, and as what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announce {
    /// Where alerts are sent.
    pub destination: Destination,
    /// Their kind, such as `counterfoil.parked`.
    pub kind: Kind,
}

/// The body of an alert.
#[derive(Serialize)]
struct Alert<'a> {
    command_id: &'a str,
    destination: &'a str,
    kind: &'a str,
    state: &'a str,
    reason: &'a str,
    round: u32,
    in_doubt: bool,
    /// Microseconds UTC.
    at: i64,
}

impl Announce {
    /// The alert about a command that was parked `at` that time, called
    /// `<kind>:<command id>:<round>`; where that is no id, its second part is the SHA-256 of
    /// `<command id>:<round>`. `None` for what is an alert itself.
    #[must_use]
    pub fn alert(&self, parked: &ParkedNow, at: Micros) -> Option<Command> {
        if parked.kind == self.kind.as_str() {
            return None;
        }
        let alert = Alert {
            command_id: &parked.command,
            destination: &parked.destination,
            kind: &parked.kind,
            state: parked.state.name(),
            reason: &parked.reason,
            round: parked.round,
            in_doubt: parked.in_doubt,
            at: at.get(),
        };
        let mut command =
            Command::unnamed(self.destination.as_str(), self.kind.as_str(), &alert).ok()?;
        command.id = Some(self.id(&format!("{}:{}", parked.command, parked.round))?);
        Some(command)
    }

    fn id(&self, about: &str) -> Option<CommandId> {
        let digest = Digest::of(about.as_bytes()).to_hex();
        let names = [format!("{}:{about}", self.kind), format!("{}:{digest}", self.kind), digest];
        names.into_iter().find_map(|name| CommandId::new(name).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::State;

    fn announce(kind: &str) -> Announce {
        let kind = Kind::new(kind).unwrap();
        Announce { destination: Destination::new("ops").unwrap(), kind }
    }

    fn parked(command: &str, kind: &str) -> ParkedNow {
        ParkedNow {
            command: command.into(),
            destination: "shop".into(),
            kind: kind.into(),
            round: 2,
            in_doubt: true,
            state: State::Uncertain,
            reason: "reset".into(),
        }
    }

    fn id_of(announce: &Announce, command: &str) -> String {
        let alert = announce.alert(&parked(command, "k"), Micros::EARLIEST).unwrap();
        alert.check(10_000).unwrap();
        alert.id.unwrap().to_string()
    }

    #[test]
    fn an_alert_says_what_is_known() {
        let alert = announce("alert").alert(&parked("a", "k"), Micros::new(7)).unwrap();
        let body = concat!(
            r#"{"at":7,"command_id":"a","destination":"shop","in_doubt":true,"kind":"k","#,
            r#""reason":"reset","round":2,"state":"uncertain"}"#,
        );
        assert_eq!(String::from_utf8(alert.body.clone()).unwrap(), body);
        let to = (alert.destination.as_str(), alert.kind.as_str());
        assert_eq!((to, alert.id.unwrap().as_str()), (("ops", "alert"), "alert:a:2"));
    }

    #[test]
    fn an_alert_never_alerts() {
        assert_eq!(announce("alert").alert(&parked("a", "alert"), Micros::EARLIEST), None);
    }

    #[test]
    fn what_is_no_id_is_named_by_its_digest() {
        let longest = "i".repeat(255);
        let digest = Digest::of(format!("{longest}:2").as_bytes()).to_hex();
        assert_eq!(id_of(&announce("alert"), &longest), format!("alert:{digest}"));
        let fits = "i".repeat(255 - "alert::2".len());
        assert_eq!(id_of(&announce("alert"), &fits), format!("alert:{fits}:2"));
        assert_eq!(id_of(&announce(&"k".repeat(255)), &longest), digest);
        let control = id_of(&announce("alert"), "a\nb");
        assert_eq!(control, format!("alert:{}", Digest::of(b"a\nb:2").to_hex()));
    }
}
