-- Version 3. Pages of notes (their text lies in the evidence vault) and which session started which.

CREATE TABLE page (
    shelf TEXT NOT NULL CHECK (shelf IN ('run', 'agent')),
    user TEXT NOT NULL,
    owner TEXT NOT NULL,
    pointer TEXT NOT NULL,
    class TEXT NOT NULL CHECK (class IN ('public', 'internal', 'confidential', 'pii', 'secret')),
    at INTEGER NOT NULL,
    PRIMARY KEY (shelf, user, owner)
) STRICT, WITHOUT ROWID;

CREATE TABLE kin (
    place INTEGER PRIMARY KEY,
    child TEXT NOT NULL UNIQUE REFERENCES session (id),
    parent TEXT NOT NULL REFERENCES session (id),
    answer TEXT NOT NULL,
    answer_bits INTEGER NOT NULL CHECK (answer_bits >= 0),
    at INTEGER NOT NULL,
    taken_bits INTEGER CHECK (taken_bits >= 0),
    CHECK (child <> parent)
) STRICT;
CREATE INDEX kin_by_parent ON kin (parent);

CREATE TRIGGER kin_stays BEFORE DELETE ON kin BEGIN SELECT RAISE(ABORT, 'kinship is not deleted'); END;
CREATE TRIGGER kin_stands BEFORE UPDATE ON kin
WHEN NEW.child <> OLD.child OR NEW.parent <> OLD.parent OR NEW.answer_bits <> OLD.answer_bits
BEGIN SELECT RAISE(ABORT, 'kinship is not changed'); END;
CREATE TRIGGER answer_is_taken_once BEFORE UPDATE OF taken_bits ON kin WHEN OLD.taken_bits IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a child answers once'); END;
