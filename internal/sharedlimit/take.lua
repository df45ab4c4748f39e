-- One token of one client's bucket. KEYS[1] holds when the bucket is full again, in
-- microseconds of this store's clock. ARGV: what a token and a full bucket take to
-- earn, in microseconds. The answer is one number, never 0: in how many microseconds
-- the bucket is full again, and below 0 if there was no token.
local token, capacity = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stored = tonumber(redis.call('GET', KEYS[1])) or now
-- A clock that was set back makes a bucket empty, and no emptier.
local debt = math.min(math.max(stored - now, 0), capacity)
local allowed = debt + token <= capacity
if allowed then
	debt = debt + token
end
-- A refusal writes nothing, unless the clock was set back: else the bucket would stay
-- empty until the clock is where it was.
if allowed or stored > now + capacity then
	redis.call('SET', KEYS[1], string.format('%.0f', now + debt), 'PX', math.ceil(debt / 1000) + 1)
end
return allowed and debt or -debt
