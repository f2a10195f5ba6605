// The kind of an author comes from the credential that writes. Whoever lists another actor can make that actor less
// trusted, never more trusted than its own credential permits.

import { describe, expect, it } from 'vitest'
import { createConversation, updateConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { extractFacts } from '../../../../../src/domain/memory/fact/extract/extract.ts'
import { getFactPage } from '../../../../../src/domain/memory/fact/fact.ts'
import { recordFacts } from '../../../../../src/domain/memory/fact/record.ts'
import {
  addParticipant,
  getParticipants,
  removeParticipant,
} from '../../../../../src/domain/conversation/participant/participant.ts'
import { lessTrusted, type Right } from '../../../../../src/domain/kernel/rights/principal.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import type { Turn } from '../../../../../src/domain/turn/turn.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { NotAllowed } from '../../../../../src/errors.ts'
import type { ParticipantKind } from '../../../../../src/store/generated/enums.ts'
import { readJournal } from '../../../../../src/store/sql/turn/journal/read-journal.ts'
import { backends } from '../../../../support/backend.ts'
import { read } from '../../../../support/reading.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'

const NAMES = ['HUMAN', 'AGENT', 'TOOL'] as const

it('is the less trusted of two kinds: a tool, then an agent, then a person', () => {
  for (const [index, kind] of NAMES.entries()) {
    expect(lessTrusted(kind, null)).toBe(kind)
    for (const other of NAMES.slice(index))
      expect([lessTrusted(kind, other), lessTrusted(other, kind)]).toEqual([other, other])
  }
})

describe.each(backends)('the kind of an author on $name', (backend) => {
  const world = useWorld(backend)

  /** A viewer whose credential is of the actor, with the rights. */
  const credential = (
    tenant: Tenant,
    actor: string,
    kind: ParticipantKind,
    rights: readonly Right[] = ['read', 'write'],
  ): Viewer => {
    const principal = { tenant: tenant.name, actor, kind, rights: new Set(rights), conversations: null }
    return { tenant: tenant.name, actor, principal: { ...principal, credential: 'key:test', expiresAt: null } }
  }
  const kindsIn = async (tenant: Tenant, conversationId: string) => {
    const participants = (await getParticipants(world.deps, tenant.as('owner'), [conversationId])).get(conversationId)!
    return Object.fromEntries(participants.map(({ actor, kind }) => [actor, kind]))
  }
  const entriesIn = async (tenant: Tenant, conversationId: string) =>
    (await readJournal(world.deps.pool, tenant.name, conversationId, { after: 0, limit: 1000 })).map(({ kind }) => kind)
  const write = async (viewer: Viewer, conversationId: string, content: string, actor?: string): Promise<Turn> => {
    const turn = { role: 'USER' as const, content, actor }
    return (await appendTurn(world.deps, viewer, { conversationId, turn })).turn
  }
  /** The kinds of the authors of the conversation's facts, by object. */
  async function saidIn(tenant: Tenant, conversationId: string) {
    await extractFacts(world.deps, tenant.as('owner'), { conversationId })
    const { items } = await getFactPage(world.deps, tenant.as('owner'), { filter: { conversationId } })
    return Object.fromEntries(items.map(({ object, saidBy }) => [object, saidBy]))
  }
  /** Whether the turn woke up a participant. */
  const wakes = async ({ id }: Turn) =>
    (await sql(world.deps.pool).query('SELECT FROM wake_up WHERE turn_id = $1', [id])).rows.length > 0
  /** The number of `turns` turns that wake up "bot" while the loop guard permits 3 turns of agents. */
  async function wakingTurns(
    tenant: Tenant,
    conversationId: string,
    turns: number,
    next: (nth: number) => Promise<Turn>,
  ) {
    await updateConversation(world.deps, tenant.as('owner'), { conversationId, maxAgentTurns: 3 })
    let waking = 0
    for (let nth = 0; nth < turns; nth++) waking += Number(await wakes(await next(nth)))
    return waking
  }
  const bot = { actor: 'bot', kind: 'AGENT', respond: 'ALWAYS' } as const

  describe('of a participant that another actor lists', () => {
    it('is never a person if the credential is that of an agent', async () => {
      const { deps } = world
      const tenant = world.tenant()
      const agent = credential(tenant, 'agent', 'AGENT')
      const person = { actor: 'second', kind: 'HUMAN' as const }
      const created = createConversation(deps, agent, { participants: [person] })
      await expect(created).rejects.toThrow(NotAllowed)
      await expect(created).rejects.toMatchObject({ right: 'act-as' })

      const { conversation } = await createConversation(deps, agent, { participants: [bot, { actor: 'guest' }] })
      const conversationId = conversation.id
      await expect(addParticipant(deps, agent, { conversationId, participant: person })).rejects.toThrow(NotAllowed)
      await addParticipant(deps, agent, { conversationId, participant: { actor: 'second' } })
      expect(await kindsIn(tenant, conversationId)).toMatchObject({ bot: 'AGENT', guest: 'AGENT', second: 'AGENT' })
      await removeParticipant(deps, agent, { conversationId, actor: 'second' })
      await expect(addParticipant(deps, agent, { conversationId, participant: person })).rejects.toThrow(NotAllowed)
    })

    it('is of any kind that is not more trusted than the credential, and that of a tool at least', async () => {
      const { deps } = world
      const tenant = world.tenant()
      const lists = async (kind: ParticipantKind, given: ParticipantKind) => {
        const participants = [{ actor: 'other', kind: given }]
        const { conversation } = await createConversation(deps, credential(tenant, 'lister', kind), { participants })
        return (await kindsIn(tenant, conversation.id)).other
      }
      for (const [index, kind] of NAMES.entries()) {
        for (const [place, given] of NAMES.entries()) {
          if (place >= index) expect(await lists(kind, given)).toBe(given)
          else await expect(lists(kind, given)).rejects.toThrow(NotAllowed)
        }
      }
    })

    it('is of any kind if the credential may act as that actor', async () => {
      const { deps } = world
      const tenant = world.tenant()
      const backEnd = credential(tenant, 'back end', 'AGENT', ['read', 'write', 'act-as'])
      const participants = [{ actor: 'ada' }, { actor: 'grace', kind: 'HUMAN' as const }]
      const { conversation } = await createConversation(deps, backEnd, { participants })
      expect(await kindsIn(tenant, conversation.id)).toMatchObject({ ada: 'HUMAN', grace: 'HUMAN' })
      await write(backEnd, conversation.id, 'My name is Ada. I live in Oslo.', 'ada')
      await write({ ...backEnd, actor: 'grace' }, conversation.id, 'I live in Rome.')
      expect(await saidIn(tenant, conversation.id)).toMatchObject({ Oslo: 'HUMAN', Rome: 'HUMAN' })
    })

    it('is as stated without authentication', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ada', { actor: 'second', kind: 'HUMAN' })
      await tenant.append(conversationId, 'second', 'I live in Oslo.')
      expect(await saidIn(tenant, conversationId)).toMatchObject({ Oslo: 'HUMAN' })
    })
  })

  it('lets agents that are listed as people wake each other up no more often than the loop guard permits', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation(bot, { actor: 'second', kind: 'HUMAN' })
    const second = credential(tenant, 'second', 'AGENT')
    expect(await wakingTurns(tenant, conversationId, 12, (nth) => write(second, conversationId, `turn ${nth}`))).toBe(3)
    // Also in turns that are streamed, and in turns of a model that a person writes.
    const streamed = async () => {
      const turn = { role: 'USER' as const }
      const opened = await openTurn(world.deps, second, { conversationId, turn, writerToken: WRITER })
      const given = { turnId: opened.turn.id, writerToken: WRITER }
      await appendDelta(world.deps, second, { ...given, text: 'more' })
      return commitTurn(world.deps, second, given)
    }
    expect(await wakingTurns(tenant, conversationId, 2, streamed)).toBe(0)
    const person = credential(tenant, 'ada', 'HUMAN')
    expect(await wakingTurns(tenant, conversationId, 1, () => write(person, conversationId, 'go'))).toBe(1)
    const reply = async () =>
      (await appendTurn(world.deps, person, { conversationId, turn: { role: 'ASSISTANT', content: 'text' } })).turn
    expect(await wakingTurns(tenant, conversationId, 12, reply)).toBe(3)
  })

  it('makes the facts of an agent that is listed as a person those of an agent', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada', { actor: 'second', kind: 'HUMAN' })
    const second = credential(tenant, 'second', 'AGENT')
    const facts = [{ subject: 'Ada', predicate: 'lives in', object: 'Paris' }]
    // Before it has written a turn.
    const recorded = await recordFacts(deps, second, { conversationId, facts })
    expect(recorded.facts).toMatchObject([{ saidBy: 'AGENT' }])
    const turn = await write(second, conversationId, 'I live in Oslo.')
    expect(await saidIn(tenant, conversationId)).toMatchObject({ Oslo: 'AGENT' })
    const quoted = [{ subject: 'Ada', predicate: 'lives in', object: 'Madrid', sourceTurnId: turn.id }]
    const person = credential(tenant, 'ada', 'HUMAN')
    expect((await recordFacts(deps, person, { facts: quoted })).facts).toMatchObject([{ saidBy: 'AGENT' }])
  })

  it('becomes that of a participant when the participant writes with its own credential', async () => {
    const tenant = world.tenant()
    const agent = credential(tenant, 'agent', 'AGENT')
    const { conversation } = await createConversation(world.deps, agent, { participants: [{ actor: 'ada' }, bot] })
    const conversationId = conversation.id
    const live = await read(world.deps, tenant.as('ada'), { conversationId, types: ['ParticipantUpdated'] })
    expect(await kindsIn(tenant, conversationId)).toMatchObject({ ada: 'AGENT' })

    const ada = credential(tenant, 'ada', 'HUMAN')
    const { lastSeq, joined } = await appendTurn(world.deps, ada, {
      conversationId,
      turn: { role: 'USER', content: 'I live in Oslo.' },
    })
    expect({ lastSeq, joined }).toEqual({ lastSeq: await tenant.lastSeq(conversationId), joined: false })
    expect(await kindsIn(tenant, conversationId)).toMatchObject({ ada: 'HUMAN' })
    expect((await entriesIn(tenant, conversationId)).slice(-2)).toEqual(['UPDATED', 'APPENDED'])
    await live.until('the change', ({ events }) => events.length === 1)
    expect(live.events).toMatchObject([{ seq: lastSeq - 1, participant: { actor: 'ada', kind: 'HUMAN' } }])
    await live.stop()

    await write(ada, conversationId, 'I work at Acme.')
    expect((await entriesIn(tenant, conversationId)).slice(-2)).toEqual(['APPENDED', 'APPENDED'])
    expect(await wakingTurns(tenant, conversationId, 12, (nth) => write(ada, conversationId, `turn ${nth}`))).toBe(12)
  })

  it('is kept for each turn if an actor writes with credentials of several kinds', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const person = credential(tenant, 'ada', 'HUMAN')
    const script = credential(tenant, 'ada', 'AGENT')
    await write(script, conversationId, 'I live in Oslo.')
    const edited = await write(person, conversationId, 'I work at Acme.')
    await supersedeTurn(world.deps, script, {
      turnId: edited.id,
      turn: { role: 'USER', content: 'I work at Initech.' },
    })
    await write(person, conversationId, 'I was born in Rome.')
    const said = await saidIn(tenant, conversationId)
    expect(said).toMatchObject({ Oslo: 'AGENT', Initech: 'AGENT', Rome: 'HUMAN' })
    expect(await kindsIn(tenant, conversationId)).toMatchObject({ ada: 'HUMAN' })
  })

  it('stays AGENT for a participant that the server runs', async () => {
    const tenant = world.tenant()
    const helper = { actor: 'helper', agent: { provider: 'echo' } }
    const conversationId = await tenant.newConversation(helper)
    await write(credential(tenant, 'helper', 'HUMAN'), conversationId, 'I live in Oslo.')
    expect(await kindsIn(tenant, conversationId)).toMatchObject({ helper: 'AGENT' })
    expect(await saidIn(tenant, conversationId)).toMatchObject({ Oslo: 'HUMAN' })
  })

  it('is that of the credential when a former participant joins again by writing', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation({ actor: 'second', kind: 'HUMAN' })
    await removeParticipant(deps, tenant.as('second'), { conversationId, actor: 'second' })
    await write(credential(tenant, 'second', 'AGENT'), conversationId, 'back')
    expect(await kindsIn(tenant, conversationId)).toMatchObject({ second: 'AGENT' })
    expect((await entriesIn(tenant, conversationId)).slice(-2)).toEqual(['JOINED', 'APPENDED'])
  })
})
