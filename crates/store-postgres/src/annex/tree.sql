-- Bits that passed below a label are counted in the whole tree of a run: a value that a grandchild handed to a clean child
-- is handed on from there without costing anything again.

CREATE FUNCTION taken_in_tree_of(its_child text) RETURNS bigint LANGUAGE sql
AS $$
    WITH RECURSIVE above (id) AS (
        SELECT parent FROM kin WHERE child = its_child
        UNION SELECT kin.parent FROM kin JOIN above ON kin.child = above.id
    ), below (child, bits) AS (
        SELECT kin.child, kin.taken_bits FROM kin JOIN above ON kin.parent = above.id
        UNION SELECT kin.child, kin.taken_bits FROM kin JOIN below ON kin.parent = below.child
    )
    SELECT coalesce(sum(bits), 0)::bigint FROM below
$$;

CREATE OR REPLACE FUNCTION take_answer(its_ledger text, its_fence bigint, its_child text, bits bigint, most bigint,
                                       OUT verdict text, OUT taken bigint) LANGUAGE plpgsql AS $$
DECLARE
    before bigint;
BEGIN
    taken := 0;
    IF is_fenced_off(its_ledger, its_fence) THEN
        verdict := 'fenced';
        RETURN;
    END IF;
    -- One answer at a time, and no adoption meanwhile: locks on the rows of a tree would miss a tree that is joined to it.
    LOCK TABLE kin IN SHARE ROW EXCLUSIVE MODE;
    SELECT taken_bits INTO before FROM kin WHERE child = its_child;
    IF NOT FOUND THEN
        verdict := 'no child';
        RETURN;
    END IF;
    IF before IS NOT NULL THEN
        verdict := 'answered';
        RETURN;
    END IF;
    taken := taken_in_tree_of(its_child) + bits;
    IF bits > 0 AND taken > most THEN
        verdict := 'bits spent';
        RETURN;
    END IF;
    UPDATE kin SET taken_bits = bits WHERE child = its_child;
    verdict := 'done';
END $$;
