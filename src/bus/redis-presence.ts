// Presence across processes, on Redis. A sorted set contains the expiry time of every mark, and a hash per conversation
// contains the states. Each script changes both atomically, so an expired mark is returned to one process only. The
// scripts use Redis's clock, because the processes' clocks may differ. TAKE accesses keys that it does not declare, so
// Redis may have replicas but must not be a cluster.

import type { PresenceMark, PresenceStore } from './presence.ts'
import { disconnect, withReplyTimeout, type RedisConnect } from './redis-client.ts'

/** Key of the sorted set. Members are `conversationId \0 actor \0 holder`, scored by expiry time in ms. */
const EXPIRIES = 'colloquy:presence'
/** Key prefix of a conversation's hash. Fields are `actor \0 holder`; values are `set-at in µs:expiry in ms:state`. */
const CONVERSATION = 'colloquy:presence:'
/** Time for which Redis keeps a key after its last mark expires, ms, so that a process can still take the marks. */
const SLACK_MS = 3_600_000

/** Sets `time` to Redis's time as {seconds, µs}, and `now` to the same time in ms. */
const NOW = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`

/**
 * KEYS: conversation, expiries. ARGV: field, member, state, ttl in ms, slack in ms. Sets or renews a mark. Times are
 * formatted with all digits, because Lua's default format rounds to 14 digits.
 */
const SET = `${NOW}
  local ends = string.format('%.0f', now + ARGV[4])
  local at = string.format('%.0f', time[1] * 1000000 + time[2])
  redis.call('HSET', KEYS[1], ARGV[1], at .. ':' .. ends .. ':' .. ARGV[3])
  redis.call('ZADD', KEYS[2], ends, ARGV[2])
  local keep = ARGV[4] + ARGV[5]
  for _, key in ipairs(KEYS) do
    if redis.call('PTTL', key) < keep then redis.call('PEXPIRE', key, keep) end
  end`

/**
 * KEYS: conversation, expiries. ARGV: field, member. Removes a mark and returns 1; returns 0 if there is none or it has
 * expired. TAKE removes expired marks, because its caller notifies the conversation's subscribers.
 */
const REMOVE = `${NOW}
  local ends = redis.call('ZSCORE', KEYS[2], ARGV[2])
  if not ends or tonumber(ends) <= now then return 0 end
  redis.call('HDEL', KEYS[1], ARGV[1])
  return redis.call('ZREM', KEYS[2], ARGV[2])`

/**
 * KEYS: conversation, expiries. ARGV: id of the conversation, actor. Removes all marks of the actor; returns their
 * number.
 */
const REMOVE_ACTOR = `
  local removed = 0
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if field:match('^(.-)%z') == ARGV[2] then
      redis.call('HDEL', KEYS[1], field)
      redis.call('ZREM', KEYS[2], ARGV[1] .. string.char(0) .. field)
      removed = removed + 1
    end
  end
  return removed`

/** KEYS: expiries. ARGV: limit, prefix of a conversation's key. Removes and returns expired members, oldest first. */
const TAKE = `${NOW}
  local members = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
  for _, member in ipairs(members) do
    local conversation, field = member:match('^(.-)%z(.*)$')
    redis.call('ZREM', KEYS[1], member)
    redis.call('HDEL', ARGV[2] .. conversation, field)
  end
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
  const memberOf = (mark: PresenceMark) => `${mark.conversationId}\0${fieldOf(mark)}`

  return {
    async set(mark, state, ttlMs) {
      const keys = [CONVERSATION + mark.conversationId, EXPIRIES]
      await run(SET, keys, fieldOf(mark), memberOf(mark), state, ttlMs, SLACK_MS)
    },
    async remove(mark) {
      return (await run(REMOVE, [CONVERSATION + mark.conversationId, EXPIRIES], fieldOf(mark), memberOf(mark))) === 1
    },
    async removeActor(conversationId, actor) {
      return ((await run(REMOVE_ACTOR, [CONVERSATION + conversationId, EXPIRIES], conversationId, actor)) as number) > 0
    },
    async states(conversationIds) {
      const hashes = conversationIds.map((conversationId) => client.hGetAll(CONVERSATION + conversationId))
      const [[seconds, micros], ...marks] = await withReplyTimeout(Promise.all([client.time(), ...hashes]))
      const now = Number(seconds) * 1000 + Number(micros) / 1000
      return new Map(conversationIds.map((conversationId, i) => [conversationId, newestUnexpired(marks[i] ?? {}, now)]))
    },
    async takeExpired(limit) {
      const members = (await run(TAKE, [EXPIRIES], limit, CONVERSATION)) as string[]
      return members.map((member) => {
        const [conversationId = '', actor = '', holder = ''] = member.split('\0')
        return { conversationId, actor, holder }
      })
    },
    close: () => disconnect(client),
  }
}

/** Returns the state of each actor's most recently set unexpired mark in a conversation's hash. `now` is in ms. */
function newestUnexpired(hash: Record<string, string>, now: number): Map<string, string> {
  const unexpired = Object.entries(hash).flatMap(([field, value]) => {
    const [, setAt, expiresAt, state = ''] = /^(\d+):(\d+):(.*)$/s.exec(value) ?? []
    if (!(Number(expiresAt) > now)) return []
    return [{ actor: field.slice(0, field.indexOf('\0')), setAt: Number(setAt), state }]
  })
  return new Map(unexpired.sort((a, b) => a.setAt - b.setAt).map(({ actor, state }) => [actor, state]))
}
