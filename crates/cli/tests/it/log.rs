//! What is talked on stderr: lines for people, in colour where a person looks.

use std::process::{Command, Stdio};

use crate::program::{Desk, Said, run};

/// Runs the relay as somebody at a terminal would: both of its outputs are one.
fn at_a_terminal(desk: &Desk, no_color: Option<&str>) -> Said {
    let mut command = Command::new("python3");
    let spawn = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";
    command.args(["-c", spawn, env!("CARGO_BIN_EXE_counterfoil"), "relay", "--until-idle"]);
    command.current_dir(desk.path(".")).stdin(Stdio::null());
    command.env_remove("COUNTERFOIL_LOG").env_remove("COUNTERFOIL_STORE").env_remove("NO_COLOR");
    command.env("TERM", "xterm");
    if let Some(value) = no_color {
        command.env("NO_COLOR", value);
    }
    run(command)
}

#[test]
fn lines_for_people_name_level_command_and_destination_and_leave_stdout_alone() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "");
    desk.enqueue("A");
    let mut command = desk.command(&["relay", "--until-idle", "-v"]);
    command.env_remove("NO_COLOR");
    let said = run(command);
    assert_eq!(said.is_done().out, "");
    assert!(!said.err.contains('\x1b'), "no colour where nobody looks: {said:?}");
    let settled: Vec<_> = said.err.lines().filter(|line| line.contains(" settled ")).collect();
    assert_eq!(settled.len(), 1, "{said:?}");
    for word in ["DEBUG", "command=A", "destination=shipping", "outcome=\"completed\""] {
        assert!(settled[0].contains(word), "{word}: {}", settled[0]);
    }
    assert!(!settled[0].contains("trace_id"), "nothing was traced: {}", settled[0]);
    assert!(said.err.lines().all(|line| line.starts_with("20")), "a time first: {said:?}");
}

#[test]
fn colour_is_for_terminals_and_no_color_switches_it_off() {
    let desk = Desk::new();
    desk.configure(9, "\"forever\"", "");
    let coloured = at_a_terminal(&desk, None);
    assert!(coloured.is_done().out.contains("\x1b["), "{coloured:?}");
    assert!(at_a_terminal(&desk, Some("")).out.contains("\x1b["), "empty is as not set");
    let plain = at_a_terminal(&desk, Some("1"));
    assert!(plain.is_done().out.contains("relay started"), "{plain:?}");
    assert!(!plain.out.contains('\x1b'), "{plain:?}");
}
