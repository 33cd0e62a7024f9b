-- by operator_action_about: what begins a round of these commands that follows no receipt, and
-- whether it says not done.
SELECT about, recorded_at, verb = 'resolve' FROM cf.operator_action
WHERE about = ANY($1::text[]) AND (verb = 'retry' OR (verb = 'resolve' AND after = 'pending'))
ORDER BY id;
