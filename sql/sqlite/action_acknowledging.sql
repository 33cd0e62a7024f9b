-- by counterfoil_operator_action_about: what somebody found out about a command that had ended,
-- whose reports contradict each other.
SELECT recorded_at FROM counterfoil_operator_action
WHERE about = ?1 AND verb = 'resolve'
  AND before IN ('completed', 'accepted', 'rejected', 'cancelled', 'expired')
ORDER BY id;
