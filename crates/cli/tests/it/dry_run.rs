//! `transport = "log"`: a whole run of the program that delivers nowhere, and says so.

use crate::program::Desk;

#[test]
fn a_dry_run_logs_each_command_and_every_verb_says_that_it_went_nowhere() {
    let desk = Desk::new();
    desk.write(
        "counterfoil.toml",
        "[store]\nurl = \"sqlite:orders.db\"\n\
                [destination.shipping]\ntransport = \"log\"\n",
    );
    desk.enqueue("order:1");
    let relay = desk.run(&["relay", "--until-idle"]);
    relay.is_done();
    let lines = |words: &str| relay.err.lines().filter(|line| line.contains(words)).count();
    assert_eq!(lines("delivered nowhere; write transport"), 1, "{relay:?}");
    assert_eq!(lines("logged, not delivered"), 1, "{relay:?}");
    assert!(relay.err.contains("order:1"), "{relay:?}");
    assert_eq!(desk.show("order:1")["state"], "completed");
    let evidence = desk.show("order:1")["receipts"][0]["evidence"].clone();
    assert_eq!(evidence, "written to the log, delivered nowhere");
    let status = desk.run(&["status"]);
    assert!(status.out.contains("shipping: transport = \"log\", so what is"), "{status:?}");
    let doctor = desk.run(&["doctor"]);
    assert!(doctor.out.contains("delivered nowhere"), "{doctor:?}");
    assert_eq!(doctor.code, Some(0), "a dry run is no fault: {doctor:?}");
}
