-- KEYS: session, resets, writers. ARGV: ledger, fence, version, epoch, label, rank, document, reset, channel, id.
-- INVARIANT (ratchet monotone): compared and replaced in one script, and a lower rank only together with a reset.
if redis.call('PTTL', KEYS[1]) >= 0 then return {'expires'} end
if ARGV[1] ~= '' and redis.call('HGET', KEYS[3], ARGV[1]) ~= ARGV[2] then return {'fenced'} end
local before = redis.call('HMGET', KEYS[1], 'version', 'epoch', 'rank')
if not before[1] then return {'none'} end
if tonumber(before[1]) + 1 ~= tonumber(ARGV[3]) then return {'stale'} end
local resets = 0
if ARGV[8] ~= '' then resets = 1 end
if tonumber(before[2]) + resets ~= tonumber(ARGV[4]) then return {'stale'} end
if resets == 0 and tonumber(ARGV[6]) < tonumber(before[3]) then return {'lower'} end
redis.call('HSET', KEYS[1], 'version', ARGV[3], 'epoch', ARGV[4], 'label', ARGV[5], 'rank', ARGV[6], 'document', ARGV[7])
if resets == 1 then redis.call('RPUSH', KEYS[2], ARGV[8]) end
redis.call('PUBLISH', ARGV[9], ARGV[10])
return {'done'}
