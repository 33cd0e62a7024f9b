-- by contradiction_command, operator_action_about and archived_pkey: whether one stands at all.
-- Most stores have none of the first two, and a page of ids is not looked up in what is empty.
SELECT EXISTS (SELECT FROM cf.contradiction), EXISTS (SELECT FROM cf.operator_action),
  EXISTS (SELECT FROM cf.archived);
