// Each operation that writes a turn adds its entry to the word index on commit, salted by the conversation's owner.
// Streaming and aborted turns are not indexed.

import { beforeAll, describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { indexEntry } from '../../../../../src/domain/memory/indexing/index-entry.ts'
import { salted, saltOf } from '../../../../../src/text/words/hashed-terms.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { sql } from '../../../../support/sql.ts'

const role = 'USER'
const TEXT = 'Did Carla see the tulips twice last year?'

describe.each(backends)('a turn is added to the word index on $name', (backend) => {
  const world = useWorld(backend)
  let tenant: Tenant
  beforeAll(() => {
    tenant = world.tenant()
  })

  const makeConversation = async (owner: string) =>
    (await createConversation(world.deps, tenant.as('ada'), { owner })).conversation.id

  /** The stored entry of the turn. */
  async function stored(id: string) {
    const { rows } = await sql(world.deps.pool).query('SELECT terms, cues FROM turn WHERE id = $1', [id])
    return rows[0] as { terms: number[] | null; cues: number | null }
  }
  /** The expected entry of the turn. */
  function entry(owner: string, actor: string, text: string) {
    const { terms, cues } = indexEntry(actor, text)
    return { terms: salted(terms, saltOf(tenant.name, owner)), cues }
  }
  const NOTHING = { terms: null, cues: null }

  describe.each(['ada', 'bob'])('in a conversation of %s', (owner) => {
    let conversationId: string
    beforeAll(async () => {
      conversationId = await makeConversation(owner)
    })

    async function open(...deltas: string[]): Promise<string> {
      const {
        turn: { id },
      } = await openTurn(world.deps, tenant.as('ada'), { writerToken: WRITER, conversationId, turn: { role } })
      for (const text of deltas)
        await appendDelta(world.deps, tenant.as('ada'), { writerToken: WRITER, turnId: id, text })
      return id
    }

    it('by appendTurn', async () => {
      const turn = await tenant.append(conversationId, 'ada', TEXT)
      expect(await stored(turn.id)).toEqual(entry(owner, 'ada', TEXT))
      expect((await stored(turn.id)).terms!.length).toBeGreaterThan(4)
      expect((await stored(turn.id)).cues).toBe(15)
    })

    it('by appendTurns, each turn with its own actor', async () => {
      const texts: [actor: string, text: string][] = [
        ['ada', TEXT],
        ['Zoë Lee', 'Zwei Äpfel.'],
        ['the', 'of'],
        ['猫', '東京'],
      ]
      const { turns } = await appendTurns(world.deps, tenant.as('ada'), {
        conversationId,
        turns: texts.map(([actor, content]) => ({ role, actor, content })),
      })
      const found = await Promise.all(turns.map(({ id }) => stored(id)))
      expect(found).toEqual(texts.map(([actor, text]) => entry(owner, actor, text)))
      expect(found[2]!.terms).toEqual([])
    })

    it('with its text parts only', async () => {
      const parts = [
        { text: 'Look: ' },
        { toolCall: { callId: `c-${owner}`, name: 'search', arguments: { q: 'hedgehog' } } },
      ]
      const {
        turn: { id },
      } = await appendTurn(world.deps, tenant.as('ada'), { conversationId, turn: { role, parts } })
      expect(await stored(id)).toEqual(entry(owner, 'ada', 'Look: '))
    })

    it('with the captions of its files', async () => {
      const file = { mediaType: 'image/png', url: 'https://a.example/b.png', caption: 'A hedgehog at a fence' }
      const turn = { role: 'USER' as const, parts: [{ text: 'Look!' }, { file }] }
      const { turn: appended } = await appendTurn(world.deps, tenant.as('ada'), { conversationId, turn })
      const expected = entry(owner, 'ada', 'A hedgehog at a fence\nLook!')
      expect(await stored(appended.id)).toEqual(expected)
      const edited = await supersedeTurn(world.deps, tenant.as('ada'), { turnId: appended.id, turn })
      expect(await stored(edited.turn.id)).toEqual(expected)
      const id = await open('Look!')
      await commitTurn(world.deps, tenant.as('ada'), { writerToken: WRITER, turnId: id, parts: [{ file }] })
      expect(await stored(id)).toEqual(expected)
    })

    it('by supersedeTurn, and the older version stays indexed', async () => {
      const older = await tenant.append(conversationId, 'ada', 'The key is here.')
      const { turn: newer } = await supersedeTurn(world.deps, tenant.as('ada'), {
        turnId: older.id,
        turn: { role, content: TEXT },
      })
      expect(await stored(newer.id)).toEqual(entry(owner, 'ada', TEXT))
      expect(await stored(older.id)).toEqual(entry(owner, 'ada', 'The key is here.'))
    })

    it('by commitTurn with the whole text, and not before', async () => {
      const id = await open('Did Carla see the tu', 'lips twice last year?')
      expect(await stored(id)).toEqual(NOTHING)
      await commitTurn(world.deps, tenant.as('ada'), { writerToken: WRITER, turnId: id })
      expect(await stored(id)).toEqual(entry(owner, 'ada', TEXT))
    })

    it('but not by abortTurn', async () => {
      const id = await open(TEXT)
      await abortTurn(world.deps, tenant.as('ada'), { writerToken: WRITER, turnId: id })
      expect(await stored(id)).toEqual(NOTHING)
    })
  })
})
