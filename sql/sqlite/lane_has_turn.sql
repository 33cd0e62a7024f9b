-- by counterfoil_delivery_turn: whether anybody has the turn of the lane of this number.
SELECT 1 FROM counterfoil_delivery WHERE turn = ?1;
