-- KEYS: tokens by digest, digests by id. ARGV: digest, id, token.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 or redis.call('HEXISTS', KEYS[2], ARGV[2]) == 1 then return {'taken'} end
local place = redis.call('HLEN', KEYS[2])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('HSET', KEYS[2], ARGV[2], string.format('%012d:%s', place, ARGV[1]))
return {'done'}
