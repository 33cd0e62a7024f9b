-- by none: it appends, in place of the mark that stood. It holds the number of a receipt that was
-- archived while no newer one stood, so that the number is not given twice.
REPLACE INTO counterfoil_receipt(rowid, n, round, outcome, source, destination, attempts, token,
  recorded_at)
VALUES (?1, 0, 0, 'archived', 'archive', '', 0, 0, ?2);
