-- Sources whose class somebody should look at: names and classes, no value of any call.

CREATE TABLE class_review (
    place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    source text COLLATE "C" NOT NULL,
    cause text NOT NULL CHECK (cause IN ('new_tool', 'changed_tool', 'new_connector', 'pii_leak_risk')),
    class text CHECK (class IN ('public', 'internal', 'confidential', 'pii', 'secret')),
    ceiling text CHECK (ceiling IN ('public', 'internal', 'confidential', 'pii', 'secret')),
    opened_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    seen bigint NOT NULL CHECK (seen > 0),
    settled_by text,
    settled_role text,
    verdict text CHECK (verdict IN ('assigned-right', 'changed')),
    reason text,
    settled_at bigint,
    CHECK ((class IS NULL) = (ceiling IS NULL)),
    CHECK ((settled_at IS NULL) = (settled_by IS NULL) AND (settled_at IS NULL) = (settled_role IS NULL)
           AND (settled_at IS NULL) = (verdict IS NULL) AND (settled_at IS NULL) = (reason IS NULL))
);
-- One is open for each source and cause.
CREATE UNIQUE INDEX class_review_open_once ON class_review (cause, source) WHERE settled_at IS NULL;
CREATE INDEX class_review_by_source ON class_review (source, cause, place);
CREATE INDEX class_review_open ON class_review (place) WHERE settled_at IS NULL;
CREATE INDEX class_review_settled ON class_review (place) WHERE settled_at IS NOT NULL;

CREATE TRIGGER class_review_stays BEFORE DELETE ON class_review
    FOR EACH ROW EXECUTE FUNCTION refuse('a class review is not deleted');
CREATE TRIGGER class_review_stands BEFORE UPDATE ON class_review FOR EACH ROW
    WHEN (NEW.id <> OLD.id OR NEW.source <> OLD.source OR NEW.cause <> OLD.cause OR NEW.seen < OLD.seen
          OR OLD.settled_at IS NOT NULL)
    EXECUTE FUNCTION refuse('what a class review asks, and what was settled, is not changed');

-- `its_id` is that of the new review, or of the open one that was counted once more.
CREATE FUNCTION open_class_review(its_ledger text, its_fence bigint, most bigint, new_id text, new_source text,
        new_cause text, new_class text, new_ceiling text, at bigint, OUT verdict text, OUT its_id text)
    LANGUAGE plpgsql AS $$
BEGIN
    IF is_fenced_off(its_ledger, its_fence) THEN
        verdict := 'fenced';
        RETURN;
    END IF;
    -- One at a time: of two who see the same one is told of the other's review, and neither opens one too many.
    LOCK TABLE class_review IN SHARE ROW EXCLUSIVE MODE;
    UPDATE class_review SET seen = least(seen + 1, 4294967295), seen_at = greatest(seen_at, at)
        WHERE cause = new_cause AND source = new_source AND settled_at IS NULL RETURNING id INTO its_id;
    IF FOUND THEN
        verdict := 'counted';
        RETURN;
    END IF;
    IF (SELECT count(*) FROM class_review WHERE cause = new_cause AND settled_at IS NULL) >= most THEN
        verdict := 'too many';
        RETURN;
    END IF;
    INSERT INTO class_review (id, source, cause, class, ceiling, opened_at, seen_at, seen)
        VALUES (new_id, new_source, new_cause, new_class, new_ceiling, at, at, 1);
    verdict := 'new';
    its_id := new_id;
END $$;

CREATE FUNCTION settle_class_review(its_ledger text, its_fence bigint, its_id text, new_by text, new_role text,
        new_verdict text, new_reason text, at bigint, OUT outcome text)
    LANGUAGE plpgsql AS $$
BEGIN
    IF is_fenced_off(its_ledger, its_fence) THEN
        outcome := 'fenced';
        RETURN;
    END IF;
    UPDATE class_review SET settled_by = new_by, settled_role = new_role, verdict = new_verdict, reason = new_reason,
                            settled_at = at
        WHERE id = its_id AND settled_at IS NULL;
    IF FOUND THEN
        outcome := 'done';
    ELSIF EXISTS (SELECT 1 FROM class_review WHERE id = its_id) THEN
        outcome := 'settled';
    ELSE
        outcome := 'no review';
    END IF;
END $$;
