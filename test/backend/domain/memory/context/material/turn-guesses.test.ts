// Guesses of the turns that a context reads: they save a round trip to the database, and never change a context.

import { describe, expect, it, vi } from 'vitest'
import { buildContext, type BuildContextInput } from '../../../../../../src/domain/memory/context/build.ts'
import { areSameTurns, createTurnGuesses } from '../../../../../../src/domain/memory/context/material/turn-guesses.ts'
import { createConversation } from '../../../../../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../../../../../src/domain/deps.ts'
import { eraseTurn } from '../../../../../../src/domain/trust/erasure/erase-turn.ts'
import { summarize } from '../../../../../../src/domain/memory/summary/compact.ts'
import { appendTurns } from '../../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../../src/domain/turn/supersede.ts'
import type { Turn } from '../../../../../../src/domain/turn/turn.ts'
import { backends } from '../../../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../../../support/world.ts'

const VIEWER = { tenant: 'acme', actor: 'ada' }
const KEY = { conversationId: 'conv_1', tokenBudget: 8_000, windowTurns: 40, readsSummaries: true }
const READ = { after: 3, limit: 32, covered: 3 }

it('a guess is made for one viewer and one key', () => {
  const guesses = createTurnGuesses()
  expect(guesses.guess(VIEWER, KEY)).toBeNull()
  guesses.remember(VIEWER, KEY, READ)
  expect(guesses.guess(VIEWER, KEY)).toEqual(READ)
  for (const viewer of [
    { ...VIEWER, actor: 'bob' },
    { ...VIEWER, tenant: 'other' },
  ])
    expect(guesses.guess(viewer, KEY)).toBeNull()
  for (const more of [
    { conversationId: 'conv_2' },
    { tokenBudget: 4_000 },
    { windowTurns: 20 },
    { readsSummaries: false },
  ])
    expect(guesses.guess(VIEWER, { ...KEY, ...more })).toBeNull()
})

it.each([{ after: 0 }, { limit: 48 }, { covered: 0 }])('turns to read differ if %j differs', (more) => {
  expect(areSameTurns(READ, { ...READ })).toBe(true)
  expect(areSameTurns(READ, { ...READ, ...more })).toBe(false)
})

describe.each(backends)('a context with a guess, on $name,', (backend) => {
  const world = useWorld(backend)

  /** Returns the names of the statements in each round trip that reads the conversation or its recent turns. */
  async function roundTrips(builds: () => Promise<unknown>): Promise<(string | undefined)[][]> {
    const sent = vi.spyOn(world.deps.pool, 'queryAll')
    await builds()
    const batches = sent.mock.calls.map(([, statements]) => statements.map(({ name }) => name))
    sent.mockRestore()
    return batches.filter((names) => names.includes('read-conversation') || names.includes('context-recent-turns'))
  }

  async function conversationOf(tenant: Tenant, turns: number): Promise<{ id: string; turns: Turn[] }> {
    const participants = [{ actor: 'ada' }, { actor: 'bot', kind: 'AGENT' as const }, { actor: 'eve' }]
    const { conversation } = await createConversation(world.deps, tenant.as('ada'), { participants })
    return { id: conversation.id, turns: await append(tenant, conversation.id, turns) }
  }

  const append = async (tenant: Tenant, conversationId: string, count: number, more: object = {}) =>
    (
      await appendTurns(world.deps, tenant.as('ada'), {
        conversationId,
        turns: Array.from({ length: count }, (_, n) => ({
          role: 'USER' as const,
          content: `This is message number ${n}.`,
          ...more,
        })),
      })
    ).turns

  it('reads the conversation and its turns in one round trip', async () => {
    const tenant = world.tenant()
    const { id: conversationId } = await conversationOf(tenant, 5)
    const deps = { ...world.deps, turnGuesses: createTurnGuesses() }
    const build = () => buildContext(deps, tenant.as('ada'), { conversationId, tokenBudget: 8_000 })
    expect(await roundTrips(build)).toHaveLength(2)
    await append(tenant, conversationId, 1)
    expect(
      await roundTrips(async () => {
        expect((await build()).messages).toHaveLength(6)
      }),
    ).toEqual([
      [
        ...['read-conversation', 'read-current-summary', 'read-speakers', 'read-context-states'],
        ...['context-recent-turns', 'context-kept-turns'],
      ],
    ])
  })

  it('reads the turns again after a wrong guess, and then in one round trip', async () => {
    const tenant = world.tenant()
    const { id: conversationId } = await conversationOf(tenant, 30)
    const deps = { ...world.deps, turnGuesses: createTurnGuesses() }
    const build = () => buildContext(deps, tenant.as('ada'), { conversationId, tokenBudget: 500 })
    await build()
    await summarize(world.deps, tenant.as('ada'), { conversationId })
    expect(await roundTrips(build)).toHaveLength(2)
    expect(await roundTrips(build)).toHaveLength(1)
  })

  it('reads the turns after each new `sinceSeq` in one round trip', async () => {
    const tenant = world.tenant()
    const { id: conversationId, turns } = await conversationOf(tenant, 5)
    const positions = turns.map(({ position }) => position)
    const deps = { ...world.deps, turnGuesses: createTurnGuesses() }
    const build = async (sinceSeq: number) => {
      const input = { conversationId, tokenBudget: 8_000, sinceSeq }
      const { messages } = await buildContext(deps, tenant.as('ada'), input)
      expect(messages.map(({ position }) => position)).toEqual(positions.filter((each) => each > sinceSeq))
    }
    await build(0)
    expect(
      await roundTrips(async () => {
        await build(positions[1]!)
        await build(positions[2]!)
      }),
    ).toHaveLength(2)
  })

  const INPUTS: Partial<BuildContextInput>[] = [
    {},
    { strategy: 'SIMPLE' },
    { recentTurns: 3, as: 'bot' },
    { sinceSeq: 2 },
    { filterParticipants: ['bot'] },
  ]

  it.each<[string, (tenant: Tenant, conversation: { id: string; turns: Turn[] }) => Promise<unknown>]>([
    ['appends turns', (tenant, { id }) => append(tenant, id, 3)],
    [
      'appends so many long turns that the read has another limit',
      (tenant, { id }) => append(tenant, id, 20, { content: 'word '.repeat(200) }),
    ],
    ['appends a turn with an audience', (tenant, { id }) => append(tenant, id, 1, { audience: ['ada', 'eve'] })],
    ['pins a turn', (tenant, { id }) => append(tenant, id, 1, { pinned: true })],
    ['summarises', (tenant, { id }) => summarize(world.deps, tenant.as('ada'), { conversationId: id })],
    [
      'edits a turn that a summary covers',
      async (tenant, { id, turns }) => {
        await summarize(world.deps, tenant.as('ada'), { conversationId: id })
        const turn = { role: 'USER' as const, content: 'It was different.' }
        await supersedeTurn(world.deps, tenant.as('ada'), { turnId: turns[1]!.id, turn })
      },
    ],
    ['erases a turn', (tenant, { turns }) => eraseTurn(world.deps, tenant.as('op'), { turnId: turns[1]!.id })],
  ])('equals a context without a guess after another process %s', async (_, change) => {
    const tenant = world.tenant()
    const conversation = await conversationOf(tenant, 30)
    const warm = { ...world.deps, turnGuesses: createTurnGuesses() }
    const cold = { ...world.deps, turnGuesses: { guess: () => null, remember: () => {} } }
    const built = (deps: Deps) =>
      Promise.all(
        INPUTS.map((more) =>
          buildContext(deps, tenant.as('ada'), { conversationId: conversation.id, tokenBudget: 2_000, ...more }),
        ),
      )
    expect(await built(warm)).toEqual(await built(cold))
    await change(tenant, conversation)
    for (let n = 0; n < 2; n++) expect(await built(warm)).toEqual(await built(cold))
  })
})
