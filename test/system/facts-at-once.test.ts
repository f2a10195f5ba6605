// Runs all verbs that write facts concurrently, about two users in a few conversations, on a database with real locks.
// Expects no deadlock, and no cycle or missing fact in the chains of superseded facts.

import { sql } from '../support/sql.ts'
import { describe, expect, it } from 'vitest'
import { deleteConversation } from '../../src/domain/trust/erasure/delete-conversation.ts'
import { extractFacts } from '../../src/domain/memory/fact/extract/extract.ts'
import { reconcileNext } from '../../src/domain/memory/fact/reconcile/reconcile-due.ts'
import { reconcileFacts } from '../../src/domain/memory/fact/reconcile/reconcile-facts.ts'
import { undoReconciliation } from '../../src/domain/memory/fact/reconcile/undo-reconciliation.ts'
import { recordFacts } from '../../src/domain/memory/fact/record.ts'
import { refreshProfileDue } from '../../src/domain/memory/profile/refresh.ts'
import { supersedeTurn } from '../../src/domain/turn/supersede.ts'
import { Conflict, InvalidInput, NotFound } from '../../src/errors.ts'
import { countUserTurns } from '../../src/store/sql/memory/profile/count-user-turns.ts'
import { backends } from '../support/backend.ts'
import { isExhaustive, isLong } from '../support/long.ts'
import { useWorld } from '../support/world.ts'

/** Number of calls per caller. */
const CALLS = isExhaustive ? 200 : isLong ? 80 : 20
/** Number of concurrent callers. */
const CALLERS = 10
const USERS = ['ada', 'bob']
const CITIES = ['Rome', 'Oslo', 'Bern', 'Riga', 'Lima', 'Cork']
const THINGS = ['tea', 'coffee', 'jazz', 'rain', 'snow', 'bread', 'salt', 'fish', 'rice', 'soup']

const pick = <T>(all: readonly T[]): T => all[Math.floor(Math.random() * all.length)]!
const shuffled = <T>(all: readonly T[]) =>
  all
    .map((each) => [Math.random(), each] as const)
    .sort(([a], [b]) => a - b)
    .map(([, each]) => each)

/** Whether concurrent calls, which delete, edit and append, may cause the error. */
const isExpected = (error: unknown) =>
  error instanceof NotFound || error instanceof Conflict || error instanceof InvalidInput

// On the embedded database no statement waits for a lock, because there is only one connection.
const backend = backends.at(-1)!
describe.runIf(backend.name === 'postgres')('concurrent writes of facts (needs TEST_DATABASE_URL)', () => {
  const world = useWorld(backend, { databasePoolSize: CALLERS + 4 })

  it('cause no deadlock, and no fact is superseded by a deleted fact or by itself', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const newConversation = () => tenant.newConversation('ada', 'bob', { actor: 'bot', kind: 'AGENT' })
    const conversationIds = await Promise.all(Array.from({ length: 4 }, newConversation))
    const turns: { id: string; actor: string }[] = []
    const randomFacts = (user: string) =>
      shuffled([
        ...THINGS.map((object) => ({ subject: user, predicate: 'likes', object })),
        ...CITIES.map((object) => ({ subject: user, predicate: 'lives in', object })),
      ])
        .slice(0, 12)
        .map((fact) => ({ ...fact, observedAt: new Date(Date.now() - Math.random() * 100_000) }))
    const content = () => `I live in ${pick(CITIES)}. I like ${pick(THINGS)}.`

    const verbs: ((user: string) => Promise<unknown>)[] = [
      async (user) => {
        const audience = Math.random() < 0.3 ? USERS : null
        const { id } = await tenant.append(pick(conversationIds), user, content(), { audience })
        turns.push({ id, actor: user })
      },
      (user) =>
        recordFacts(deps, tenant.as(user), {
          userId: user,
          conversationId: pick(conversationIds),
          facts: randomFacts(user),
        }),
      (user) => recordFacts(deps, tenant.as(user), { userId: user, facts: randomFacts(user) }),
      async (user) => {
        const sources = turns.slice(-4)
        if (sources.length === 0) return
        await recordFacts(deps, tenant.as(user), {
          userId: user,
          facts: randomFacts(user).map((fact) => ({ ...fact, sourceTurnId: pick(sources).id })),
        })
      },
      () => extractFacts(deps, tenant.as('ada'), { conversationId: pick(conversationIds) }),
      (user) => reconcileFacts(deps, tenant.as('ada'), { userId: user }),
      (user) => reconcileNext(deps, { tenant: tenant.name, key: user }),
      () => undoOne(),
      (user) => refreshProfileDue(deps, { tenant: tenant.name, userId: user }, 1),
      () => countUserTurns(deps.db, conversationIds),
      async () => {
        const turn = turns.splice(Math.floor(Math.random() * turns.length), 1)[0]
        const newer = { role: 'USER', content: content() } as const
        if (turn) await supersedeTurn(deps, tenant.as(turn.actor), { turnId: turn.id, turn: newer })
      },
      async () => {
        conversationIds.push(await newConversation())
        const deleted = conversationIds.splice(3, 1)[0]!
        await deleteConversation(deps, tenant.as('ada'), deleted)
      },
    ]
    /** Undoes the reconciliation of any superseded fact. */
    async function undoOne(): Promise<void> {
      const { rows: reconciled } = await sql(deps.pool).query<{ id: string; user: string }>(
        `SELECT id, user_id AS user FROM fact
         WHERE tenant = $1 AND supersede_reason IN ('DUPLICATED', 'CONTRADICTED') ORDER BY random() LIMIT 1`,
        [tenant.name],
      )
      for (const { id, user } of reconciled) await undoReconciliation(deps, tenant.as(user), { factId: id })
    }
    const unexpected: unknown[] = []
    await Promise.all(
      Array.from({ length: CALLERS }, async () => {
        for (let i = 0; i < CALLS; i++) {
          await pick(verbs)(pick(USERS)).catch((error) => {
            if (!isExpected(error)) unexpected.push(error)
          })
        }
      }),
    )
    expect(unexpected).toEqual([])

    const { rows } = await sql(deps.pool).query<{ id: string; by: string | null }>(
      'SELECT id, superseded_by AS by FROM fact WHERE tenant = $1',
      [tenant.name],
    )
    const next = new Map(rows.map(({ id, by }) => [id, by]))
    for (const { id } of rows) {
      const visited = new Set<string>()
      for (let at: string | null | undefined = id; at; at = next.get(at)) {
        expect(next.has(at)).toBe(true)
        expect(visited.has(at)).toBe(false)
        visited.add(at)
      }
    }
  })
})
