// The words in the index cache that recalls of large scopes search: after any change of the conversations, in this
// process or in another one, a recall with a warm cache finds the same as a search in the database, for every viewer.

import { describe, expect, it, vi } from 'vitest'
import type { Deps } from '../../../../../../src/domain/deps.ts'
import { deleteConversation } from '../../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { eraseTurn } from '../../../../../../src/domain/trust/erasure/erase-turn.ts'
import { addParticipant, removeParticipant } from '../../../../../../src/domain/conversation/participant/participant.ts'
import { gather } from '../../../../../../src/domain/memory/recall/search/turns.ts'
import { createIndexCache } from '../../../../../../src/domain/memory/recall/index/index-cache.ts'
import { toTerms } from '../../../../../../src/domain/memory/recall/search/query.ts'
import type { SearchRequest } from '../../../../../../src/domain/memory/recall/search/request.ts'
import { turnAtPlace } from '../../../../../../src/domain/memory/recall/index/sequence.ts'
import { supersedeTurn } from '../../../../../../src/domain/turn/supersede.ts'
import { appendTurns } from '../../../../../../src/domain/turn/append/append.ts'
import type { Turn } from '../../../../../../src/domain/turn/turn.ts'
import { readWideScope } from '../../../../../../src/store/sql/memory/recall/scope.ts'
import { backends } from '../../../../../support/backend.ts'
import { casesOf } from '../../../../../support/long.ts'
import { useWorld, type Tenant } from '../../../../../support/world.ts'

const WORDS = 'harbour lantern meadow violin glacier pepper saddle thunder walnut compass orchard candle'.split(' ')
const VIEWERS = ['ada', 'bob', 'late', 'stranger']
const OPERATIONS = casesOf(60)

const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)]!
const sentence = () => Array.from({ length: 4 }, () => pick(WORDS)).join(' ')

describe.each(backends)('the index cache of a large scope, on $name', (backend) => {
  const world = useWorld(backend)

  /** Returns the input of ranking for a search by words over all conversations, sorted by turn. */
  async function found(deps: Deps, tenant: Tenant, actor: string, query: string, filter: SearchRequest['filter']) {
    const viewer = tenant.as(actor)
    const { conversations } = await readWideScope(
      deps.pool,
      viewer,
      { scope: 'TENANT', conversationId: null },
      deps.embedding.serving().name,
    )
    const request = { terms: toTerms(query, new Date()), vector: null, filter, limit: 64, queryTurn: null }
    const { sequences, candidates, statistics, participants } = await gather(
      deps,
      viewer,
      { conversations, limits: { small: 0, memory: 0 } },
      request,
    )
    const turns = sequences.flatMap((sequence, i) =>
      [...candidates[i]!].map((place) => {
        const { starts, places, counts } = sequence.matches
        const own = [...starts.keys()].slice(1).map((term) => {
          const match = places.indexOf(place, starts[term - 1])
          return match >= 0 && match < starts[term]! ? counts[match] : 0
        })
        return { ...turnAtPlace(sequence, place), own, eligible: sequence.eligible[place] }
      }),
    )
    const names = participants.map((each) => [each.conversationId, each.actor, each.names])
    return {
      statistics,
      turns: turns.map((each) => JSON.stringify(each)).sort(),
      names: names.map((each) => JSON.stringify(each)).sort(),
    }
  }

  /** Expects that searches with a warm cache find the same as searches in the database. */
  async function expectSame(warm: Deps, tenant: Tenant, viewers: readonly string[]): Promise<void> {
    const inDatabase = { ...world.deps, indexes: createIndexCache(0) }
    for (const actor of viewers) {
      const query = `${pick(WORDS)} ${pick(WORDS)}`
      const filter = pick([{}, { actors: ['bob'] }, { roles: ['ASSISTANT' as const] }])
      const expected = await found(inDatabase, tenant, actor, query, filter)
      expect(await found(warm, tenant, actor, query, filter), `${actor}: ${query}`).toEqual(expected)
    }
  }

  it(`finds the same as a search in the database after each of ${OPERATIONS} random changes`, async () => {
    const { deps } = world
    const tenant = world.tenant()
    // The cache of another process, which takes no part in the changes.
    const warm = { ...deps, indexes: createIndexCache() }
    const ids = [await tenant.newConversation('ada', 'bob'), await tenant.newConversation('ada', 'bob', 'joiner')]
    const turns: Turn[] = []
    const append = async (more: object = {}) => {
      turns.push(await tenant.append(pick(ids), pick(['ada', 'bob']), sentence(), more))
    }
    const late = () => ({
      conversationId: pick(ids),
      participant: { actor: 'late', historyVisibility: 'SINCE_JOINED' as const },
    })
    const changes = [
      append,
      () => append({ audience: ['ada', 'bob'] }),
      () => append({ role: 'ASSISTANT' }),
      async () => {
        const { id, role, actor } = pick(turns)
        const turn = { role, content: sentence(), actor }
        const newer = await supersedeTurn(deps, tenant.as(actor), { turnId: id, turn }).catch(() => null)
        if (newer) turns.push(newer.turn)
      },
      () => eraseTurn(deps, tenant.as('op'), { turnId: pick(turns).id }).catch(() => {}),
      () => addParticipant(deps, tenant.as('ada'), late()).catch(() => {}),
      () => removeParticipant(deps, tenant.as('ada'), { conversationId: pick(ids), actor: 'late' }).catch(() => {}),
      async () => ids.push(await tenant.newConversation('ada', 'bob')),
      async () => {
        if (ids.length > 2) await deleteConversation(deps, tenant.as('op'), ids.pop()!)
      },
    ]
    for (let n = 0; n < 12; n++) await append()
    for (let n = 0; n < OPERATIONS; n++) {
      await pick(changes)()
      await expectSame(warm, tenant, [pick(VIEWERS)])
    }
    await expectSame(warm, tenant, VIEWERS)
  })

  it('is filled in the background by the second recall of a scope that is too large to read at once', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const id = await tenant.newConversation('ada')
    for (let batch = 0; batch < 3; batch++) {
      const turns = Array.from({ length: 800 }, () => ({ role: 'USER' as const, content: sentence() }))
      await appendTurns(deps, tenant.as('ada'), { conversationId: id, turns })
    }
    const indexes = createIndexCache()
    const read = vi.spyOn(indexes, 'read')
    const warm = { ...deps, indexes }
    const isCached = async () => (await read.mock.results.at(-1)!.value) !== null
    for (const expected of [false, false, true]) {
      await expectSame(warm, tenant, ['ada'])
      expect(await isCached()).toBe(expected)
      await indexes.settled()
    }
    // A cache that is too small for the scope is not filled.
    const small = { ...deps, indexes: createIndexCache(200_000) }
    for (let n = 0; n < 3; n++) await expectSame(small, tenant, ['ada'])
  })
})
