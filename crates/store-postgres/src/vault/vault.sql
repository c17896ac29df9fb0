-- Evidence behind pointers, and what was given out in its place. Everything that says something is ciphertext; the key above it
-- is the gateways' and never here.

CREATE TABLE vault (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    key_id bytea NOT NULL CHECK (length(key_id) = 8),
    wrapped bytea NOT NULL,
    content bytea NOT NULL
);

CREATE TABLE evidence (
    id bytea PRIMARY KEY CHECK (length(id) = 16),
    class smallint NOT NULL,
    session text COLLATE "C" NOT NULL,
    stored_ms bigint NOT NULL,
    destroyed_ms bigint,
    -- Whose memory it is in, when it is not here.
    holder text COLLATE "C",
    key_id bytea,
    wrapped bytea,
    content bytea
);
ALTER TABLE evidence ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE INDEX evidence_alive ON evidence (class, stored_ms) WHERE destroyed_ms IS NULL;
CREATE INDEX evidence_in_memory ON evidence (session) WHERE destroyed_ms IS NULL AND content IS NULL;
CREATE INDEX evidence_by_key ON evidence (key_id) WHERE key_id IS NOT NULL;

CREATE TRIGGER destroyed_stays_destroyed BEFORE UPDATE ON evidence FOR EACH ROW
    WHEN (OLD.destroyed_ms IS NOT NULL)
    EXECUTE FUNCTION refuse('what is destroyed stays destroyed');
CREATE TRIGGER evidence_leaves_a_tombstone BEFORE DELETE ON evidence FOR EACH ROW
    EXECUTE FUNCTION refuse('evidence leaves a tombstone');

CREATE TABLE issued (
    session text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    kind smallint NOT NULL,
    class smallint NOT NULL,
    digest bytea,
    -- The ids of its evidence, side by side.
    pieces bytea NOT NULL CHECK (length(pieces) % 16 = 0),
    resolved boolean NOT NULL DEFAULT false,
    PRIMARY KEY (session, name, number)
);

-- Grows with each change of a session's tokens, so that a gateway knows when what it remembers is old.
CREATE TABLE issuing (
    session text COLLATE "C" PRIMARY KEY,
    generation bigint NOT NULL
);

CREATE FUNCTION put_away(sealing bytea, its_holder text, ids bytea[], classes smallint[], sessions text[], stored bigint[],
                         key_ids bytea[], wrappeds bytea[], contents bytea[], its_session text, names text[], numbers bigint[],
                         kinds smallint[], token_classes smallint[], digests bytea[], pieces_of bytea[])
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    written bigint;
BEGIN
    -- Held until the rows are there: a rotation finds all of them or comes before them.
    PERFORM 1 FROM vault WHERE key_id = sealing FOR SHARE;
    IF NOT FOUND THEN
        RETURN 'key changed';
    END IF;
    INSERT INTO evidence (id, class, session, stored_ms, holder, key_id, wrapped, content)
        SELECT new.id, new.class, new.session, new.stored_ms, CASE WHEN new.content IS NULL THEN its_holder END, new.key_id,
               new.wrapped, new.content
        FROM unnest(ids, classes, sessions, stored, key_ids, wrappeds, contents)
             AS new (id, class, session, stored_ms, key_id, wrapped, content);
    IF its_session IS NULL THEN
        RETURN 'done';
    END IF;
    INSERT INTO issuing (session, generation) VALUES (its_session, 1)
        ON CONFLICT (session) DO UPDATE SET generation = issuing.generation + 1;
    INSERT INTO issued (session, name, number, kind, class, digest, pieces)
        SELECT its_session, new.name, new.number, new.kind, new.class, new.digest, new.pieces
        FROM unnest(names, numbers, kinds, token_classes, digests, pieces_of) AS new (name, number, kind, class, digest, pieces)
        ON CONFLICT (session, name, number) DO UPDATE SET pieces = excluded.pieces
        WHERE issued.digest = excluded.digest AND issued.class = excluded.class;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF written <> cardinality(names) THEN
        -- Nothing of it may stay.
        RAISE EXCEPTION 'a token stands for another value already' USING ERRCODE = 'TG001';
    END IF;
    RETURN 'done';
END $$;
