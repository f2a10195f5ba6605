// A scope that is too large to be read completely is searched through indexes as of a moment, too, and with the ranking
// of that moment.

import { describe, expect, it } from 'vitest'
import * as domain from '../../../../src/index.ts'
import { gather } from '../../../../src/domain/memory/recall/search/turns.ts'
import { toTerms, embedQuery } from '../../../../src/domain/memory/recall/search/query.ts'
import { rankTurns } from '../../../../src/domain/memory/recall/rank/rank-turns.ts'
import type { Deps } from '../../../../src/domain/deps.ts'
import { readWideScope } from '../../../../src/store/sql/memory/recall/scope.ts'
import { backends } from '../../../support/backend.ts'
import { momentAfter } from '../../../support/moment.ts'
import { waitForTurnVectors } from '../../../support/recall.ts'
import { useWorld } from '../../../support/world.ts'

/** Every scope is too large. */
const LARGE = { small: 0, memory: 0 }
/** The second one shares no word with the turns, so only vectors find them. */
const QUERIES = ['Where is the ferry to Lisbon?', 'Which ship sails across the sea?']

/** Returns the ranked turns of a search through indexes: the key and the score of each. */
async function search(deps: Deps, viewer: domain.Viewer, query: string): Promise<unknown[]> {
  const { conversations } = await readWideScope(
    deps.pool,
    viewer,
    { scope: 'TENANT', conversationId: null },
    deps.embedding.serving().name,
  )
  const vector = await embedQuery(deps, query)
  const request = {
    terms: toTerms(query, new Date()),
    vector,
    filter: { roles: ['USER' as const] },
    limit: 4,
    queryTurn: null,
  }
  const gathered = await gather(deps, viewer, { conversations, limits: LARGE }, request)
  return [...rankTurns(query, gathered, new deps.clock.Date()).hits].map(({ candidate, score }) => [
    candidate.turn.conversationId,
    candidate.turn.seq,
    score.toFixed(6),
  ])
}

describe.each(backends)('a large scope on $name', (backend) => {
  const world = useWorld(backend)

  it('is searched as of a moment', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const [ann, bob] = [tenant.as('ann'), tenant.as('bob')]
    const ids = [await tenant.newConversation('ann', 'bob'), await tenant.newConversation('ann', 'bob')]
    const turns: domain.Turn[] = []
    for (let i = 0; i < 30; i++) {
      const content = `The ${i % 3 === 0 ? 'ferry' : 'train'} to ${['Lisbon', 'Rome', 'Porto', 'Oslo'][i % 4]} leaves at ${i}.`
      turns.push(await tenant.append(ids[i % 2]!, i % 2 ? 'ann' : 'bob', content))
    }
    await waitForTurnVectors(deps, turns)
    const time = await momentAfter(deps)
    const searchAll = async (read: Deps) => {
      const found = []
      for (const query of QUERIES) found.push(await search(read, ann, query), await search(read, bob, query))
      return found
    }
    const recorded = await searchAll(deps)
    for (const found of recorded) expect(found.length).toBeGreaterThan(3)

    const later: domain.Turn[] = []
    for (const { id, actor } of turns.slice(0, 6)) {
      const turn = { role: 'USER' as const, content: 'The ferry to Lisbon was cancelled.' }
      later.push((await domain.supersedeTurn(deps, tenant.as(actor), { turnId: id, turn })).turn)
    }
    later.push(await tenant.append(ids[0]!, 'ann', 'The ferry to Lisbon is a secret.', { audience: ['ann'] }))
    later.push(await tenant.append(await tenant.newConversation('ann'), 'ann', 'Lisbon again, by ferry.'))
    await waitForTurnVectors(deps, later)
    const present = await searchAll(deps)
    for (const [index, found] of present.entries()) expect(found).not.toEqual(recorded[index])
    const past = await domain.asOf(deps, ann, { asOf: { time } })
    expect(await searchAll(past)).toEqual(recorded)
  })
})
