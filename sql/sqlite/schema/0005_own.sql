-- The tables that strangers only read: every INSERT, UPDATE and DELETE is refused.
--
-- Unconditional: Counterfoil's own connections run with triggers off. Made last, since the files
-- before this one write the meta row.

CREATE TRIGGER counterfoil_attempt_no_insert BEFORE INSERT ON counterfoil_attempt
BEGIN SELECT RAISE(ABORT, 'CF0123 attempts are Counterfoil''s own: see counterfoil show'); END;
CREATE TRIGGER counterfoil_attempt_no_update BEFORE UPDATE ON counterfoil_attempt
BEGIN SELECT RAISE(ABORT, 'CF0123 attempts are Counterfoil''s own: see counterfoil show'); END;
CREATE TRIGGER counterfoil_attempt_no_delete BEFORE DELETE ON counterfoil_attempt
BEGIN SELECT RAISE(ABORT, 'CF0123 attempts are Counterfoil''s own: see counterfoil show'); END;

CREATE TRIGGER counterfoil_stream_no_insert BEFORE INSERT ON counterfoil_stream
BEGIN SELECT RAISE(ABORT, 'CF0124 stream heads are Counterfoil''s own: append through the library'); END;
CREATE TRIGGER counterfoil_stream_no_update BEFORE UPDATE ON counterfoil_stream
BEGIN SELECT RAISE(ABORT, 'CF0124 stream heads are Counterfoil''s own: append through the library'); END;
CREATE TRIGGER counterfoil_stream_no_delete BEFORE DELETE ON counterfoil_stream
BEGIN SELECT RAISE(ABORT, 'CF0124 stream heads are Counterfoil''s own: append through the library'); END;

CREATE TRIGGER counterfoil_snapshot_no_insert BEFORE INSERT ON counterfoil_snapshot
BEGIN SELECT RAISE(ABORT, 'CF0125 snapshots are Counterfoil''s own: they are made again from the events'); END;
CREATE TRIGGER counterfoil_snapshot_no_update BEFORE UPDATE ON counterfoil_snapshot
BEGIN SELECT RAISE(ABORT, 'CF0125 snapshots are Counterfoil''s own: they are made again from the events'); END;
CREATE TRIGGER counterfoil_snapshot_no_delete BEFORE DELETE ON counterfoil_snapshot
BEGIN SELECT RAISE(ABORT, 'CF0125 snapshots are Counterfoil''s own: they are made again from the events'); END;

CREATE TRIGGER counterfoil_lane_no_insert BEFORE INSERT ON counterfoil_lane
BEGIN SELECT RAISE(ABORT, 'CF0126 lanes are Counterfoil''s own: order follows from commits'); END;
CREATE TRIGGER counterfoil_lane_no_update BEFORE UPDATE ON counterfoil_lane
BEGIN SELECT RAISE(ABORT, 'CF0126 lanes are Counterfoil''s own: order follows from commits'); END;
CREATE TRIGGER counterfoil_lane_no_delete BEFORE DELETE ON counterfoil_lane
BEGIN SELECT RAISE(ABORT, 'CF0126 lanes are Counterfoil''s own: order follows from commits'); END;

CREATE TRIGGER counterfoil_destination_no_insert BEFORE INSERT ON counterfoil_destination
BEGIN SELECT RAISE(ABORT, 'CF0127 destinations are Counterfoil''s own: change the relay''s configuration'); END;
CREATE TRIGGER counterfoil_destination_no_update BEFORE UPDATE ON counterfoil_destination
BEGIN SELECT RAISE(ABORT, 'CF0127 destinations are Counterfoil''s own: change the relay''s configuration'); END;
CREATE TRIGGER counterfoil_destination_no_delete BEFORE DELETE ON counterfoil_destination
BEGIN SELECT RAISE(ABORT, 'CF0127 destinations are Counterfoil''s own: change the relay''s configuration'); END;

CREATE TRIGGER counterfoil_archived_no_insert BEFORE INSERT ON counterfoil_archived
BEGIN SELECT RAISE(ABORT, 'CF0129 tombstones are Counterfoil''s own: they stay for ever'); END;
CREATE TRIGGER counterfoil_archived_no_update BEFORE UPDATE ON counterfoil_archived
BEGIN SELECT RAISE(ABORT, 'CF0129 tombstones are Counterfoil''s own: they stay for ever'); END;
CREATE TRIGGER counterfoil_archived_no_delete BEFORE DELETE ON counterfoil_archived
BEGIN SELECT RAISE(ABORT, 'CF0129 tombstones are Counterfoil''s own: they stay for ever'); END;

CREATE TRIGGER counterfoil_operator_action_no_insert BEFORE INSERT ON counterfoil_operator_action
BEGIN SELECT RAISE(ABORT, 'CF0130 operator actions are Counterfoil''s own: each verb of the command line writes its own'); END;
CREATE TRIGGER counterfoil_operator_action_no_update BEFORE UPDATE ON counterfoil_operator_action
BEGIN SELECT RAISE(ABORT, 'CF0130 operator actions are Counterfoil''s own: each verb of the command line writes its own'); END;
CREATE TRIGGER counterfoil_operator_action_no_delete BEFORE DELETE ON counterfoil_operator_action
BEGIN SELECT RAISE(ABORT, 'CF0130 operator actions are Counterfoil''s own: each verb of the command line writes its own'); END;

UPDATE counterfoil_meta SET version = 5;
CREATE TRIGGER counterfoil_meta_no_insert BEFORE INSERT ON counterfoil_meta
BEGIN SELECT RAISE(ABORT, 'CF0131 the meta row is Counterfoil''s own: use counterfoil init'); END;
CREATE TRIGGER counterfoil_meta_no_update BEFORE UPDATE ON counterfoil_meta
BEGIN SELECT RAISE(ABORT, 'CF0131 the meta row is Counterfoil''s own: use counterfoil init'); END;
CREATE TRIGGER counterfoil_meta_no_delete BEFORE DELETE ON counterfoil_meta
BEGIN SELECT RAISE(ABORT, 'CF0131 the meta row is Counterfoil''s own: use counterfoil init'); END;
