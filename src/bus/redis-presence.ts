// Presence across processes, on Redis. A sorted set contains the expiry time of every mark, another one per actor that
// of its marks, and a hash per conversation contains the states. Each script changes all of them atomically, so an
// expired mark is returned to one process only. The scripts use Redis's clock, because the processes' clocks may differ.
// TAKE and DISCONNECT access keys that they do not declare, so Redis may have replicas but must not be a cluster.

import { WRITER_HOLDER, type PresenceMark, type PresenceStore, type PresentActor } from './presence.ts'
import { disconnect, withReplyTimeout, type RedisConnect } from './redis-client.ts'

/** Key of the sorted set. Members are `tenant \0 conversationId \0 actor \0 holder`, scored by expiry time in ms. */
const EXPIRIES = 'colloquy:presence-expiries'
/** Key prefix of a conversation's hash. Fields are `actor \0 holder`; values are `set-at in µs:expiry in ms:state`. */
const CONVERSATION = 'colloquy:presence:'
/** Key prefix of an actor's sorted set, followed by `tenant \0 actor`. Members and scores are those of EXPIRIES. */
const MARKS = 'colloquy:marks:'
/** Key prefix of the sorted set of an actor's processes, scored by the end of their last renewal in ms. */
const CONNECTIONS = 'colloquy:connections:'
/** Time for which Redis keeps a key after its last mark expires, ms, so that a process can still take the marks. */
const SLACK_MS = 3_600_000

/** Sets `time` to Redis's time as {seconds, µs}, and `now` to the same time in ms. */
const NOW = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`

/**
 * KEYS: conversation, expiries, marks. ARGV: field, member, state, ttl in ms, slack in ms. Sets or renews a mark. Times
 * are formatted with all digits, because Lua's default format rounds to 14 digits.
 */
const SET = `${NOW}
  local ends = string.format('%.0f', now + ARGV[4])
  local at = string.format('%.0f', time[1] * 1000000 + time[2])
  redis.call('HSET', KEYS[1], ARGV[1], at .. ':' .. ends .. ':' .. ARGV[3])
  redis.call('ZADD', KEYS[2], ends, ARGV[2])
  redis.call('ZADD', KEYS[3], ends, ARGV[2])
  local keep = ARGV[4] + ARGV[5]
  for _, key in ipairs(KEYS) do
    if redis.call('PTTL', key) < keep then redis.call('PEXPIRE', key, keep) end
  end`

/**
 * KEYS: conversation, expiries, marks. ARGV: field, member. Removes a mark and returns 1; returns 0 if there is none or
 * it has expired. TAKE removes expired marks, because its caller notifies the conversation's subscribers.
 */
const REMOVE = `${NOW}
  local ends = redis.call('ZSCORE', KEYS[2], ARGV[2])
  if not ends or tonumber(ends) <= now then return 0 end
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('ZREM', KEYS[3], ARGV[2])
  return redis.call('ZREM', KEYS[2], ARGV[2])`

/**
 * KEYS: conversation, expiries, marks. ARGV: tenant and id of the conversation, each with a \0, and the actor. Removes
 * all marks of the actor in the conversation; returns their number.
 */
const REMOVE_ACTOR = `
  local removed = 0
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if field:match('^(.-)%z') == ARGV[2] then
      redis.call('HDEL', KEYS[1], field)
      redis.call('ZREM', KEYS[2], ARGV[1] .. field)
      redis.call('ZREM', KEYS[3], ARGV[1] .. field)
      removed = removed + 1
    end
  end
  return removed`

/**
 * KEYS: expiries. ARGV: limit, key prefixes of conversations and of marks. Removes and returns expired members, oldest
 * first.
 */
const TAKE = `${NOW}
  local members = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
  for _, member in ipairs(members) do
    local tenant, conversation, field = member:match('^(.-)%z(.-)%z(.*)$')
    redis.call('ZREM', KEYS[1], member)
    redis.call('HDEL', ARGV[2] .. conversation, field)
    redis.call('ZREM', ARGV[3] .. tenant .. string.char(0) .. field:match('^(.-)%z'), member)
  end
  return members`

/** KEYS: connections. ARGV: process, ttl in ms, slack in ms. Records or renews the connections of a process. */
const CONNECT = `${NOW}
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2] + ARGV[3])`

/**
 * KEYS: connections, expiries, marks. ARGV: process, key prefix of conversations. Removes the process and, if no other
 * has connections, all marks. Returns the members of the removed marks.
 */
const DISCONNECT = `${NOW}
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  if redis.call('ZCARD', KEYS[1]) > 0 then return {} end
  local members = redis.call('ZRANGE', KEYS[3], 0, -1)
  for _, member in ipairs(members) do
    local _, conversation, field = member:match('^(.-)%z(.-)%z(.*)$')
    redis.call('ZREM', KEYS[2], member)
    redis.call('HDEL', ARGV[2] .. conversation, field)
  end
  redis.call('DEL', KEYS[3])
  return members`

/**
 * Connects to Redis and returns a presence store. Its methods reject with Unavailable: immediately if Redis is
 * disconnected, otherwise after REPLY_MS without a reply.
 */
export async function createRedisPresence(connect: RedisConnect): Promise<PresenceStore> {
  const client = await connect()

  const run = (script: string, keys: string[], ...args: (string | number)[]) =>
    withReplyTimeout(client.eval(script, { keys, arguments: args.map(String) }))
  const fieldOf = ({ actor, holder }: PresenceMark) => `${actor}\0${holder}`
  const memberOf = (mark: PresenceMark) => `${mark.tenant}\0${mark.conversationId}\0${fieldOf(mark)}`
  const actorOf = ({ tenant, actor }: PresentActor) => `${tenant}\0${actor}`
  const keysOf = (conversationId: string, actor: PresentActor) => [
    CONVERSATION + conversationId,
    EXPIRIES,
    MARKS + actorOf(actor),
  ]

  return {
    async set(mark, state, ttlMs) {
      await run(SET, keysOf(mark.conversationId, mark), fieldOf(mark), memberOf(mark), state, ttlMs, SLACK_MS)
    },
    async remove(mark) {
      return (await run(REMOVE, keysOf(mark.conversationId, mark), fieldOf(mark), memberOf(mark))) === 1
    },
    async removeActor(conversationId, actor) {
      const prefix = `${actor.tenant}\0${conversationId}\0`
      return ((await run(REMOVE_ACTOR, keysOf(conversationId, actor), prefix, actor.actor)) as number) > 0
    },
    async states(conversationIds) {
      const hashes = conversationIds.map((conversationId) => client.hGetAll(CONVERSATION + conversationId))
      const [[seconds, micros], ...marks] = await withReplyTimeout(Promise.all([client.time(), ...hashes]))
      const now = Number(seconds) * 1000 + Number(micros) / 1000
      return new Map(conversationIds.map((conversationId, i) => [conversationId, newestUnexpired(marks[i] ?? {}, now)]))
    },
    async takeExpired(limit) {
      return ((await run(TAKE, [EXPIRIES], limit, CONVERSATION, MARKS)) as string[]).map(markOf)
    },
    async connect(actor, process, ttlMs) {
      await run(CONNECT, [CONNECTIONS + actorOf(actor)], process, ttlMs, SLACK_MS)
    },
    async disconnect(actor, process) {
      const keys = [CONNECTIONS + actorOf(actor), EXPIRIES, MARKS + actorOf(actor)]
      const members = (await run(DISCONNECT, keys, process, CONVERSATION)) as string[]
      return [...new Set(members.map((member) => markOf(member).conversationId))]
    },
    close: () => disconnect(client),
  }
}

/** Returns the mark of a member of EXPIRIES. */
function markOf(member: string): PresenceMark {
  const [tenant = '', conversationId = '', actor = '', holder = ''] = member.split('\0')
  return { tenant, conversationId, actor, holder }
}

/**
 * Returns the state of each actor's most recently set unexpired mark in a conversation's hash, of WRITER_HOLDER only if
 * the actor has no other. `now` is in ms.
 */
function newestUnexpired(hash: Record<string, string>, now: number): Map<string, string> {
  const unexpired = Object.entries(hash).flatMap(([field, value]) => {
    const [, setAt, expiresAt, state = ''] = /^(\d+):(\d+):(.*)$/s.exec(value) ?? []
    if (!(Number(expiresAt) > now)) return []
    const [actor = '', holder] = field.split('\0')
    return [{ actor, setAt: holder === WRITER_HOLDER ? 0 : Number(setAt), state }]
  })
  return new Map(unexpired.sort((a, b) => a.setAt - b.setAt).map(({ actor, state }) => [actor, state]))
}
