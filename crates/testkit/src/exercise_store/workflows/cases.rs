//! The one list of the cases that a store of workflows must pass, too.
//!
//! Guarantees: what `workflow_cases` runs and what `workflow_suite!` names is the same list. Does
//! not: hold rules; the files beside it do.

/// Makes a test of each case of the workflows' suite.
///
/// `make` names an async function without arguments that gives a fresh store's [`WorkflowHands`].
/// The tests are named `group::case`.
///
/// ```
/// # use counterfoil_testkit::exercise_store::MemoryHands;
/// async fn make() -> MemoryHands {
///     MemoryHands::default()
/// }
/// counterfoil_testkit::workflow_suite!(make);
/// # fn main() {}
/// ```
///
/// [`WorkflowHands`]: crate::exercise_store::WorkflowHands
#[macro_export]
macro_rules! workflow_suite {
    (@list $then:ident $args:tt) => {
        $crate::workflow_suite! { @$then $args
            inputs {
                the_same_input_twice_is_one
                other_content_of_an_id_is_a_conflict
                a_decided_input_is_known_by_its_event
                no_body_is_another_one_than_an_empty_one
                what_is_counterfoils_own_is_refused
                one_refused_input_refuses_no_other
                a_repeat_writes_nothing
                senders_at_once_write_it_once
            }
            starting {
                a_signal_before_the_start_waits_for_it
                a_start_goes_to_a_program_of_its_name
                what_runs_goes_to_its_version
                a_second_start_is_an_input_like_others
                two_starts_wait_for_one_stream
                inputs_after_the_end_are_due_all_the_same
            }
            due {
                a_due_input_tells_all
                inputs_come_by_due_time_then_arrival
                a_timer_that_was_due_comes_before_a_later_signal
                no_flood_lets_an_input_come_before_its_turn
                long_bodies_make_a_page_short
                a_limit_is_kept
                what_nobody_serves_clogs_nothing
                what_another_one_holds_is_left_to_it
                what_is_let_go_is_everybodys
                who_stops_lets_go_of_its_own
                a_lease_holds_nobody_up
                the_next_time_is_told
                looking_writes_nothing
            }
            stepping {
                a_step_is_written_whole
                several_inputs_are_decided_in_one_step
                a_stale_step_is_refused_with_both_numbers
                without_its_beginning_nothing_goes_on
                an_input_that_has_gone_refuses_its_step
                a_stream_of_others_is_taken
                another_programs_workflow_is_taken
                an_id_that_is_taken_refuses_the_step
                a_value_against_the_rules_refuses_the_step
                one_refused_step_refuses_no_other
                two_steps_of_one_workflow_follow_each_other
                one_of_many_runners_wins
                nobody_appends_to_a_workflow
                a_snapshot_is_its_own_programs
                a_step_is_there_after_a_crash
            }
            timers {
                a_timer_comes_at_its_time
                a_timer_is_taken_back
                what_one_decision_sets_a_later_one_takes_back
                what_a_step_takes_back_it_does_not_decide
                the_end_takes_the_timers_along
            }
            cancelling {
                what_waits_is_cancelled_and_told
                what_was_never_sent_for_good_is_cancelled
                what_is_being_sent_is_left_alone
                what_is_in_doubt_is_left_alone
                what_has_ended_is_left_alone
                what_its_own_step_issued_is_cancelled
            }
            pointing {
                a_completion_becomes_an_input
                a_rejection_becomes_an_input
                a_refusal_by_status_becomes_an_input
                a_report_becomes_an_input
                a_persons_word_becomes_an_input
                a_persons_no_becomes_an_input
                a_cancel_becomes_an_input
                an_expiry_by_a_sweep_becomes_an_input
                an_expiry_at_the_claim_becomes_an_input
                an_accepted_one_becomes_an_input
                the_end_of_a_second_round_is_the_first_receipt
                what_is_sent_again_after_its_end_is_no_input
                of_what_is_no_workflows_there_is_no_input
                a_receipt_after_the_end_is_due
                a_forged_pointer_has_no_receipt
                each_command_of_a_decision_has_its_own
                a_receipt_waits_for_no_runner
            }
            aside {
                it_stands_still_with_its_inputs
                it_is_set_aside_where_it_was_seen_only
                it_is_taken_up_again
                what_is_not_set_aside_is_not_taken_up
                one_that_never_began_starts_anew
                a_services_own_stream_is_left_as_it_is
            }
            hand {
                an_input_that_nobody_decides_is_taken_away
                what_did_not_begin_may_be_taken_away
                what_a_workflow_waits_for_is_never_taken_away
                a_quarantined_workflow_is_ended_by_a_persons_word
                what_is_not_set_aside_is_not_ended
                a_command_of_one_that_was_ended_goes_on
                what_is_set_aside_is_taken_away_whatever_its_workflow_does
            }
            keeping {
                an_orphan_is_listed_with_its_age
                an_old_orphan_expires_and_is_recorded
                what_somebody_will_look_at_never_expires
                one_whose_workflow_came_is_adopted
                the_upkeep_is_bounded_and_goes_on
                upkeep_with_nothing_to_do_writes_nothing
                what_came_to_an_ended_workflow_is_for_any_runner
                what_came_to_many_ended_ones_is_met_a_few_at_a_time
            }
            listing {
                workflows_are_listed_by_filter_and_cursor
                those_whose_start_waits_are_listed
                one_workflow_is_told
                what_waits_is_listed_in_pages
                long_events_make_a_page_short
                what_stands_still_is_counted
            }
            leaving {
                commands_stay_until_the_workflow_is_over
                one_that_is_set_aside_keeps_its_commands
                what_was_issued_is_told_archived_or_not
            }
            bodies {
                bodies_of_an_ended_one_leave_and_come_back
                a_running_one_gives_what_its_snapshot_holds
                what_may_be_needed_stays
                what_is_not_as_it_was_read_is_left
                an_archived_input_is_known_by_its_digest
                old_bodies_come_in_pages
                an_audit_holds_before_and_after
                a_body_that_lies_nowhere_or_twice_is_told
            }
            proving {
                a_sound_history_breaks_no_law
                a_row_that_its_events_do_not_bear_out_is_told
                one_that_ended_is_what_it_ended_as
                a_row_that_names_another_or_is_gone_is_told
                events_that_are_no_decisions_are_told
                inputs_that_nobody_could_have_sent_are_told
                a_receipt_of_which_nobody_heard_is_told
                timers_that_no_decision_left_are_told
                many_timers_are_read_in_several_pages
                a_service_goes_on_with_its_stream_whoever_started_it
                what_was_never_a_workflow_leaves_no_pointer
            }
        }
    };
    (@cases ($hands:ident) $($group:ident { $($case:ident)* })*) => {
        vec![$($(Case::<$hands> {
            group: stringify!($group),
            name: stringify!($case),
            run: |hands| Box::pin($group::$case(hands)),
        },)*)*]
    };
    (@tests ($make:path) $($group:ident { $($case:ident)* })*) => {
        $(
            mod $group {
                use super::*;
                $(
                    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                    async fn $case() {
                        let hands = $make().await;
                        let name = stringify!($case);
                        $crate::exercise_store::run_workflow(name, hands).await;
                    }
                )*
            }
        )*
    };
    ($make:path) => {
        $crate::workflow_suite! { @list tests ($make) }
    };
}
