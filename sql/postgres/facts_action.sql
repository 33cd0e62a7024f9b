-- by operator_action_about: what begins a round of these commands that follows no receipt, whether
-- it says not done; and whether they were erased.
SELECT about, recorded_at, verb = 'resolve', verb = 'erase' FROM cf.operator_action
WHERE about = ANY($1::text[])
  AND (verb IN ('retry', 'erase') OR (verb = 'resolve' AND after = 'pending'))
ORDER BY id;
