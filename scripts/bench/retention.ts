// Deletes 100,000 expired conversations by the retention task, while turns are appended to another conversation.
// Measures the longest stall of the event loop, and the latency of the appends.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { deleteExpiredConversations } from '../../src/domain/trust/erasure/retention.ts'
import { appendTurn } from '../../src/domain/turn/append/append.ts'
import type { Report } from './figures.ts'
import { openDeps, withDatabase, type Bench } from './services.ts'

const CONVERSATIONS = 100_000
const TURNS = 3
/** Maximum stall of the event loop, and maximum 99th percentile of the append latency, ms. */
const MAX_STALL_MS = 100
/** Duration of a measurement without deletions, ms. Other load on the machine also stalls the process. */
const BASELINE_MS = 20_000
/** Milliseconds between two appends. */
const PAUSE_MS = 50

const viewer = { tenant: 'default', actor: 'ada' }

/** Conversations with one participant and TURNS turns each, written by SQL. */
const FILL = [
  `INSERT INTO conversation (id, tenant, owner, expires_at)
   SELECT 'conv_' || lpad(n::text, 26, '0'), 'default', 'bob', now() - interval '1 hour' FROM generate_series(1, ${CONVERSATIONS}) n`,
  `INSERT INTO journal (conversation_id, tenant, last_seq, turn_count)
   SELECT id, tenant, ${TURNS} + 1, ${TURNS} FROM conversation`,
  `INSERT INTO participant (conversation_id, actor, kind, windows) SELECT id, 'bob', 'HUMAN', '{1}' FROM conversation`,
  `INSERT INTO turn (id, conversation_id, seq, root_seq, actor, role, status, text, token_count, terms, cues)
   SELECT 'turn_' || substr(c.id, 7) || s, c.id, s, s, 'bob', 'USER', 'COMMITTED', repeat('words ', 20), 20, '{1,2,3}', 0
   FROM conversation c, generate_series(2, ${TURNS} + 1) s`,
  `INSERT INTO entry (conversation_id, seq, kind, turn_id, actor)
   SELECT c.id, s, (CASE s WHEN 1 THEN 'JOINED' ELSE 'APPENDED' END)::entry_kind,
          CASE WHEN s > 1 THEN 'turn_' || substr(c.id, 7) || s END, CASE s WHEN 1 THEN 'bob' END
   FROM conversation c, generate_series(1, ${TURNS} + 1) s`,
  // Embedding these turns is not measured.
  `INSERT INTO embedding_cursor (embedder, conversation_id, through_seq)
   SELECT e.name, c.id, ${TURNS} + 1 FROM embedder e, conversation c
   ON CONFLICT (conversation_id, embedder) DO UPDATE SET through_seq = excluded.through_seq`,
  'ANALYZE',
]

export async function retention({ services, progress }: Bench): Promise<Report> {
  return withDatabase(services.databaseUrl, async (url) => {
    const { deps, close } = await openDeps(url, services.redisUrl)
    try {
      progress(`writing ${CONVERSATIONS} conversations`)
      const client = await deps.pool.connect()
      await client.query('RESET ROLE')
      await client.query(
        `SELECT set_config('statement_timeout', '0', false), set_config('colloquy.tenant', 'default', false)`,
      )
      try {
        for (const statement of FILL) await client.query(statement)
      } finally {
        client.release(true)
      }
      const { conversation } = await createConversation(deps, viewer, { participants: [{ actor: 'ada' }] })

      const latencies: number[] = []
      let isDone = false
      const appending = (async () => {
        while (!isDone) {
          const begin = performance.now()
          await appendTurn(deps, viewer, { conversationId: conversation.id, turn: { role: 'USER', content: 'hello' } })
          latencies.push(performance.now() - begin)
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
        }
      })()
      const delays = monitorEventLoopDelay({ resolution: 1 })
      delays.enable()
      await new Promise((resolve) => setTimeout(resolve, BASELINE_MS))
      const idleStall = delays.max / 1e6
      delays.reset()
      const begin = performance.now()
      let deleted = 0
      for (let count = 1; count > 0;) {
        count = await deleteExpiredConversations(deps)
        deleted += count
        progress(`${deleted} conversations deleted after ${Math.round((performance.now() - begin) / 1000)} s`)
      }
      const seconds = (performance.now() - begin) / 1000
      delays.disable()
      isDone = true
      await appending
      if (deleted !== CONVERSATIONS) throw new Error(`${deleted} conversations were deleted`)
      const sorted = latencies.toSorted((a, b) => a - b)
      const stall = { against: 'limit', unit: 'ms', better: 'smaller', target: 1 } as const
      return {
        title: `retention: ${CONVERSATIONS.toLocaleString('en-US')} expired conversations of ${TURNS} turns, Postgres`,
        figures: [
          { label: 'longest stall of the event loop', ours: delays.max / 1e6, theirs: MAX_STALL_MS, ...stall },
          { label: 'append, p99', ours: sorted[Math.floor(sorted.length * 0.99)]!, theirs: MAX_STALL_MS, ...stall },
        ],
        notes: [
          `Longest stall without deletions: ${Math.round(idleStall)} ms in ${BASELINE_MS / 1000} s.`,
          `${Math.round(deleted / seconds)} conversations deleted per second; ${latencies.length} appends before and `
            + 'during the deletions.',
        ],
      }
    } finally {
      await close()
    }
  })
}
