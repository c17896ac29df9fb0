-- Destructions that no record says yet: written in the statement that leaves the tombstone, taken away when the record is durable.

CREATE TABLE owed (
    id bytea PRIMARY KEY REFERENCES evidence (id),
    cause smallint NOT NULL,
    asker text COLLATE "C",
    -- The ledger of the gateway that destroyed it.
    holder text COLLATE "C" NOT NULL
);
CREATE INDEX owed_by ON owed (holder);
