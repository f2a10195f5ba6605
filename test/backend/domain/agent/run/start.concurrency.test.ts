// Many runs at the same time: journals without gaps, one running run for each agent and conversation, and nothing open
// at the end.

import { beforeAll, describe, expect, it } from 'vitest'
import { Conflict } from '../../../../../src/errors.ts'
import { runTurn } from '../../../../../src/domain/agent/run/start.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'
import { backends } from '../../../../support/backend.ts'
import { isLong } from '../../../../support/long.ts'
import { createScriptedProvider } from '../../../../support/scripted-provider.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const RUNS = isLong ? 100 : 20

describe.each(backends)('concurrent runs on $name', (backend) => {
  const provider = createScriptedProvider()
  const world = useWorld(backend, { providers: { scripted: provider } })
  let tenant: Tenant
  beforeAll(() => {
    tenant = world.tenant()
  })
  const ask = (conversationId: string, n: number) =>
    runTurn(world.deps, tenant.as('ada'), {
      conversationId,
      actor: 'bot',
      provider: 'scripted',
      turns: [{ role: 'USER', content: `Question ${n}` }],
    })
  const participants = [{ actor: 'ada' }, { actor: 'bot', kind: 'AGENT' as const }]

  async function checkAll(): Promise<void> {
    const db = world.deps.db.of(SYSTEM)
    const where = { tenant: tenant.name }
    expect(await db.stream.count({ where })).toBe(0)
    expect(await db.run.count({ where: { ...where, OR: [{ state: 'RUNNING' }, { seq: null }] } })).toBe(0)
    expect(world.deps.runs.size).toBe(0)
    for (const { conversationId, lastSeq } of await db.journal.findMany({ where })) {
      const entries = await db.entry.findMany({ where: { conversationId }, orderBy: { seq: 'asc' } })
      expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: lastSeq }, (_, n) => n + 1))
    }
  }

  it(`in ${RUNS} conversations all complete`, async () => {
    const ids = await Promise.all(Array.from({ length: RUNS }, () => tenant.newConversation(...participants)))
    const answers = await Promise.all(ids.map(ask))
    expect(answers.map(({ run }) => run.state)).toEqual(ids.map(() => 'COMPLETED'))
    const turns = await world.deps.db.of(tenant.name).turn.groupBy({ by: ['conversationId'], _count: true })
    expect(turns.map(({ _count }) => _count)).toEqual(ids.map(() => 2))
    await checkAll()
  })

  it(`of one agent in one conversation exclude each other (${RUNS} calls)`, async () => {
    const conversationId = await tenant.newConversation(...participants)
    const answers = await Promise.allSettled(Array.from({ length: RUNS }, (_, n) => ask(conversationId, n)))
    const done = answers.filter(({ status }) => status === 'fulfilled')
    const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []))
    expect(refused.every((error) => error instanceof Conflict)).toBe(true)
    expect(done.length).toBeGreaterThan(0)
    const turns = await world.deps.db
      .of(tenant.name)
      .turn.findMany({ where: { conversationId }, orderBy: { seq: 'asc' }, select: { actor: true, status: true } })
    // Refused calls have written nothing, and no answer is between a question and its answer.
    expect(turns).toEqual(
      done.flatMap(() => [
        { actor: 'ada', status: 'COMMITTED' },
        { actor: 'bot', status: 'COMMITTED' },
      ]),
    )
    await checkAll()
  })
})
