-- Version 1. The triggers are a second lock behind the program's own: no statement, from whatever program, lowers a label or
-- forgets a session except by way of a reset that says who decided it and why.

CREATE TABLE session (
    id text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    epoch bigint NOT NULL,
    label text NOT NULL CHECK (label IN ('public', 'internal', 'confidential', 'pii', 'secret')),
    document jsonb NOT NULL
);

CREATE TABLE reset (
    session text COLLATE "C" NOT NULL REFERENCES session (id),
    epoch bigint NOT NULL,
    decided_by text NOT NULL,
    reason text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (session, epoch)
);

CREATE TABLE token (
    place bigint GENERATED ALWAYS AS IDENTITY,
    id text COLLATE "C" PRIMARY KEY,
    digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
    role text NOT NULL,
    principal text NOT NULL,
    agent text,
    issued_at bigint NOT NULL,
    revoked_at bigint
);

-- Which process writes to which ledger: the highest fence is the one in force.
CREATE TABLE writer (
    ledger text COLLATE "C" PRIMARY KEY,
    fence bigint NOT NULL
);

CREATE FUNCTION rank_of(label text) RETURNS integer IMMUTABLE LANGUAGE sql
AS $$ SELECT array_position(ARRAY['public', 'internal', 'confidential', 'pii', 'secret'], label) $$;

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0];
END $$;

CREATE TRIGGER label_never_falls BEFORE UPDATE ON session FOR EACH ROW
    WHEN (NEW.epoch <= OLD.epoch AND rank_of(NEW.label) < rank_of(OLD.label))
    EXECUTE FUNCTION refuse('a label only falls by a reset');
CREATE TRIGGER versions_grow BEFORE UPDATE ON session FOR EACH ROW
    WHEN (NEW.version <> OLD.version + 1 OR NEW.epoch NOT IN (OLD.epoch, OLD.epoch + 1) OR NEW.id <> OLD.id)
    EXECUTE FUNCTION refuse('a session goes on one version at a time');
CREATE TRIGGER session_stays BEFORE DELETE ON session FOR EACH ROW
    EXECUTE FUNCTION refuse('a session is not deleted');
CREATE TRIGGER sessions_stay BEFORE TRUNCATE ON session
    EXECUTE FUNCTION refuse('a session is not deleted');
CREATE TRIGGER reset_stays BEFORE UPDATE OR DELETE ON reset FOR EACH ROW
    EXECUTE FUNCTION refuse('a reset is not changed');
CREATE TRIGGER revocation_stays BEFORE UPDATE ON token FOR EACH ROW
    WHEN (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
    EXECUTE FUNCTION refuse('a revoked token stays revoked');
CREATE TRIGGER token_stays BEFORE DELETE ON token FOR EACH ROW
    EXECUTE FUNCTION refuse('a token is revoked, not deleted');
CREATE TRIGGER fence_grows BEFORE UPDATE ON writer FOR EACH ROW
    WHEN (NEW.fence <= OLD.fence)
    EXECUTE FUNCTION refuse('a fence only grows');

CREATE FUNCTION reset_is_recorded() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM reset WHERE session = NEW.id AND epoch = NEW.epoch) THEN
        RAISE EXCEPTION 'a reset without its record';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER reset_has_a_reason AFTER UPDATE ON session DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.epoch <> OLD.epoch)
    EXECUTE FUNCTION reset_is_recorded();
