// Candidates for ranking: they are the same whether a scope is read whole or through its indexes, and whether or not it
// contains turns that the viewer cannot see.

import { describe, expect, it, vi } from 'vitest'
import { createConversation } from '../../../../../../src/domain/conversation/conversation.ts'
import { addParticipant } from '../../../../../../src/domain/conversation/participant/participant.ts'
import { inverseDocumentFrequencies } from '../../../../../../src/domain/memory/recall/rank/bm25.ts'
import {
  candidateAt,
  featuresOf,
  type TurnCandidate,
} from '../../../../../../src/domain/memory/recall/rank/features.ts'
import { gather, isSmall } from '../../../../../../src/domain/memory/recall/search/turns.ts'
import { createIndexCache } from '../../../../../../src/domain/memory/recall/index/index-cache.ts'
import type { SearchRequest, GatheredTurns } from '../../../../../../src/domain/memory/recall/search/request.ts'
import { toTerms } from '../../../../../../src/domain/memory/recall/search/query.ts'
import { appendDelta } from '../../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn } from '../../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurns, openTurn } from '../../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../../src/domain/turn/supersede.ts'
import type { Turn } from '../../../../../../src/domain/turn/turn.ts'
import type { Viewer } from '../../../../../../src/domain/kernel/view.ts'
import { readWideScope } from '../../../../../../src/store/sql/memory/recall/scope.ts'
import { backends } from '../../../../../support/backend.ts'
import { waitForTurnVectors } from '../../../../../support/recall.ts'
import { useWorld } from '../../../../../support/world.ts'
import { WRITER } from '../../../../../support/writer.ts'
import { sql } from '../../../../../support/sql.ts'

const WORDS = `harbour lantern meadow violin glacier pepper saddle thunder walnut compass orchard candle river falcon
  marble anchor basket copper desert engine feather garden hammer island jacket kitten ladder mirror needle oyster
  pillow quarry ribbon shovel temple umbrella valley window yellow zipper bridge cherry dragon eagle forest goblin
  helmet igloo jungle kettle lemon monkey napkin onion parrot quiver rocket spider tunnel uncle`.split(/\s+/)

/** Pseudo-random numbers from 0 to 1, the same for the same seed (Park and Miller's generator). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}

const START = Date.UTC(2024, 0, 1)

describe('a scope', () => {
  it('is small if it has at most 5,000 public turns and twice as many entries', () => {
    const scope = (publicTurns: number, lastSeq: number) => [{ publicTurns, lastSeq }]
    expect(isSmall(scope(5_000, 5_000))).toBe(true)
    expect(isSmall(scope(5_000, 10_000))).toBe(true)
    expect(isSmall(scope(5_001, 5_001))).toBe(false)
    expect(isSmall(scope(1, 10_001))).toBe(false)
    expect(isSmall([...scope(3_000, 3_000), ...scope(2_001, 2_001)])).toBe(false)
  })
})

describe.each(backends)('gathering candidates, on $name', (backend) => {
  const world = useWorld(backend)

  const requestFor = async (query: string, filter: SearchRequest['filter'] = {}): Promise<SearchRequest> => {
    const embedder = world.deps.embedding.serving()
    const [vector] = await embedder.embed([query])
    return {
      terms: toTerms(query, new Date()),
      vector: { embedder: embedder.name, query: vector! },
      filter,
      limit: 64,
      queryTurn: null,
    }
  }

  /** The input of ranking, without the ids and seqs that differ between conversations. */
  function rankingInput({ sequences, candidates, statistics }: GatheredTurns) {
    const search = {
      idf: inverseDocumentFrequencies(statistics),
      averageLength: statistics.averageLength,
      namesActor: () => false,
    }
    const found = new Map<string, Omit<TurnCandidate, 'turn' | 'sequence' | 'place'>>()
    sequences.forEach((sequence, i) => {
      const features = featuresOf(search, sequence, candidates[i]!)
      for (const at of candidates[i]!.keys()) {
        const { turn, sequence: _, place: __, ...signals } = candidateAt(features, at)
        found.set(`${turn.at} ${turn.actor}`, signals)
      }
    })
    return { statistics, candidates: [...found].sort(([a], [b]) => (a < b ? -1 : 1)) }
  }
  /** Matches cosines to five decimals only, because batches are summed in another order. */
  const nearly = ({ statistics, candidates }: ReturnType<typeof rankingInput>) => ({
    statistics,
    candidates: candidates.map(([key, { similarity, similarityWithNeighbours, ...signals }]) => [
      key,
      {
        ...signals,
        similarityWithNeighbours: expect.closeTo(similarityWithNeighbours, 5),
        similarity: similarity === null ? null : expect.closeTo(similarity, 5),
      },
    ]),
  })
  /** Where a scope is searched. Only the indexes of a large scope may be in a cache before. */
  type Way = 'small, in memory' | 'in the database' | 'words in memory' | 'large, in memory'
  const ways: Way[] = ['small, in memory', 'in the database', 'words in memory', 'large, in memory']
  const LIMITS = {
    'small, in memory': { small: 1_000, memory: 1_000 },
    'in the database': { small: 0, memory: 0 },
    'words in memory': { small: 0, memory: 0 },
    'large, in memory': { small: 0, memory: 1_000 },
  }
  const gatheredFor = async (viewer: Viewer, request: SearchRequest, way: Way = 'small, in memory') => {
    const { conversations } = await readWideScope(
      world.deps.pool,
      viewer,
      { scope: 'TENANT', conversationId: null },
      world.deps.embedding.serving().name,
    )
    const deps = { ...world.deps, indexes: createIndexCache(way === 'in the database' ? 0 : undefined) }
    const nearest = vi.spyOn(deps.vectors, 'nearest')
    const found = await gather(deps, viewer, { conversations, limits: LIMITS[way] }, request)
    expect(nearest).toHaveBeenCalledTimes(way.endsWith(', in memory') ? 0 : 1)
    nearest.mockRestore()
    return rankingInput(found)
  }

  const shared = new Map<boolean, ReturnType<typeof fill>>()
  /** Returns a tenant created by `fill`, which tests that only read share. */
  function filled(secrets: boolean) {
    if (!shared.has(secrets)) shared.set(secrets, fill(secrets))
    return shared.get(secrets)!
  }

  /** Creates a tenant with three conversations. `secrets`: whether each also has turns that bob cannot see. */
  async function fill(secrets: boolean) {
    const tenant = world.tenant()
    const next = randomFrom(7)
    const pick = () => WORDS[Math.floor(next() * WORDS.length)]!
    const turns: Turn[] = []
    const [ada, bob] = [tenant.as('ada'), tenant.as('bob')]
    for (let r = 0; r < 3; r++) {
      const { conversation } = await createConversation(world.deps, ada, {
        owner: 'ada',
        participants: [{ actor: 'ada' }, { actor: 'bob' }, { actor: 'eve' }],
      })
      let at = START + r * 1e9
      for (let batch = 0; batch < 4; batch++) {
        const inputs = Array.from({ length: 12 }, (_, i) => {
          at += next() < 0.1 ? 2 * 3_600_000 : 60_000
          return {
            actor: i % 2 ? 'ada' : 'eve',
            role: 'USER' as const,
            createdAt: new Date(at),
            content: `${pick()} ${pick()} ${pick()} ${pick()}${next() < 0.2 ? '?' : ''}`,
          }
        })
        turns.push(...(await appendTurns(world.deps, ada, { conversationId: conversation.id, turns: inputs })).turns)
        if (!secrets) continue
        // Append more turns than the session of a hit reaches, in the middle of a session, with words of the query.
        await appendTurns(world.deps, ada, {
          conversationId: conversation.id,
          turns: Array.from({ length: 30 }, (_, i) => ({
            actor: 'ada',
            role: 'USER' as const,
            audience: ['eve'],
            createdAt: new Date(at + i),
            content: `${WORDS.slice(0, 12).join(' ')} ${WORDS[i]} yesterday?`,
          })),
        })
        const { turn: open } = await openTurn(world.deps, ada, {
          writerToken: WRITER,
          conversationId: conversation.id,
          turn: { role: 'ASSISTANT' },
        })
        await appendDelta(world.deps, ada, { writerToken: WRITER, turnId: open.id, text: WORDS.slice(0, 12).join(' ') })
        await abortTurn(world.deps, ada, { writerToken: WRITER, turnId: open.id })
        await addParticipant(world.deps, ada, {
          conversationId: conversation.id,
          participant: { actor: `late-${batch}`, historyVisibility: 'SINCE_JOINED' },
        })
      }
      if (secrets) {
        // Bob sees only the newest version of a turn, so the older versions must not count.
        const older = turns.at(-1)!
        await supersedeTurn(world.deps, ada, {
          turnId: older.id,
          turn: { actor: older.actor, role: 'USER', content: WORDS.slice(0, 12).join(' '), createdAt: older.createdAt },
        })
        const { turn: newer } = await supersedeTurn(world.deps, ada, {
          turnId: (await newestVersion(conversation.id)).id,
          turn: { actor: older.actor, role: 'USER', content: older.text, createdAt: older.createdAt },
        })
        turns[turns.length - 1] = newer
      }
    }
    await waitForTurnVectors(world.deps, turns)
    return { bob, turns }
  }
  async function newestVersion(conversation: string) {
    const { rows } = await sql(world.deps.pool).query<{ id: string }>(
      `SELECT id FROM turn WHERE conversation_id = $1 AND superseded_by IS NULL AND supersedes IS NOT NULL`,
      [conversation],
    )
    return rows[0]!
  }

  /** Queries of rare words; in a wide scope, common words are skipped. */
  function queriesOf(turns: readonly Turn[]): string[] {
    const countOf = (word: string) => turns.filter(({ text }) => text.includes(word)).length
    const rare = WORDS.filter((word) => countOf(word) > 0 && countOf(word) <= turns.length / 10)
    return [rare.slice(0, 3), rare.slice(3, 8), rare.slice(8, 9)].map((words) => words.join(' '))
  }

  it('returns the same candidates wherever the scope is searched', async () => {
    const { bob, turns } = await filled(true)
    for (const query of queriesOf(turns)) {
      const request = await requestFor(query)
      const found = nearly(await gatheredFor(bob, request))
      for (const way of ways) expect(await gatheredFor(bob, request, way), way).toEqual(found)
    }
  })

  it('searches a large scope for the same terms in memory and in the database', async () => {
    const { bob } = await filled(true)
    const request = await requestFor(WORDS.join(' '))
    const found = nearly(await gatheredFor(bob, request, 'in the database'))
    expect(await gatheredFor(bob, request, 'words in memory')).toEqual(found)
    expect(await gatheredFor(bob, request, 'large, in memory')).toEqual(found)
  })

  it('applies filters to hits only, not to statistics', async () => {
    const { bob, turns } = await filled(true)
    const [query] = queriesOf(turns)
    const { rows } = await sql(world.deps.pool).query<{ at: Date }>(
      'SELECT at FROM entry WHERE conversation_id = $1 AND seq = $2',
      [turns[60]!.conversationId, turns[60]!.position],
    )
    for (const filter of [
      { actors: ['eve'] },
      { since: turns[60]!.createdAt, until: turns[90]!.createdAt },
      { writtenBy: rows[0]!.at },
    ]) {
      const request = await requestFor(query!, filter)
      const found = await gatheredFor(bob, request)
      for (const way of ways) expect(await gatheredFor(bob, request, way), way).toEqual(nearly(found))
      expect(found.statistics).toEqual((await gatheredFor(bob, await requestFor(query!))).statistics)
    }
  })

  it('leaves out the turn that the query was taken from', async () => {
    const { bob, turns } = await fill(true)
    const [query] = queriesOf(turns)
    const request = await requestFor(query!)
    const without = new Map<Way, Awaited<ReturnType<typeof gatheredFor>>>()
    for (const way of ways) without.set(way, await gatheredFor(bob, request, way))
    const { conversationId } = turns.at(-1)!
    const asked = await appendTurns(
      world.deps,
      { tenant: bob.tenant, actor: 'ada' },
      {
        conversationId,
        turns: [{ role: 'USER', content: query!, createdAt: new Date(turns.at(-1)!.createdAt.getTime() + 1) }],
      },
    )
    await waitForTurnVectors(world.deps, asked.turns)
    const { position } = asked.turns[0]!
    for (const way of ways) {
      const found = await gatheredFor(bob, { ...request, queryTurn: { conversationId, position } }, way)
      expect(found, way).toEqual(nearly(without.get(way)!))
      const all = await gatheredFor(bob, request, way)
      expect(all.candidates.length, way).toBeGreaterThan(found.candidates.length)
    }
  })

  it.each(ways)(
    'finds the same candidates in a scope searched %s, with or without turns that the viewer cannot see',
    async (way) => {
      const open = await filled(false)
      const withSecrets = await filled(true)
      for (const query of [...queriesOf(open.turns), WORDS.slice(0, 5).join(' ')]) {
        const request = await requestFor(query)
        const seen = await gatheredFor(open.bob, request, way)
        expect(seen.candidates.length).toBeGreaterThan(0)
        expect(await gatheredFor(withSecrets.bob, request, way)).toEqual(nearly(seen))
      }
    },
  )
})
