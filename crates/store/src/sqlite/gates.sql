-- Version 4. What waits for a person. No value of a call is here: a gate's document holds names, types and lengths, and its
-- binding is a digest under a key that is not in this file.

CREATE TABLE gate_clock (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    tick INTEGER NOT NULL CHECK (tick >= 0)
) STRICT;
INSERT INTO gate_clock (only, tick) VALUES (1, 0);

CREATE TABLE gate (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    session TEXT NOT NULL REFERENCES session (id),
    user TEXT NOT NULL,
    agent TEXT NOT NULL,
    asked_by TEXT NOT NULL,
    owner TEXT NOT NULL,
    binding BLOB NOT NULL CHECK (length(binding) = 32),
    tool TEXT,
    class TEXT NOT NULL CHECK (class IN ('public', 'internal', 'confidential', 'pii', 'secret')),
    rule TEXT NOT NULL,
    policy TEXT NOT NULL,
    document TEXT NOT NULL,
    evidence TEXT,
    opened_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    needed INTEGER NOT NULL CHECK (needed > 0),
    state TEXT NOT NULL CHECK (state IN ('open', 'approved', 'denied', 'expired', 'spent')),
    approvals TEXT NOT NULL,
    ended_by TEXT,
    ended_reason TEXT,
    ended_at INTEGER,
    tick INTEGER NOT NULL,
    CHECK ((ended_at IS NULL) = (state = 'open')),
    CHECK ((ended_at IS NULL) = (ended_reason IS NULL))
) STRICT;

-- One for each question that is asked of the table: nobody looks through gates that are not wanted.
CREATE INDEX gate_open ON gate (place) WHERE state = 'open';
CREATE INDEX gate_open_by_kind ON gate (kind, place) WHERE state = 'open';
CREATE INDEX gate_open_by_session ON gate (session, place) WHERE state = 'open';
CREATE INDEX gate_decided ON gate (place) WHERE state <> 'open';
CREATE INDEX gate_by_kind ON gate (kind, place);
CREATE INDEX gate_by_session ON gate (session, place);
CREATE INDEX gate_by_binding ON gate (binding, place);
CREATE INDEX gate_by_tick ON gate (tick);
CREATE INDEX gate_waiting_by_end ON gate (expires_at) WHERE state IN ('open', 'approved');
CREATE INDEX gate_open_by_owner ON gate (owner, place) WHERE state = 'open';

CREATE TRIGGER gate_stays BEFORE DELETE ON gate BEGIN SELECT RAISE(ABORT, 'a gate is not deleted'); END;
CREATE TRIGGER gate_stands BEFORE UPDATE ON gate
WHEN NEW.id <> OLD.id OR NEW.kind <> OLD.kind OR NEW.session <> OLD.session OR NEW.binding <> OLD.binding
    OR NEW.needed < OLD.needed OR NEW.policy <> OLD.policy
BEGIN SELECT RAISE(ABORT, 'what a gate asks is not changed'); END;
CREATE TRIGGER gate_stays_closed BEFORE UPDATE OF state ON gate
WHEN OLD.state IN ('denied', 'expired', 'spent') AND NEW.state <> OLD.state
BEGIN SELECT RAISE(ABORT, 'a closed gate stays closed'); END;
CREATE TRIGGER gate_is_approved_first BEFORE UPDATE OF state ON gate WHEN NEW.state = 'spent' AND OLD.state <> 'approved'
BEGIN SELECT RAISE(ABORT, 'only an approval is spent'); END;
CREATE TRIGGER gate_tick_grows BEFORE UPDATE OF tick ON gate_clock WHEN NEW.tick <= OLD.tick
BEGIN SELECT RAISE(ABORT, 'the tick only grows'); END;

-- Who let a halted run go on, and why. Without its row no halt is lifted but by a reset.
CREATE TABLE resumption (
    session TEXT NOT NULL REFERENCES session (id),
    epoch INTEGER NOT NULL,
    halted_by TEXT NOT NULL,
    halted_at INTEGER NOT NULL,
    decided_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (session, epoch, halted_by, halted_at)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER resumption_stays BEFORE DELETE ON resumption
BEGIN SELECT RAISE(ABORT, 'a resumption is not deleted'); END;
CREATE TRIGGER resumption_stands BEFORE UPDATE ON resumption
BEGIN SELECT RAISE(ABORT, 'a resumption is not changed'); END;

DROP TRIGGER halt_stays;
CREATE TRIGGER halt_stays BEFORE UPDATE ON session
WHEN NEW.epoch <= OLD.epoch AND OLD.halted_by IS NOT NULL
    AND (NEW.halted_by IS NOT OLD.halted_by OR NEW.halted_at IS NOT OLD.halted_at)
    AND NOT (NEW.halted_by IS NULL AND EXISTS (
        SELECT 1 FROM resumption WHERE session = OLD.id AND epoch = OLD.epoch
            AND halted_by = OLD.halted_by AND halted_at = OLD.halted_at))
BEGIN SELECT RAISE(ABORT, 'a halt is only lifted by a person'); END;
