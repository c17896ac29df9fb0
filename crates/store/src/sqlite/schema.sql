-- Version 1. The tables are the record an operator reads; the triggers are a second lock behind the program's own:
-- no statement, from whatever program, lowers a label, lifts a halt or forgets a rise except by way of a reset that
-- says who decided it and why.

CREATE TABLE store (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    revision INTEGER NOT NULL CHECK (revision >= 0),
    probes INTEGER NOT NULL
) STRICT;
INSERT INTO store (only, revision, probes) VALUES (1, 0, 0);

CREATE TABLE session (
    id TEXT PRIMARY KEY,
    user TEXT NOT NULL,
    agent TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    label TEXT NOT NULL CHECK (label IN ('public', 'internal', 'confidential', 'pii', 'secret')),
    kinds TEXT NOT NULL,
    halted_by TEXT,
    halted_at INTEGER,
    epoch INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    CHECK ((halted_by IS NULL) = (halted_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX session_by_revision ON session (revision);

CREATE TABLE reset (
    session TEXT NOT NULL REFERENCES session (id),
    epoch INTEGER NOT NULL,
    decided_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (session, epoch)
) STRICT, WITHOUT ROWID;

CREATE TABLE rise (
    session TEXT NOT NULL REFERENCES session (id),
    epoch INTEGER NOT NULL,
    step INTEGER NOT NULL,
    from_class TEXT NOT NULL,
    to_class TEXT NOT NULL,
    source TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (session, epoch, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE dataset (
    session TEXT NOT NULL REFERENCES session (id),
    epoch INTEGER NOT NULL,
    place INTEGER NOT NULL,
    name TEXT NOT NULL,
    class TEXT NOT NULL CHECK (class IN ('public', 'internal', 'confidential', 'pii', 'secret')),
    PRIMARY KEY (session, epoch, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE token (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    role TEXT NOT NULL,
    principal TEXT NOT NULL,
    agent TEXT,
    issued_at INTEGER NOT NULL,
    revoked_at INTEGER,
    revision INTEGER NOT NULL
) STRICT;
CREATE INDEX token_by_revision ON token (revision);

CREATE TRIGGER revision_grows BEFORE UPDATE OF revision ON store WHEN NEW.revision <= OLD.revision
BEGIN SELECT RAISE(ABORT, 'the revision only grows'); END;

CREATE TRIGGER label_never_falls BEFORE UPDATE ON session
WHEN NEW.epoch <= OLD.epoch
    AND CASE NEW.label WHEN 'public' THEN 0 WHEN 'internal' THEN 1 WHEN 'confidential' THEN 2 WHEN 'pii' THEN 3 ELSE 4 END
      < CASE OLD.label WHEN 'public' THEN 0 WHEN 'internal' THEN 1 WHEN 'confidential' THEN 2 WHEN 'pii' THEN 3 ELSE 4 END
BEGIN SELECT RAISE(ABORT, 'a label only falls by a reset'); END;

CREATE TRIGGER halt_stays BEFORE UPDATE ON session
WHEN NEW.epoch <= OLD.epoch AND OLD.halted_by IS NOT NULL
    AND (NEW.halted_by IS NOT OLD.halted_by OR NEW.halted_at IS NOT OLD.halted_at)
BEGIN SELECT RAISE(ABORT, 'a halt is only lifted by a reset'); END;

CREATE TRIGGER reset_has_a_reason BEFORE UPDATE OF epoch ON session
WHEN NEW.epoch <> OLD.epoch
    AND NOT EXISTS (SELECT 1 FROM reset WHERE session = NEW.id AND epoch = NEW.epoch AND NEW.epoch = OLD.epoch + 1)
BEGIN SELECT RAISE(ABORT, 'a reset without its record'); END;

CREATE TRIGGER identity_stays BEFORE UPDATE OF id, user, agent ON session
WHEN NEW.id <> OLD.id OR NEW.user <> OLD.user OR NEW.agent <> OLD.agent
BEGIN SELECT RAISE(ABORT, 'a session stays with whom it was issued to'); END;

-- A session that is deleted could be opened again with a clean label, and no reader would hear of it.
CREATE TRIGGER session_stays BEFORE DELETE ON session
BEGIN SELECT RAISE(ABORT, 'a session is not deleted'); END;

CREATE TRIGGER rise_stays BEFORE DELETE ON rise BEGIN SELECT RAISE(ABORT, 'a rise is not deleted'); END;
CREATE TRIGGER rise_stands BEFORE UPDATE ON rise BEGIN SELECT RAISE(ABORT, 'a rise is not changed'); END;
CREATE TRIGGER reset_stays BEFORE DELETE ON reset BEGIN SELECT RAISE(ABORT, 'a reset is not deleted'); END;
CREATE TRIGGER reset_stands BEFORE UPDATE ON reset BEGIN SELECT RAISE(ABORT, 'a reset is not changed'); END;
CREATE TRIGGER dataset_stays BEFORE DELETE ON dataset BEGIN SELECT RAISE(ABORT, 'a dataset is not deleted'); END;
CREATE TRIGGER dataset_never_falls BEFORE UPDATE ON dataset
WHEN NEW.name <> OLD.name
    OR CASE NEW.class WHEN 'public' THEN 0 WHEN 'internal' THEN 1 WHEN 'confidential' THEN 2 WHEN 'pii' THEN 3 ELSE 4 END
     < CASE OLD.class WHEN 'public' THEN 0 WHEN 'internal' THEN 1 WHEN 'confidential' THEN 2 WHEN 'pii' THEN 3 ELSE 4 END
BEGIN SELECT RAISE(ABORT, 'the class of a dataset does not fall'); END;

CREATE TRIGGER revocation_stays BEFORE UPDATE ON token
WHEN OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NOT OLD.revoked_at
BEGIN SELECT RAISE(ABORT, 'a revoked token stays revoked'); END;
CREATE TRIGGER token_stays BEFORE DELETE ON token BEGIN SELECT RAISE(ABORT, 'a token is revoked, not deleted'); END;
