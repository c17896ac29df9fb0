-- The records of every gateway's ledger, for those who read them back at any gateway. What proves them is each ledger itself: this
-- table may be emptied, and the gateways publish again.

CREATE TABLE record (
    place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ledger text COLLATE "C" NOT NULL,
    idx bigint NOT NULL,
    chain bytea NOT NULL,
    at_ms bigint NOT NULL,
    type text NOT NULL,
    class smallint,
    tool text,
    bytes bytea NOT NULL,
    UNIQUE (ledger, idx)
);
CREATE INDEX record_by_chain ON record (chain, place);
CREATE INDEX record_by_type ON record (type, place);
CREATE INDEX record_by_class ON record (class, place);
CREATE INDEX record_by_tool ON record (tool, place);
CREATE INDEX record_by_time ON record (at_ms);

CREATE FUNCTION publish(its_ledger text, its_fence bigint, indexes bigint[], chains bytea[], times bigint[], types text[],
                        classes smallint[], tools text[], records bytea[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF is_fenced_off(its_ledger, its_fence) THEN
        RETURN 'fenced';
    END IF;
    -- One at a time, so that places become visible in their order: a page never lacks what a later page cannot show.
    PERFORM pg_advisory_xact_lock(hashtextextended(current_schema() || ':records', 0));
    INSERT INTO record (ledger, idx, chain, at_ms, type, class, tool, bytes)
        SELECT its_ledger, new.idx, new.chain, new.at_ms, new.type, new.class, new.tool, new.bytes
        FROM unnest(indexes, chains, times, types, classes, tools, records)
             AS new (idx, chain, at_ms, type, class, tool, bytes)
        ORDER BY new.idx
        ON CONFLICT (ledger, idx) DO NOTHING;
    RETURN 'done';
END $$;

CREATE FUNCTION records(after_place bigint, its_chain bytea, its_type text, from_ms bigint, until_ms bigint, its_class smallint,
                        its_tool text, most bigint)
RETURNS TABLE (place bigint, ledger text, bytes bytea) LANGUAGE plpgsql STABLE
-- Each question is planned for the filters it has.
SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT record.place, record.ledger::text, record.bytes FROM record
        WHERE record.place > after_place
        AND (its_chain IS NULL OR record.chain = its_chain)
        AND (its_type IS NULL OR record.type = its_type)
        AND (from_ms IS NULL OR record.at_ms >= from_ms)
        AND (until_ms IS NULL OR record.at_ms < until_ms)
        AND (its_class IS NULL OR record.class = its_class)
        AND (its_tool IS NULL OR record.tool = its_tool)
        ORDER BY record.place LIMIT most;
END $$;
