-- KEYS: session, ids, writers. ARGV: ledger, fence, id, version, epoch, label, rank, document.
if ARGV[1] ~= '' and redis.call('HGET', KEYS[3], ARGV[1]) ~= ARGV[2] then return {'fenced'} end
-- An id that is listed and has no session was lost: opened again, it would be clean.
if redis.call('EXISTS', KEYS[1]) == 1 or redis.call('ZSCORE', KEYS[2], ARGV[3]) then return {'taken'} end
redis.call('HSET', KEYS[1], 'version', ARGV[4], 'epoch', ARGV[5], 'label', ARGV[6], 'rank', ARGV[7], 'document', ARGV[8])
redis.call('ZADD', KEYS[2], 0, ARGV[3])
return {'done'}
