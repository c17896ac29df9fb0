-- Version 6. The end of a run takes the place of a halt that a person could lift.

DROP TRIGGER halt_stays;
CREATE TRIGGER halt_stays BEFORE UPDATE ON session
WHEN NEW.epoch <= OLD.epoch AND OLD.halted_by IS NOT NULL
    AND (NEW.halted_by IS NOT OLD.halted_by OR NEW.halted_at IS NOT OLD.halted_at)
    AND NOT (NEW.halted_by IS NULL AND EXISTS (
        SELECT 1 FROM resumption WHERE session = OLD.id AND epoch = OLD.epoch
            AND halted_by = OLD.halted_by AND halted_at = OLD.halted_at))
    AND NOT (NEW.halted_by IS 'tidegate.session-end' AND OLD.halted_by <> 'tidegate.session-end')
BEGIN SELECT RAISE(ABORT, 'a halt is only lifted by a person'); END;
