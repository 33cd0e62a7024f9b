-- by input_pkey: of a workflow that never began the starts wait.
UPDATE cf.input SET workflow = CASE WHEN kind = 'start' THEN name END WHERE stream = $1::text;
