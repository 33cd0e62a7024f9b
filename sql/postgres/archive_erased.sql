-- by operator_action_about: those of these commands that somebody erased.
SELECT DISTINCT about FROM cf.operator_action
WHERE about = ANY($1::text[]) AND verb = 'erase';
