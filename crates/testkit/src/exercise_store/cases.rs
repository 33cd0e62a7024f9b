//! The one list of all cases, and the macro that makes a test of each.
//!
//! Guarantees: what `cases` runs and what `store_suite!` names is the same list. Does not: hold
//! rules; the files beside it do.

/// Makes a test of each case of the store suite.
///
/// `make` names an async function without arguments that gives a fresh store's [`Hands`]. The
/// tests are named `group::case`, so that each can be run by itself.
///
/// ```
/// # use counterfoil_testkit::exercise_store::MemoryHands;
/// async fn make() -> MemoryHands {
///     MemoryHands::default()
/// }
/// counterfoil_testkit::store_suite!(make);
/// # fn main() {}
/// ```
///
/// [`Hands`]: crate::exercise_store::Hands
#[macro_export]
macro_rules! store_suite {
    (@list $then:ident $args:tt) => {
        $crate::store_suite! { @$then $args
            recording {
                records_a_new_command
                repeats_the_same_intent
                refuses_other_content_of_an_id
                compares_no_headers_and_no_times
                compares_core_digests_where_both_have_one
                compares_bodies_where_one_side_has_no_core_digest
                folds_an_id_that_stands_twice_in_a_batch
                one_refused_command_refuses_no_other
                repeats_after_the_end_whatever_the_outcome
                refuses_a_body_over_the_limit
                refuses_what_a_command_may_not_carry
                keeps_every_byte_as_committed
                keeps_ids_of_any_language
                one_of_many_writers_records
                wakes_who_waits_for_work
            }
            decision {
                names_commands_by_stream_seq_and_index
                counts_commands_on_the_last_event
                refuses_a_stale_version_with_both_numbers
                writes_nothing_of_a_refused_decision
                refuses_a_decision_without_an_event
                takes_a_cause_once_in_a_stream
                refuses_a_generated_id_that_is_taken
                repeats_a_command_of_a_decision_by_its_id
                loads_in_order_and_in_pages
                one_of_two_deciders_wins
            }
            acting {
                a_dead_one_is_retried_in_a_new_round
                what_may_act_twice_is_retried_by_a_persons_word_only
                a_verdict_ends_or_frees
                what_is_in_flight_is_left_alone
                a_waiting_one_is_cancelled
                what_is_in_doubt_is_not_cancelled
                an_ended_one_is_sent_again
                past_the_window_a_redelivery_needs_a_persons_word
                a_late_completion_ends_its_own_round_only
                a_late_completion_contradicts_its_own_round
                a_late_completion_says_nothing_of_a_later_end
                a_redelivery_keeps_the_window_of_the_first_send
                a_redelivered_one_waits_for_its_own_time
                a_filter_touches_nothing_in_doubt
                deeds_are_done_one_by_one
                a_paused_destination_is_resumed
                a_probe_burns_no_attempt
            }
            announcing {
                a_settle_that_parks_announces
                a_claim_that_parks_announces
                an_unreadable_one_is_announced
                a_sweep_that_parks_announces
                each_round_is_announced_once
                an_alert_never_alerts
                only_what_is_parked_is_announced
                an_alerts_id_that_is_taken_stops_nothing
                the_longest_id_is_announced
                no_exchange_claims_its_own_alerts
            }
            lane {
                one_of_a_key_at_a_time_in_commit_order
                a_key_is_a_lane_of_its_own_at_each_destination
                a_turn_stays_through_every_wait
                a_turn_waits_for_the_heads_not_before
                a_parked_head_blocks
                a_parked_head_is_passed_where_the_contract_says_so
                a_retried_one_goes_next
                a_retried_one_takes_the_turn_of_who_only_waits
                a_redelivered_one_keeps_its_place
                an_expired_one_gives_its_turn_on
                a_cancelled_head_gives_its_turn_on
                a_takeover_keeps_the_turn
                one_that_is_put_off_lets_a_redelivered_one_go_first
                places_are_dense_and_repeats_take_none
                a_decision_orders_its_commands
            }
            waiting {
                an_expired_head_is_followed_in_the_same_look
                in_doubt_and_expired_it_is_asked_about_in_its_turn
                behind_a_delayed_head_nobody_is_busy
                behind_a_published_one_nobody_is_busy
            }
            patience {
                a_patient_claim_takes_what_is_due
                a_patient_claim_takes_what_comes
                an_ended_patience_takes_nothing
                a_claim_that_was_dropped_takes_nothing
                of_two_patient_claims_each_takes_its_own
                a_patient_claim_hears_of_another_contract
                a_patient_claim_of_nothing_is_no_write
            }
            claiming {
                claims_by_due_time
                claims_what_was_recorded_together_in_order
                claims_no_more_than_asked
                claims_nothing_before_it_is_due
                a_claim_carries_all_that_an_attempt_needs
                what_is_claimed_is_not_claimed_again
                owners_at_once_never_share
                a_claim_survives_a_crash
                tokens_only_grow
                a_clock_step_back_freezes_nothing
                a_paused_destination_is_not_claimed
                a_differing_contract_is_refused_and_claims_nothing
                terms_of_one_relay_are_not_the_contract
                an_exchange_with_nothing_to_do_writes_nothing
                an_unreadable_row_parks_alone
                other_destinations_are_left_alone
                a_due_retry_does_not_starve_new_work
            }
            takeover {
                a_live_lease_is_not_taken_over
                an_expired_lease_is_taken_over_in_doubt
                a_keyless_takeover_is_uncertain_and_announced
                a_takeover_is_safe_only_inside_the_window
                the_window_is_tested_at_each_claim
                a_takeover_counts_against_the_attempts
                a_renewed_lease_is_not_taken_over
                a_lost_lease_is_told_at_renewal
                what_is_handed_back_is_as_before
                handing_back_keeps_what_was_sent_before
                handing_back_a_lost_lease_changes_nothing
                a_late_completed_beside_a_newer_lease_is_told_as_late
                a_pause_lets_what_is_in_flight_end
                behind_a_pause_nothing_dies
            }
            settling {
                completed_ends_with_a_receipt
                accepted_waits_for_a_receipt
                accepted_ends_where_that_is_completion
                a_receipt_that_does_not_come_is_unknown
                a_keyless_receipt_that_does_not_come_is_uncertain
                not_sent_waits_and_is_not_in_doubt
                not_sent_takes_the_first_send_back
                not_sent_waits_as_the_receiver_asks
                not_sent_at_the_last_attempt_is_dead
                not_sent_at_the_last_attempt_in_doubt_is_uncertain
                unknown_is_repeated_where_that_is_safe
                unknown_without_keys_is_uncertain
                unknown_at_the_last_attempt_is_uncertain_never_dead
                conflict_parks_under_every_contract
                a_refusal_by_the_receiver_ends
                a_refusal_by_status_parks_as_dead
                a_refusal_by_status_ends_where_the_contract_says_so
                a_refusal_by_status_in_doubt_is_uncertain
                a_settle_counts_after_its_lease_until_taken_over
                a_stale_settle_changes_nothing_and_is_kept
                a_late_completed_ends_what_is_uncertain
                a_late_completed_after_the_end_repeats_or_contradicts
                settles_of_a_batch_are_answered_in_order
                a_repeated_settle_changes_nothing_more
            }
            asking {
                a_doubt_is_asked_about_after_the_quiet_time
                an_answer_that_it_is_done_ends
                an_answer_that_it_is_not_there_clears_the_doubt
                what_cannot_be_believed_is_asked_again_until_uncertain
                a_question_whose_lease_ran_out_is_asked_again
                a_question_handed_back_is_no_question
                questions_touch_neither_attempts_nor_the_first_send
                after_the_last_question_a_person_is_asked_once
            }
            sweeping {
                what_is_past_its_expiry_ends_unsent
                a_sweep_with_nothing_to_do_writes_nothing
                what_was_tried_in_vain_expires_with_its_digest
                in_doubt_it_is_asked_about_where_it_can_be
                in_doubt_it_is_a_persons_where_nobody_can_be_asked
                the_stored_contract_decides_and_without_one_a_person
                a_pause_and_a_missing_relay_keep_nothing_alive
                what_is_under_way_or_parked_is_left_alone
                a_sweep_is_bounded_and_says_whether_more_is_left
                sweepers_at_once_end_each_command_once
                a_claim_that_comes_upon_an_expired_command_ends_it
                an_expiry_comes_back_as_it_was_recorded
            }
            control {
                the_newest_completed_command_is_named
                what_was_not_completed_is_no_control
                a_persons_word_is_no_control
                a_pause_is_obeyed_and_recorded_once
                pausers_at_once_pause_once
                a_pause_needs_no_contract_and_outlives_its_declaring
                a_pause_is_no_act_about_a_command_of_that_name
                contracts_are_told_as_they_are_stored
                a_differing_contract_names_all_that_differs
            }
            restoring {
                every_open_command_is_in_doubt
                the_earlier_first_send_counts
                after_it_the_window_decides_at_the_claim
                without_keys_nothing_is_sent_again
                who_can_be_asked_is_asked
                a_restore_is_recorded_even_of_nothing
                a_long_backlog_is_in_doubt_to_its_end
            }
            report {
                a_report_ends_a_machine_owned_command
                a_report_ends_a_parked_command
                a_report_may_reject
                the_same_report_again_is_repeated
                another_report_is_a_contradiction_and_kept
                a_report_after_a_settle_is_judged_alike
                the_newest_token_reports
                an_older_token_is_fenced_off
                a_fenced_report_after_the_end_is_refused
                a_command_never_claimed_has_no_token
                a_report_about_nothing_is_unknown
                a_report_says_completed_or_rejected_only
                reporters_at_once_end_it_once
            }
            telling {
                a_story_has_the_first_send_and_the_newest
                what_surely_was_not_sent_is_no_send
                a_restore_stands_in_the_story_of_what_it_found_open
                what_can_expire_is_counted_while_it_is_pending
                a_cursor_that_stands_nowhere_is_refused
                a_contradiction_is_answered_by_who_looked_into_it
                a_dry_run_foresees_what_the_store_says
            }
            view {
                people_see_who_blocks_a_lane
                status_counts_by_destination_and_state
                a_list_has_all_in_the_order_of_recording
                a_list_is_paged_by_its_cursor
                a_list_is_filtered_by_state_and_outcome
                a_list_is_filtered_by_what_was_recorded
                a_story_tells_all
                a_story_of_nothing_is_none
                work_in_flight_or_waiting_keeps_busy
                what_waits_for_its_time_or_a_person_keeps_nobody_busy
            }
            book {
                facts_come_in_pages_by_rising_n
                facts_of_open_commands_only
                facts_tell_all_that_stands
                digests_come_from_what_was_sent
                facts_tell_orphans
                facts_tell_unreadable_rows
                event_facts_count_what_was_issued
                totals_count_rows_and_receipts
                known_ids_are_told_from_others
                the_users_query_is_read_in_pages
                a_query_that_fails_is_told_in_words
            }
            draining {
                a_thousand_commands_end_exactly_once
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
                        $crate::exercise_store::run(stringify!($case), hands).await;
                    }
                )*
            }
        )*
    };
    ($make:path) => {
        $crate::store_suite! { @list tests ($make) }
    };
}
