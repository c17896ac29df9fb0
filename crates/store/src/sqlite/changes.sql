-- Version 5. Which sessions changed, in order, in place of a counter in one row and an index of all sessions by it: a change
-- then writes one page at the end of this table, where it wrote one for the counter and up to three of the index.

CREATE TABLE change (
    place INTEGER PRIMARY KEY,
    revision INTEGER NOT NULL CHECK (revision >= 0),
    session TEXT NOT NULL
) STRICT;
INSERT INTO change (place, revision, session) SELECT 1, revision, '' FROM store;

DROP TRIGGER revision_grows;
DROP INDEX session_by_revision;
-- A process of an older version finds no counter any more and stops, instead of making changes that nobody hears of.
ALTER TABLE store DROP COLUMN revision;

CREATE TRIGGER revision_grows BEFORE INSERT ON change
WHEN NEW.revision < (SELECT revision FROM change ORDER BY place DESC LIMIT 1)
BEGIN SELECT RAISE(ABORT, 'the revision only grows'); END;
CREATE TRIGGER change_stands BEFORE UPDATE ON change
BEGIN SELECT RAISE(ABORT, 'a change is not changed'); END;
-- What a reader may still have to hear of.
CREATE TRIGGER change_stays BEFORE DELETE ON change
WHEN OLD.place > (SELECT max(place) FROM change) - 10000
BEGIN SELECT RAISE(ABORT, 'a late change is not deleted'); END;
