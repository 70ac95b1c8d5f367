"""What runs inside the server: scripts in Lua, each of which is carried out whole and alone, or not at all.

Every key begins with `thoughtkeep:1:`, where 1 is the version of this layout:

    key         the 32 bytes that all digests are made with
    seq         the number of the turn that was written last: microseconds, always growing, never given twice
    used        conversations by when they were used last, on the clock of the proxies
    turns       how many turns each conversation has, and `all` of them have
    bytes       likewise how many bytes
    c:NAME      a conversation: the head (h), the body (b) and the marks (m) of each turn, by its number
    t:NAME      where the turn of an id is: its number and its conversation
    x:DIGEST    turns that have a mark, by when they were made: number and conversation, and the tenant for others
    l:NAME      who has a lease

Names and digests are keyed and of fixed length, so that they stand in a row without anything between them. What belongs
to a conversation expires when it was not used; the first five, which are small, do not. An entry whose turn is gone,
because it expired or the server needed room, is taken out when it is met.

The first argument of each script is the key. A script that finds another key there does nothing and returns nil.
"""

KEY = "thoughtkeep:1:key"

# Characters of a turn's number, of a name, of a mark's digest and of a tenant's.
NUMBER = 16
NAME = 16
MARK = 12
TENANT = 8

_BEGIN = """
local P = 'thoughtkeep:1:'
local call = redis.call
local key = call('GET', KEYS[1])
if key and key ~= ARGV[1] then return false end
"""

# Nothing of a conversation is left. Not with `call`: lookups do this as well, also where nothing can be written.
_GONE = """
local function gone(conversation)
  for _, what in ipairs({'turns', 'bytes'}) do
    local left = call('HGET', P .. what, conversation)
    if left then
      redis.pcall('HINCRBY', P .. what, 'all', string.format('%.0f', -tonumber(left)))
      redis.pcall('HDEL', P .. what, conversation)
    end
  end
  redis.pcall('ZREM', P .. 'used', conversation)
  redis.pcall('DEL', P .. 'c:' .. conversation)
end
"""

_MARKS = """
local function each_mark(number, conversation, marks, act)
  local own = string.find(marks, '/', 25, true)
  local shared = string.find(marks, '/', own + 1, true)
  for at = 25, own - 1, 12 do
    act(P .. 'x:' .. string.sub(marks, at, at + 11), number .. conversation)
  end
  for at = own + 1, shared - 1, 12 do
    act(P .. 'x:' .. string.sub(marks, at, at + 11), number .. conversation .. string.sub(marks, 17, 24))
  end
end
local function numbers(conversation)
  local found = {}
  for _, field in ipairs(call('HKEYS', P .. 'c:' .. conversation)) do
    if string.sub(field, 1, 1) == 'm' then found[#found + 1] = string.sub(field, 2) end
  end
  table.sort(found)
  return found
end
"""

_REMOVE = """
local function size(content, number)
  local total = 400
  for _, part in ipairs({'h', 'b', 'm'}) do total = total + call('HSTRLEN', content, part .. number) end
  return total + math.floor(call('HSTRLEN', content, 'm' .. number) / 12) * 180
end
local function count(conversation, turns, bytes)
  for what, more in pairs({turns = turns, bytes = bytes}) do
    call('HINCRBY', P .. what, 'all', string.format('%.0f', more))
    call('HINCRBY', P .. what, conversation, string.format('%.0f', more))
  end
end
local function remove(number, conversation)
  local content = P .. 'c:' .. conversation
  local marks = call('HGET', content, 'm' .. number)
  if not marks then return end
  each_mark(number, conversation, marks, function(index, member) call('ZREM', index, member) end)
  local name = P .. 't:' .. string.sub(marks, 1, 16)
  if call('GET', name) == number .. conversation then call('DEL', name) end
  count(conversation, -1, -size(content, number))
  call('HDEL', content, 'h' .. number, 'b' .. number, 'm' .. number)
  if tonumber(call('HGET', P .. 'turns', conversation)) <= 0 then gone(conversation) end
end
"""

# ARGV: key, seconds that records live, seconds that what finds them lives, seconds after which the latter is renewed.
# The marks of a long conversation are many, so they live longer than its content and are renewed now and then.
_USE = """
local function hold(name, seconds)
  if call('TTL', name) < tonumber(seconds) then call('EXPIRE', name, seconds) end
end
local function use(conversation, now)
  local used = call('ZSCORE', P .. 'used', conversation)
  if not used or tonumber(used) < tonumber(now) then call('ZADD', P .. 'used', now, conversation) end
  local content = P .. 'c:' .. conversation
  hold(content, ARGV[2])
  local time = tonumber(call('TIME')[1])
  local since = tonumber(call('HGET', content, 's') or '0')
  if time - since >= 0 and time - since <= tonumber(ARGV[4]) then return end
  call('HSET', content, 's', string.format('%.0f', time))
  for _, number in ipairs(numbers(conversation)) do
    local marks = call('HGET', content, 'm' .. number)
    each_mark(number, conversation, marks, function(index) hold(index, ARGV[3]) end)
    hold(P .. 't:' .. string.sub(marks, 1, 16), ARGV[3])
  end
end
"""

# Returns the key that is there, which is ARGV[1] if there was none.
GREET = """
local key = redis.call('GET', KEYS[1])
if not key then
  key = ARGV[1]
  redis.call('SET', KEYS[1], key)
end
return key
"""

# ARGV: as for _USE, then of each turn: name, conversation, made, used, marks, head, body. Returns their
# numbers, and behind them the bytes of all turns.
PUT = (
    _BEGIN
    + _GONE
    + _MARKS
    + _REMOVE
    + _USE
    + """
if not key then call('SET', KEYS[1], ARGV[1]) end
local written = {}
for at = 5, #ARGV, 7 do
  local name, conversation, made, used, marks = unpack(ARGV, at, at + 4)
  local before = call('GET', P .. 't:' .. name)
  if before then remove(string.sub(before, 1, 16), string.sub(before, 17)) end
  local time = call('TIME')
  local last = tonumber(call('GET', P .. 'seq') or '0')
  local number = string.format('%016.0f', math.max(last + 1, tonumber(time[1]) * 1000000 + tonumber(time[2])))
  call('SET', P .. 'seq', number)
  local content = P .. 'c:' .. conversation
  call('HSET', content, 'h' .. number, ARGV[at + 5], 'b' .. number, ARGV[at + 6], 'm' .. number, marks)
  call('SET', P .. 't:' .. name, number .. conversation, 'EX', ARGV[3])
  each_mark(number, conversation, marks, function(index, member)
    call('ZADD', index, made, member)
    hold(index, ARGV[3])
  end)
  count(conversation, 1, size(content, number))
  use(conversation, used)
  written[#written + 1] = number
end
written[#written + 1] = call('HGET', P .. 'bytes', 'all')
return written
"""
)

# ARGV: as for _USE, then of each turn: name, used.
TOUCH = (
    _BEGIN
    + _MARKS
    + _USE
    + """
local done = {}
for at = 5, #ARGV, 2 do
  local place = call('GET', P .. 't:' .. ARGV[at])
  local conversation = place and string.sub(place, 17)
  if conversation and (done[conversation] or 0) < tonumber(ARGV[at + 1]) then
    done[conversation] = tonumber(ARGV[at + 1])
    if call('EXISTS', P .. 'c:' .. conversation) == 1 then use(conversation, ARGV[at + 1]) end
  end
end
return 1
"""
)

# ARGV: key, tenant, most of one's own by one mark, most of all that are looked at by one mark, own marks, shared marks.
# Returns what has these marks: numbers and conversations of one's own, then of others, each in a row.
LOOK = (
    _BEGIN
    + _GONE
    + """
local function newest(marks, most, length, mine)
  local found, seen = {}, {}
  for at = 1, #marks, 12 do
    local index = P .. 'x:' .. string.sub(marks, at, at + 11)
    for _, member in ipairs(call('ZREVRANGE', index, 0, most - 1)) do
      if #member == length and not seen[member] and string.sub(member, 33) ~= mine then
        local conversation = string.sub(member, 17, 32)
        if call('HEXISTS', P .. 'c:' .. conversation, 'm' .. string.sub(member, 1, 16)) == 1 then
          seen[member] = true
          found[#found + 1] = string.sub(member, 1, 32)
        else
          redis.pcall('ZREM', index, member)
          if call('EXISTS', P .. 'c:' .. conversation) == 0 then gone(conversation) end
        end
      end
    end
  end
  return table.concat(found)
end
return {newest(ARGV[5], ARGV[3], 32, nil), newest(ARGV[6], ARGV[4], 40, ARGV[2])}
"""
)

# ARGV: key, numbers and conversations of which head and body are wanted, and of which the head. Returns them in a row.
READ = (
    _BEGIN
    + """
local found = {}
for at = 1, #ARGV[2], 32 do
  local number, content = string.sub(ARGV[2], at, at + 15), P .. 'c:' .. string.sub(ARGV[2], at + 16, at + 31)
  found[#found + 1] = call('HGET', content, 'h' .. number)
  found[#found + 1] = call('HGET', content, 'b' .. number)
end
for at = 1, #ARGV[3], 32 do
  local number, content = string.sub(ARGV[3], at, at + 15), P .. 'c:' .. string.sub(ARGV[3], at + 16, at + 31)
  found[#found + 1] = call('HGET', content, 'h' .. number)
end
return found
"""
)

# ARGV: key, conversation. Returns the numbers of its turns in a row, the newest first.
TELL = (
    _BEGIN
    + _MARKS
    + """
local made = {}
local found = numbers(ARGV[2])
for _, number in ipairs(found) do
  made[number] = tonumber(string.match(call('HGET', P .. 'c:' .. ARGV[2], 'm' .. number), '[^/]*$'))
end
table.sort(found, function(one, other)
  if made[one] ~= made[other] then return made[one] > made[other] end
  return one > other
end)
return table.concat(found)
"""
)

# ARGV: key, what (turn, conversation, all), its name, the last number that is reached (empty: the present one), turns
# to delete at most. Returns that number, and 1 if there is more to delete, else 0.
FORGET = (
    _BEGIN
    + _GONE
    + _MARKS
    + _REMOVE
    + """
local reach, left = ARGV[4], tonumber(ARGV[5])
if reach == '' then reach = call('GET', P .. 'seq') or string.format('%016d', 0) end
local function clear(conversation)
  for _, number in ipairs(numbers(conversation)) do
    if tonumber(number) > tonumber(reach) then return end
    if left == 0 then return end
    remove(number, conversation)
    left = left - 1
  end
end
if ARGV[2] == 'turn' then
  local place = call('GET', P .. 't:' .. ARGV[3])
  if place and tonumber(string.sub(place, 1, 16)) <= tonumber(reach) then
    remove(string.sub(place, 1, 16), string.sub(place, 17))
  end
elseif ARGV[2] == 'conversation' then
  clear(ARGV[3])
else
  local stay = 0
  while left > 0 do
    local conversation = call('ZRANGE', P .. 'used', stay, stay)[1]
    if not conversation then break end
    clear(conversation)
    if call('EXISTS', P .. 'c:' .. conversation) == 0 then gone(conversation) else stay = stay + 1 end
  end
end
return {reach, left == 0 and 1 or 0}
"""
)

# ARGV: key, when what is too old was used last, most bytes, turns to delete at most, the time of what has begun to go.
# Returns 1 if there is more to delete, else 0.
TRIM = (
    _BEGIN
    + _GONE
    + _MARKS
    + _REMOVE
    + """
local most, left = tonumber(ARGV[3]), tonumber(ARGV[4])
while left > 0 do
  local oldest = call('ZRANGE', P .. 'used', 0, 1, 'WITHSCORES')
  local conversation = oldest[1]
  if not conversation then
    call('DEL', P .. 'turns', P .. 'bytes')
    return 0
  end
  local expired = tonumber(oldest[2]) < tonumber(ARGV[2])
  local function over() return tonumber(call('HGET', P .. 'bytes', 'all') or '0') > most end
  if not expired and not over() then return 0 end
  local whole = expired or #oldest > 2
  local found = numbers(conversation)
  if #found > left and whole then call('ZADD', P .. 'used', ARGV[5], conversation) end
  for at = 1, math.min(#found, left) do
    if not whole and not over() then return 0 end
    remove(found[at], conversation)
  end
  if #found <= left then gone(conversation) end
  left = left - math.max(#found, 1)
end
return 1
"""
)

# ARGV: key. Returns turns, conversations and bytes.
COUNT = (
    _BEGIN
    + """
return {
  tonumber(call('HGET', P .. 'turns', 'all') or '0'),
  call('ZCARD', P .. 'used'),
  tonumber(call('HGET', P .. 'bytes', 'all') or '0'),
}
"""
)

# ARGV: key, name, who, milliseconds. Returns 1 if it is theirs now, else 0.
LEASE = (
    _BEGIN
    + """
local held = call('GET', P .. 'l:' .. ARGV[2])
if held and held ~= ARGV[3] then return 0 end
call('SET', P .. 'l:' .. ARGV[2], ARGV[3], 'PX', ARGV[4])
return 1
"""
)

# ARGV: key, name, who.
RELEASE = (
    _BEGIN
    + """
if call('GET', P .. 'l:' .. ARGV[2]) == ARGV[3] then call('DEL', P .. 'l:' .. ARGV[2]) end
return 1
"""
)
