// Imports a real conversation, LoCoMo 26, with its times. Paging forward and backward returns exactly the turns of the
// file. The file cannot be shipped (CC BY-NC 4.0), so the test is skipped without it.

import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { addParticipant } from '../../src/domain/conversation/participant/participant.ts'
import { appendTurns } from '../../src/domain/turn/append/append.ts'
import { pageOfTurns, turnCursor, type TurnsArgs } from '../../src/domain/turn/history.ts'
import { backends } from '../support/backend.ts'
import { useWorld, type Tenant } from '../support/world.ts'

type LocomoTurn = { id: string; at: string; speaker: string; text: string; caption?: string }

const file = new URL('../../../shared/locomo/26.json', import.meta.url)
const conversation = existsSync(file)
  ? (JSON.parse(readFileSync(file, 'utf8')) as { speakers: string[]; turns: LocomoTurn[] })
  : null

describe.runIf(conversation)('a real conversation (needs ../shared/locomo)', () => {
  describe.each(backends)('imported on $name', (backend) => {
    const world = useWorld(backend)
    const turns = conversation?.turns ?? []
    const contentOf = ({ text, caption }: LocomoTurn) => (caption ? `${text}\n[image: ${caption}]` : text)
    const expected = turns.map((turn) => ({
      id: turn.id,
      actor: turn.speaker,
      text: contentOf(turn),
      at: new Date(turn.at).toISOString(),
    }))

    async function importInto(tenant: Tenant): Promise<string> {
      const conversationId = await tenant.newConversation()
      for (const actor of conversation!.speakers) {
        await addParticipant(world.deps, tenant.as('importer'), { conversationId, participant: { actor } })
      }
      await appendTurns(world.deps, tenant.as('importer'), {
        conversationId,
        turns: turns.map((turn) => ({
          actor: turn.speaker,
          role: 'USER',
          content: contentOf(turn),
          createdAt: new Date(turn.at),
          clientId: turn.id,
          metadata: { id: turn.id },
        })),
      })
      return conversationId
    }

    async function pages(tenant: Tenant, conversationId: string, size: number, direction: 'first' | 'last') {
      const read: typeof expected = []
      for (let cursor: string | null = null, more = true; more;) {
        const args: TurnsArgs = direction === 'first' ? { first: size, after: cursor } : { last: size, before: cursor }
        const page = (await pageOfTurns(world.deps, tenant.as('reader'), [conversationId], args)).get(conversationId)!
        const items = page.items.map((turn) => ({
          id: turn.metadata!.id as string,
          actor: turn.actor,
          text: turn.text,
          at: turn.createdAt.toISOString(),
        }))
        if (direction === 'first') read.push(...items)
        else read.unshift(...items)
        more = direction === 'first' ? page.hasNextPage : page.hasPreviousPage
        cursor = turnCursor(page.items.at(direction === 'first' ? -1 : 0)!)
      }
      return read
    }

    test('paging forward and backward returns exactly the turns of the file, for any page size', async () => {
      expect(turns).toHaveLength(419)
      const tenant = world.tenant()
      const conversationId = await importInto(tenant)
      for (const size of [1, 7, 50, 200]) {
        expect(await pages(tenant, conversationId, size, 'first')).toEqual(expected)
        expect(await pages(tenant, conversationId, size, 'last')).toEqual(expected)
      }
    })
  })
})
