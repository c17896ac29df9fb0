-- Pages of notes (their text lies in the vault), which session started which, and where values came from. What must compare
-- and change several rows at once is a function: one statement, one transaction.

CREATE FUNCTION is_fenced_off(its_ledger text, its_fence bigint) RETURNS boolean STABLE LANGUAGE sql
AS $$
    SELECT its_ledger IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM writer WHERE ledger = its_ledger AND fence = its_fence)
$$;

CREATE TABLE page (
    shelf text NOT NULL CHECK (shelf IN ('run', 'agent')),
    of_user text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    pointer text NOT NULL,
    class text NOT NULL CHECK (class IN ('public', 'internal', 'confidential', 'pii', 'secret')),
    at bigint NOT NULL,
    PRIMARY KEY (shelf, of_user, owner)
);

CREATE FUNCTION turn_page(its_ledger text, its_fence bigint, its_shelf text, its_user text, its_owner text, before text,
                          new_pointer text, new_class text, new_at bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    halted boolean;
BEGIN
    IF is_fenced_off(its_ledger, its_fence) THEN
        RETURN 'fenced';
    END IF;
    IF its_shelf = 'run' THEN
        -- Held until the page is there: a halt waits, and then finds the page to be cleared.
        SELECT document -> 'halt' IS DISTINCT FROM 'null' INTO halted FROM session WHERE id = its_owner FOR SHARE;
        IF NOT FOUND THEN
            RETURN 'no session';
        END IF;
        IF halted THEN
            RETURN 'closed';
        END IF;
    END IF;
    IF before IS NULL THEN
        INSERT INTO page (shelf, of_user, owner, pointer, class, at)
            VALUES (its_shelf, its_user, its_owner, new_pointer, new_class, new_at) ON CONFLICT DO NOTHING;
    ELSE
        UPDATE page SET pointer = new_pointer, class = new_class, at = new_at
            WHERE shelf = its_shelf AND of_user = its_user AND owner = its_owner AND pointer = before;
    END IF;
    IF NOT FOUND THEN
        RETURN 'moved';
    END IF;
    RETURN 'done';
END $$;

CREATE TABLE kin (
    place bigint GENERATED ALWAYS AS IDENTITY,
    child text COLLATE "C" PRIMARY KEY REFERENCES session (id),
    parent text COLLATE "C" NOT NULL REFERENCES session (id),
    answer text NOT NULL,
    answer_bits bigint NOT NULL CHECK (answer_bits >= 0),
    at bigint NOT NULL,
    taken_bits bigint CHECK (taken_bits >= 0),
    CHECK (child <> parent)
);
CREATE INDEX kin_by_parent ON kin (parent, place);

CREATE TRIGGER kin_stays BEFORE DELETE ON kin FOR EACH ROW
    EXECUTE FUNCTION refuse('kinship is not deleted');
CREATE TRIGGER kin_stands BEFORE UPDATE ON kin FOR EACH ROW
    WHEN (NEW.child <> OLD.child OR NEW.parent <> OLD.parent OR NEW.answer_bits <> OLD.answer_bits)
    EXECUTE FUNCTION refuse('kinship is not changed');
CREATE TRIGGER answer_is_taken_once BEFORE UPDATE ON kin FOR EACH ROW
    WHEN (OLD.taken_bits IS NOT NULL)
    EXECUTE FUNCTION refuse('a child answers once');

CREATE FUNCTION adopt(its_ledger text, its_fence bigint, new_child text, new_parent text, new_answer text, new_bits bigint,
                      new_at bigint, most_children bigint, most_ancestors integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    ancestor text := new_parent;
BEGIN
    IF is_fenced_off(its_ledger, its_fence) THEN
        RETURN 'fenced';
    END IF;
    -- One adoption at a time: two that are each fine alone could close a circle together.
    LOCK TABLE kin IN SHARE ROW EXCLUSIVE MODE;
    IF NOT EXISTS (SELECT 1 FROM session WHERE id = new_child) OR NOT EXISTS (SELECT 1 FROM session WHERE id = new_parent) THEN
        RETURN 'no session';
    END IF;
    IF EXISTS (SELECT 1 FROM kin WHERE child = new_child) THEN
        RETURN 'not free';
    END IF;
    FOR step IN 1 .. most_ancestors LOOP
        IF ancestor = new_child THEN
            RETURN 'not free';
        END IF;
        SELECT parent INTO ancestor FROM kin WHERE child = ancestor;
        EXIT WHEN NOT FOUND;
    END LOOP;
    IF ancestor IS NOT NULL THEN
        RETURN 'not free';
    END IF;
    IF (SELECT count(*) FROM kin WHERE parent = new_parent) >= most_children THEN
        RETURN 'too many';
    END IF;
    INSERT INTO kin (child, parent, answer, answer_bits, at) VALUES (new_child, new_parent, new_answer, new_bits, new_at);
    RETURN 'done';
END $$;

CREATE FUNCTION take_answer(its_ledger text, its_fence bigint, its_child text, bits bigint, most bigint,
                            OUT verdict text, OUT taken bigint) LANGUAGE plpgsql AS $$
DECLARE
    its_parent text;
    before bigint;
BEGIN
    taken := 0;
    IF is_fenced_off(its_ledger, its_fence) THEN
        verdict := 'fenced';
        RETURN;
    END IF;
    SELECT parent INTO its_parent FROM kin WHERE child = its_child;
    IF NOT FOUND THEN
        verdict := 'no child';
        RETURN;
    END IF;
    -- The whole family, so that the sum below is of one moment.
    PERFORM 1 FROM kin WHERE parent = its_parent ORDER BY place FOR UPDATE;
    SELECT taken_bits INTO before FROM kin WHERE child = its_child;
    IF before IS NOT NULL THEN
        verdict := 'answered';
        RETURN;
    END IF;
    SELECT coalesce(sum(taken_bits), 0) + bits INTO taken FROM kin WHERE parent = its_parent;
    IF bits > 0 AND taken > most THEN
        verdict := 'bits spent';
        RETURN;
    END IF;
    UPDATE kin SET taken_bits = bits WHERE child = its_child;
    verdict := 'done';
END $$;

CREATE TABLE origin (
    session text COLLATE "C" PRIMARY KEY REFERENCES session (id),
    version bigint NOT NULL DEFAULT 1,
    closed boolean NOT NULL,
    operator_kept bigint NOT NULL DEFAULT 0 CHECK (operator_kept >= 0),
    others_kept bigint NOT NULL DEFAULT 0 CHECK (others_kept >= 0),
    last bigint NOT NULL DEFAULT 0
);

CREATE TABLE origin_chunk (
    session text COLLATE "C" NOT NULL REFERENCES origin (session),
    place bigint NOT NULL,
    origin text NOT NULL CHECK (origin IN ('operator', 'trusted', 'untrusted', 'agent')),
    source text NOT NULL,
    digests bytea NOT NULL CHECK (length(digests) % 8 = 0),
    PRIMARY KEY (session, place)
);

CREATE TRIGGER origin_stays_closed BEFORE UPDATE ON origin FOR EACH ROW
    WHEN (OLD.closed AND NOT NEW.closed)
    EXECUTE FUNCTION refuse('a closed memory stays closed');
CREATE TRIGGER origin_stays BEFORE DELETE ON origin FOR EACH ROW
    EXECUTE FUNCTION refuse('a memory is not deleted');
CREATE TRIGGER origin_chunk_stands BEFORE UPDATE OR DELETE ON origin_chunk FOR EACH ROW
    EXECUTE FUNCTION refuse('what is remembered is neither changed nor deleted');
