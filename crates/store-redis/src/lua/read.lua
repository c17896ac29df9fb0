-- KEYS: session, writers. ARGV: ledger, fence.
if redis.call('PTTL', KEYS[1]) >= 0 then return {'expires'} end
if ARGV[1] ~= '' and redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] then return {'fenced'} end
local row = redis.call('HMGET', KEYS[1], 'version', 'epoch', 'label', 'document')
if not row[1] then return {'none'} end
return {'row', row[1], row[2], row[3], row[4]}
