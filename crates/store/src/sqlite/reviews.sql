-- Version 7. Sources whose class somebody should look at: names and classes, no value of any call.

CREATE TABLE class_review (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,
    cause TEXT NOT NULL CHECK (cause IN ('new_tool', 'changed_tool', 'new_connector', 'pii_leak_risk')),
    class TEXT CHECK (class IN ('public', 'internal', 'confidential', 'pii', 'secret')),
    ceiling TEXT CHECK (ceiling IN ('public', 'internal', 'confidential', 'pii', 'secret')),
    opened_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    seen INTEGER NOT NULL CHECK (seen > 0),
    settled_by TEXT,
    settled_role TEXT,
    verdict TEXT CHECK (verdict IN ('assigned-right', 'changed')),
    reason TEXT,
    settled_at INTEGER,
    CHECK ((class IS NULL) = (ceiling IS NULL)),
    CHECK ((settled_at IS NULL) = (settled_by IS NULL) AND (settled_at IS NULL) = (settled_role IS NULL)
        AND (settled_at IS NULL) = (verdict IS NULL) AND (settled_at IS NULL) = (reason IS NULL))
) STRICT;

-- One is open for each source and cause.
CREATE UNIQUE INDEX class_review_open_once ON class_review (cause, source) WHERE settled_at IS NULL;
CREATE INDEX class_review_by_source ON class_review (source, cause, place);
CREATE INDEX class_review_open ON class_review (place) WHERE settled_at IS NULL;
CREATE INDEX class_review_settled ON class_review (place) WHERE settled_at IS NOT NULL;

CREATE TRIGGER class_review_stays BEFORE DELETE ON class_review
BEGIN SELECT RAISE(ABORT, 'a class review is not deleted'); END;
CREATE TRIGGER class_review_stands BEFORE UPDATE ON class_review
WHEN NEW.id <> OLD.id OR NEW.source <> OLD.source OR NEW.cause <> OLD.cause OR NEW.seen < OLD.seen
    OR OLD.settled_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'what a class review asks, and what was settled, is not changed'); END;
