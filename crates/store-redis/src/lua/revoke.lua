-- KEYS: tokens by digest, digests by id, revocations by digest. ARGV: id, at.
local entry = redis.call('HGET', KEYS[2], ARGV[1])
if not entry then return {'none'} end
redis.call('HSETNX', KEYS[3], string.sub(entry, 14), ARGV[2])
return {'done'}
