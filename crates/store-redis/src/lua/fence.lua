-- KEYS: writers. ARGV: ledger, fence.
local before = redis.call('HGET', KEYS[1], ARGV[1])
if before and tonumber(before) >= tonumber(ARGV[2]) then return {'fenced'} end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return {'done'}
