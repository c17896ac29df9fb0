-- What waits for a person. No value of a call is here: a gate's document holds names, types and lengths, and its binding is a
-- digest under a key that is not in this database.

-- Every change of a gate moves the clock in its own transaction, so that changes are seen in the order of their ticks.
CREATE TABLE gate_clock (single boolean PRIMARY KEY DEFAULT true CHECK (single), tick bigint NOT NULL);
INSERT INTO gate_clock (tick) VALUES (0);

CREATE TABLE gate (
    place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    kind text NOT NULL,
    session text COLLATE "C" NOT NULL REFERENCES session (id),
    of_user text NOT NULL,
    agent text NOT NULL,
    asked_by text NOT NULL,
    owner text COLLATE "C" NOT NULL,
    binding bytea NOT NULL CHECK (length(binding) = 32),
    tool text,
    class text NOT NULL CHECK (class IN ('public', 'internal', 'confidential', 'pii', 'secret')),
    rule text NOT NULL,
    policy text NOT NULL,
    document text NOT NULL,
    evidence text,
    opened_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    needed integer NOT NULL CHECK (needed > 0),
    state text NOT NULL CHECK (state IN ('open', 'approved', 'denied', 'expired', 'spent')),
    approvals text NOT NULL,
    ended_by text,
    ended_reason text,
    ended_at bigint,
    tick bigint NOT NULL,
    CHECK ((ended_at IS NULL) = (state = 'open')),
    CHECK ((ended_at IS NULL) = (ended_reason IS NULL))
);
CREATE INDEX gate_open ON gate (place) WHERE state = 'open';
CREATE INDEX gate_open_by_kind ON gate (kind, place) WHERE state = 'open';
CREATE INDEX gate_open_by_session ON gate (session, place) WHERE state = 'open';
CREATE INDEX gate_decided ON gate (place) WHERE state <> 'open';
CREATE INDEX gate_by_kind ON gate (kind, place);
CREATE INDEX gate_by_session ON gate (session, place);
CREATE INDEX gate_by_binding ON gate (binding, place);
CREATE INDEX gate_by_tick ON gate (tick);
CREATE INDEX gate_waiting_by_end ON gate (expires_at) WHERE state IN ('open', 'approved');
CREATE INDEX gate_open_by_owner ON gate (owner, place) WHERE state = 'open';

CREATE TRIGGER gate_stays BEFORE DELETE ON gate FOR EACH ROW EXECUTE FUNCTION refuse('a gate is not deleted');
CREATE TRIGGER gate_stands BEFORE UPDATE ON gate FOR EACH ROW
    WHEN (NEW.id <> OLD.id OR NEW.kind <> OLD.kind OR NEW.session <> OLD.session OR NEW.binding <> OLD.binding
          OR NEW.needed < OLD.needed OR NEW.policy <> OLD.policy)
    EXECUTE FUNCTION refuse('what a gate asks is not changed');
CREATE TRIGGER gate_stays_closed BEFORE UPDATE ON gate FOR EACH ROW
    WHEN (OLD.state IN ('denied', 'expired', 'spent') AND NEW.state <> OLD.state)
    EXECUTE FUNCTION refuse('a closed gate stays closed');
CREATE TRIGGER gate_is_approved_first BEFORE UPDATE ON gate FOR EACH ROW
    WHEN (NEW.state = 'spent' AND OLD.state <> 'approved')
    EXECUTE FUNCTION refuse('only an approval is spent');

-- Whoever moves the clock is alone at it until the end of the transaction, so that of two who ask the same one is told of the
-- other's gate. `known` is the id of a gate that waits already.
CREATE FUNCTION open_gate(its_ledger text, its_fence bigint, most bigint, new_id text, new_kind text, new_session text,
        new_user text, new_agent text, new_asked_by text, new_owner text, new_binding bytea, new_tool text, new_class text,
        new_rule text, new_policy text, new_document text, new_evidence text, new_opened_at bigint, new_expires_at bigint,
        new_needed integer, OUT verdict text, OUT its_place bigint, OUT its_tick bigint, OUT known text)
    LANGUAGE plpgsql AS $$
BEGIN
    IF is_fenced_off(its_ledger, its_fence) THEN
        verdict := 'fenced';
        RETURN;
    END IF;
    UPDATE gate_clock SET tick = tick + 1 RETURNING tick INTO its_tick;
    SELECT id INTO known FROM gate
        WHERE binding = new_binding AND state = 'open' AND expires_at > new_opened_at ORDER BY place DESC LIMIT 1;
    IF FOUND THEN
        verdict := 'known';
        RETURN;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM session WHERE id = new_session) THEN
        verdict := 'no session';
        RETURN;
    END IF;
    IF (SELECT count(*) FROM gate WHERE state = 'open' AND session = new_session) >= most THEN
        verdict := 'too many';
        RETURN;
    END IF;
    INSERT INTO gate (id, kind, session, of_user, agent, asked_by, owner, binding, tool, class, rule, policy, document,
                      evidence, opened_at, expires_at, needed, state, approvals, tick)
        VALUES (new_id, new_kind, new_session, new_user, new_agent, new_asked_by, new_owner, new_binding, new_tool, new_class,
                new_rule, new_policy, new_document, new_evidence, new_opened_at, new_expires_at, new_needed, 'open', '[]',
                its_tick)
        RETURNING place INTO its_place;
    verdict := 'new';
END $$;

-- INVARIANT (released once): the tick that was read is compared in the very statement that changes the gate.
CREATE FUNCTION change_gate(its_ledger text, its_fence bigint, its_place bigint, before bigint, new_state text,
        new_approvals text, new_expires_at bigint, new_ended_by text, new_ended_reason text, new_ended_at bigint,
        OUT verdict text, OUT its_tick bigint)
    LANGUAGE plpgsql AS $$
BEGIN
    IF is_fenced_off(its_ledger, its_fence) THEN
        verdict := 'fenced';
        RETURN;
    END IF;
    UPDATE gate_clock SET tick = tick + 1 RETURNING tick INTO its_tick;
    UPDATE gate SET state = new_state, approvals = new_approvals, expires_at = new_expires_at, ended_by = new_ended_by,
                    ended_reason = new_ended_reason, ended_at = new_ended_at, tick = its_tick
        WHERE place = its_place AND tick = before;
    verdict := CASE WHEN FOUND THEN 'done' ELSE 'moved' END;
END $$;
