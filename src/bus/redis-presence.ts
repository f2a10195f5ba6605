// Presence across processes, on Redis. A sorted set contains the expiry of every mark. A script removes expired marks
// from it, so each mark is returned to one process only. A hash per conversation contains the states. Scripts change
// both together and use Redis's clock, since the processes' clocks may differ. The scripts also access keys that they
// do not declare, so Redis may have replicas but must not be a cluster.

import type { PresenceMark, PresenceStore } from './presence.ts'
import { answered, hangUp, type RedisLog, redisConnector } from './redis-client.ts'

/** Members `conversationId \0 actor \0 holder`, scored by expiry in ms. */
const EXPIRIES = 'colloquy:presence'
/** Key prefix of a conversation's hash. Fields are `actor \0 holder`; values are `set-at in µs:expiry in ms:state`. */
const CONVERSATION = 'colloquy:presence:'
/** Time after expiry at which Redis drops marks that no process has taken, ms. */
const SLACK_MS = 3_600_000

const NOW = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`

/** KEYS: conversation, expiries. ARGV: field, member, state, ttl, slack. Numbers are formatted by hand: Lua rounds to 14 digits. */
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
 * KEYS: conversation, expiries. ARGV: field, member. Leaves an expired mark to TAKE, whose caller notifies the
 * conversation's subscribers.
 */
const REMOVE = `${NOW}
  local ends = redis.call('ZSCORE', KEYS[2], ARGV[2])
  if not ends or tonumber(ends) <= now then return 0 end
  redis.call('HDEL', KEYS[1], ARGV[1])
  return redis.call('ZREM', KEYS[2], ARGV[2])`

/** KEYS: expiries. ARGV: limit, prefix of a conversation's key. Oldest first. */
const TAKE = `${NOW}
  local members = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
  for _, member in ipairs(members) do
    local conversation, field = member:match('^(.-)%z(.*)$')
    redis.call('ZREM', KEYS[1], member)
    redis.call('HDEL', ARGV[2] .. conversation, field)
  end
  return members`

/** Calls reject immediately while Redis is disconnected, or after 1.5 s without a reply. */
export async function createRedisPresence(url: string, log: RedisLog): Promise<PresenceStore> {
  const client = await redisConnector(url, 'presence', log)()

  const run = (script: string, keys: string[], ...args: (string | number)[]) =>
    answered(client.eval(script, { keys, arguments: args.map(String) }))
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
    async states(conversationIds) {
      const hashes = conversationIds.map((conversationId) => client.hGetAll(CONVERSATION + conversationId))
      const [[seconds, micros], ...marks] = await answered(Promise.all([client.time(), ...hashes]))
      const now = Number(seconds) * 1000 + Number(micros) / 1000
      return new Map(conversationIds.map((conversationId, i) => [conversationId, newestLive(marks[i] ?? {}, now)]))
    },
    async takeExpired(limit) {
      const members = (await run(TAKE, [EXPIRIES], limit, CONVERSATION)) as string[]
      return members.map((member) => {
        const [conversationId = '', actor = '', holder = ''] = member.split('\0')
        return { conversationId, actor, holder }
      })
    },
    close: () => hangUp(client),
  }
}

/** Returns each actor's newest state in a conversation's hash. Ignores expired marks. */
function newestLive(hash: Record<string, string>, now: number): Map<string, string> {
  const live = Object.entries(hash).flatMap(([field, value]) => {
    const [, at, ends, state = ''] = /^(\d+):(\d+):(.*)$/s.exec(value) ?? []
    return Number(ends) > now ? [{ actor: field.slice(0, field.indexOf('\0')), at: Number(at), state }] : []
  })
  return new Map(live.sort((a, b) => a.at - b.at).map(({ actor, state }) => [actor, state]))
}
