// After any number of random concurrent operations and model failures, each committed turn without audience is covered
// by at most one current summary, and that summary covers the turn's current version. Runs on real databases.

import { describe, expect, it } from 'vitest'
import { abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { compact, compactDue, summarize } from '../../../../../src/domain/memory/summary/compact.ts'
import { appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { DomainError } from '../../../../../src/errors.ts'
import { CallFailed } from '../../../../../src/providers/ports/call-failed.ts'
import { backends } from '../../../../support/backend.ts'
import { createFakeSummarizer, expectCovering, withSummarizer } from '../../../../support/covering.ts'
import { casesOf, isLong } from '../../../../support/long.ts'
import { useWorld } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'

const CONVERSATIONS = isLong ? 20 : 5
/** Number of operations per backend; smaller for the embedded database, which is slower. */
const OPERATIONS: Record<string, number> = { postgres: casesOf(5_000), embedded: casesOf(1_500) }
/** Each kind of result must occur so often for a long run to be meaningful. */
const MIN_OCCURRENCES = isLong ? 11 : 0
/** Number of concurrent operations in one conversation. */
const CONCURRENCY = 5
/** Number of rounds of concurrent operations between two checks of the invariant. */
const CHECKED_EVERY = 20

/** Mulberry32: the same numbers for the same seed. */
function randomOf(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

describe.each(backends)('thousands of random concurrent operations on $name', (backend) => {
  const world = useWorld(backend)
  const operations = OPERATIONS[backend.name]!

  it('leave each turn covered by one current summary or by none', async () => {
    const tenant = world.tenant()
    const model = createFakeSummarizer()
    const deps = withSummarizer(world.deps, model)
    const ada = tenant.as('ada')
    const totals = { covered: 0, uncovered: 0, summaries: 0, stale: 0, failed: 0 }

    async function runConversation(seed: number): Promise<void> {
      const random = randomOf(seed)
      const upTo = (n: number) => Math.floor(random() * n)
      const pick = <T>(list: readonly T[]): T | undefined => list[upTo(list.length)]
      const conversationId = await tenant.newConversation('ada', 'bob')
      const newest = new Set<string>()
      const open = new Set<string>()
      const calls = new Set<string>()
      let counter = 0
      const user = (more = {}) => ({
        role: 'USER' as const,
        content: `${counter++} ${'word '.repeat(upTo(20))}`,
        ...more,
      })

      const append = async () => {
        const turns = Array.from({ length: 1 + upTo(3) }, () => user(random() < 0.15 ? { audience: ['bob'] } : {}))
        for (const { id } of (await appendTurns(deps, ada, { conversationId, turns })).turns) newest.add(id)
      }
      const call = async () => {
        const callId = `call-${counter++}`
        await appendTurns(deps, ada, {
          conversationId,
          turns: [{ role: 'ASSISTANT', parts: [{ toolCall: { callId, name: 'f', arguments: {} } }] }],
        })
        calls.add(callId)
      }
      const answer = async () => {
        const callId = pick([...calls])
        if (!callId) return append()
        calls.delete(callId)
        await appendTurns(deps, ada, {
          conversationId,
          turns: [{ role: 'TOOL', parts: [{ toolResult: { callId, name: 'f', result: 1 } }] }],
        })
      }
      const stream = async () => {
        open.add(
          (await openTurn(deps, ada, { writerToken: WRITER, conversationId, turn: { role: 'ASSISTANT' } })).turn.id,
        )
      }
      const end = async () => {
        const turnId = pick([...open])
        if (!turnId) return append()
        open.delete(turnId)
        if (random() < 0.3) await abortTurn(deps, ada, { writerToken: WRITER, turnId })
        else await commitTurn(deps, ada, { writerToken: WRITER, turnId, parts: [{ data: counter++ }] })
        newest.add(turnId)
      }
      const edit = async () => {
        const turnId = pick([...newest])
        if (!turnId) return append()
        newest.delete(turnId)
        newest.add((await supersedeTurn(deps, ada, { turnId, turn: user() })).turn.id)
      }
      const policy = () => ({
        triggerTurns: 1 + upTo(12),
        triggerTokens: 20 + upTo(400),
        strategy: random() < 0.5 ? ('ROLLING' as const) : ('HIERARCHICAL' as const),
      })
      const compactNow = () => compact(deps, ada, { conversationId, policy: policy() })
      const summarizeSome = () =>
        summarize(deps, ada, { conversationId, through: random() < 0.3 ? null : pick([...newest]) })
      const chooseOperation = () => {
        const at = random()
        return at < 0.4
          ? append
          : at < 0.45
            ? call
            : at < 0.53
              ? answer
              : at < 0.56
                ? stream
                : at < 0.61
                  ? end
                  : at < 0.72
                    ? edit
                    : at < 0.85
                      ? compactNow
                      : at < 0.92
                        ? summarizeSome
                        : () => compactDue(deps, tenant.name, conversationId)
      }
      for (let done = 0; done < operations / CONVERSATIONS; done += CONCURRENCY) {
        const results = await Promise.allSettled(Array.from({ length: CONCURRENCY }, () => chooseOperation()()))
        for (const result of results) {
          if (result.status === 'fulfilled') continue
          if (!(result.reason instanceof DomainError) && !/crash/.test(String(result.reason))) throw result.reason
          totals.failed += 1
        }
        if ((done / CONCURRENCY) % CHECKED_EVERY === 0) await expectCovering(deps, conversationId)
      }
      const { covered, uncovered } = await expectCovering(deps, conversationId)
      totals.covered += covered.length
      totals.uncovered += uncovered.length
      totals.summaries += await deps.db.of(SYSTEM).summary.count({ where: { conversationId } })
      totals.stale += await deps.db.of(SYSTEM).summary.count({ where: { conversationId, stale: true } })
    }

    const chance = randomOf(1)
    model.before = async () => {
      const at = chance()
      if (at < 0.05) throw new CallFailed('The model is overloaded.', true)
      if (at < 0.1) throw new Error('crash')
      if (at < 0.4) await new Promise((resolve) => setTimeout(resolve, 3))
    }
    await Promise.all(Array.from({ length: CONVERSATIONS }, (_, n) => runConversation(n + 1)))
    for (const [kind, count] of Object.entries(totals)) expect(count, kind).toBeGreaterThanOrEqual(MIN_OCCURRENCES)
  })
})
