-- by operator_action_about: what somebody found out about these commands, which had ended, and
-- whose reports contradict each other.
SELECT about, max(recorded_at) FROM cf.operator_action
WHERE about = ANY($1::text[]) AND verb = 'resolve'
  AND before IN ('completed', 'accepted', 'rejected', 'cancelled', 'expired')
GROUP BY about;
