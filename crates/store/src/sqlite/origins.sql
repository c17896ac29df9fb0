-- Version 2: where values came from. A memory that was closed stays closed, and what it holds is neither changed nor taken out.

CREATE TABLE origin (
    session TEXT PRIMARY KEY REFERENCES session (id),
    closed INTEGER NOT NULL CHECK (closed IN (0, 1)),
    operator_kept INTEGER NOT NULL CHECK (operator_kept >= 0),
    others_kept INTEGER NOT NULL CHECK (others_kept >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE origin_chunk (
    id INTEGER PRIMARY KEY,
    session TEXT NOT NULL REFERENCES origin (session),
    place INTEGER NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('operator', 'trusted', 'untrusted', 'agent')),
    source TEXT NOT NULL,
    digests BLOB NOT NULL CHECK (length(digests) % 8 = 0),
    UNIQUE (session, place)
) STRICT;

CREATE TRIGGER origin_stays_closed BEFORE UPDATE ON origin WHEN NEW.closed < OLD.closed
BEGIN SELECT RAISE(ABORT, 'a closed memory stays closed'); END;
CREATE TRIGGER origin_stays BEFORE DELETE ON origin BEGIN SELECT RAISE(ABORT, 'a memory is not deleted'); END;
CREATE TRIGGER origin_chunk_stays BEFORE DELETE ON origin_chunk
BEGIN SELECT RAISE(ABORT, 'what is remembered is not deleted'); END;
CREATE TRIGGER origin_chunk_stands BEFORE UPDATE ON origin_chunk
BEGIN SELECT RAISE(ABORT, 'what is remembered is not changed'); END;
