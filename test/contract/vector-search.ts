// The contract of every vector search. vector-search.test.ts runs it on the in-memory search of the embedded database,
// and on Postgres with exact search and with an HNSW index.

import { beforeAll, describe, expect, it } from 'vitest'
import { deleteConversation } from '../../src/domain/trust/erasure/delete-conversation.ts'
import { metadataFilter } from '../../src/domain/kernel/metadata-filter.ts'
import { addParticipant } from '../../src/domain/conversation/participant/participant.ts'
import { appendDelta } from '../../src/domain/turn/streaming/append-delta.ts'
import { openTurn } from '../../src/domain/turn/append/append.ts'
import type { TurnInput } from '../../src/domain/turn/append/turn-input.ts'
import { supersedeTurn } from '../../src/domain/turn/supersede.ts'
import type { Turn } from '../../src/domain/turn/turn.ts'
import { versionKey, type TurnVersionId, type VectorSearch } from '../../src/store/vectors/vector-search.ts'
import type { Backend } from '../support/backend.ts'
import { addEmbedder } from '../support/seeded-vectors.ts'
import { useWorld, type TestWorld } from '../support/world.ts'
import { WRITER } from '../support/writer.ts'
import { sql } from '../support/sql.ts'
import { SYSTEM } from '../../src/store/db/scope.ts'
import { similaritiesOf } from '../support/vectors.ts'
import { nextTime } from '../support/next-time.ts'

/** The contract's own embedder, because the test world's embedder writes vectors automatically. */
const EMBEDDER = 'test:4'
const OTHER = 'other:4'

/** Returns a unit vector in a plane, at an angle of `degrees` to EAST. */
const at = (degrees: number) =>
  Float32Array.of(Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180), 0, 0)
const EAST = at(0)
const QUERY = { embedder: EMBEDDER, query: EAST }
/** Number of digits to which similarities of half-precision vectors are exact. */
const PRECISION = 3
const cosine = (degrees: number) => Math.cos((degrees * Math.PI) / 180)

const versionOf = (turn: Turn): TurnVersionId => ({
  conversationId: turn.conversationId,
  position: turn.position,
  seq: turn.seq,
})

export function vectorSearchContract(
  name: string,
  backend: Backend,
  create: (world: TestWorld) => Promise<VectorSearch>,
): void {
  describe(name, () => {
    const world = useWorld(backend)
    let vectors: VectorSearch
    beforeAll(async () => {
      await addEmbedder(world.deps.pool, EMBEDDER, 4)
      await addEmbedder(world.deps.pool, OTHER, 4)
      vectors = await create(world)
    })

    const writeVector = (turn: Turn, degrees: number, embedder = EMBEDDER) =>
      vectors.write(embedder, [{ ...versionOf(turn), vector: at(degrees) }])

    /** A new tenant, with functions to append turns and to search. */
    function newTenant() {
      const tenant = world.tenant()
      return {
        ...tenant,
        /** Appends a turn, and writes its vector at this angle. */
        async appendAt(
          conversationId: string,
          degrees: number,
          actor = 'ada',
          more: Partial<TurnInput> = {},
        ): Promise<Turn> {
          const turn = await tenant.append(conversationId, actor, `${degrees} degrees`, more)
          await writeVector(turn, degrees)
          return turn
        },
        async nearest(conversationIds: string[], limit = 10, as = 'ada', filter = {}): Promise<TurnVersionId[]> {
          const { found } = await vectors.nearest(tenant.as(as), conversationIds, QUERY, { limit, filter })
          return found.map(({ conversationId, position, seq }) => ({ conversationId, position, seq }))
        },
      }
    }

    it('compares only the vectors of the given embedder', async () => {
      const { newConversation, appendAt, append } = newTenant()
      const [one, two, elsewhere, empty] = [
        await newConversation(),
        await newConversation(),
        await newConversation(),
        await newConversation(),
      ]
      const [a, b] = [await appendAt(one, 0), await appendAt(one, 60)]
      const c = await appendAt(two, 90)
      await appendAt(elsewhere, 0)
      await writeVector(await append(one, 'ada', 'of the other embedder'), 0, OTHER)
      const found = await similaritiesOf({ pool: world.deps.pool, vectors }, EMBEDDER, [one, two, empty], EAST)
      expect([...found.keys()].filter((key) => found.get(key)!.size > 0).sort()).toEqual([one, two].sort())
      expect([...found.get(one)!.keys()].sort()).toEqual([a.seq, b.seq].sort())
      expect(found.get(one)!.get(a.seq)).toBeCloseTo(1, PRECISION)
      expect(found.get(one)!.get(b.seq)).toBeCloseTo(0.5, PRECISION)
      expect([...found.get(two)!]).toEqual([[c.seq, expect.closeTo(0, PRECISION)]])
      expect((await similaritiesOf({ pool: world.deps.pool, vectors }, OTHER, [one], EAST)).get(one)!.size).toBe(1)
    })

    it('compares only the requested turns', async () => {
      const { newConversation, appendAt, append } = newTenant()
      const [one, two] = [await newConversation(), await newConversation()]
      const turns = [await appendAt(one, 0), await appendAt(two, 60), await appendAt(one, 180)]
      const without = await append(one, 'ada', 'without a vector')
      const found = await vectors.compare(SYSTEM, QUERY, [turns[1]!, turns[2]!, without].map(versionOf))
      expect([...found.keys()].sort()).toEqual([turns[1]!, turns[2]!].map((turn) => versionKey(versionOf(turn))).sort())
      expect(found.get(versionKey(versionOf(turns[1]!)))).toBeCloseTo(0.5, PRECISION)
      expect(found.get(versionKey(versionOf(turns[2]!)))).toBeCloseTo(-1, PRECISION)
      expect((await vectors.compare(SYSTEM, QUERY, [])).size).toBe(0)
    })

    it('returns the nearest turns first, and at most the requested number', async () => {
      const { newConversation, appendAt, nearest } = newTenant()
      const [one, two, elsewhere] = [await newConversation(), await newConversation(), await newConversation()]
      const turns = [
        await appendAt(one, 40),
        await appendAt(two, 10),
        await appendAt(one, 30),
        await appendAt(two, 170),
      ]
      await appendAt(elsewhere, 5)
      const [a, b, c, d] = turns.map(versionOf)
      expect(await nearest([one, two])).toEqual([b, c, a, d])
      expect(await nearest([one, two], 2)).toEqual([b, c])
      expect(await nearest([two])).toEqual([b, d])
      expect(await nearest([])).toEqual([])
    })

    it('returns the similarity of each turn', async () => {
      const { newConversation, appendAt, as } = newTenant()
      const one = await newConversation()
      await appendAt(one, 20)
      const { found } = await vectors.nearest(as('ada'), [one], QUERY, { limit: 1, filter: {} })
      expect(found[0]!.similarity).toBeCloseTo(cosine(20), PRECISION)
    })

    it('keeps the first vector of a turn, and finds turns written after a search', async () => {
      const { newConversation, appendAt, nearest } = newTenant()
      const one = await newConversation()
      const first = await appendAt(one, 50)
      expect(await nearest([one])).toEqual([versionOf(first)])
      await writeVector(first, 0)
      const second = await appendAt(one, 10)
      const found = (await similaritiesOf({ pool: world.deps.pool, vectors }, EMBEDDER, [one], EAST)).get(one)!
      expect(found.size).toBe(2)
      expect(found.get(first.seq)).toBeCloseTo(cosine(50), PRECISION)
      expect(await nearest([one])).toEqual([versionOf(second), versionOf(first)])
    })

    it('finds, from the next search on, a vector that is written during a search', async () => {
      const { newConversation, append, nearest } = newTenant()
      const one = await newConversation()
      const turns: Turn[] = []
      for (let i = 0; i < 30; i++) turns.push(await append(one, 'ada', `turn ${i}`))
      await Promise.all(turns.flatMap((turn, i) => [writeVector(turn, 10 + i), nearest([one])]))
      expect(await nearest([one], 99)).toEqual(turns.map(versionOf))
      expect((await similaritiesOf({ pool: world.deps.pool, vectors }, EMBEDDER, [one], EAST)).get(one)!.size).toBe(30)
    })

    it('does not write vectors for deleted conversations, erased turns and unknown embedders', async () => {
      const { newConversation, append, as, nearest } = newTenant()
      const [one, gone] = [await newConversation(), await newConversation()]
      const [kept, lost] = [await append(one, 'ada', 'stays'), await append(gone, 'ada', 'goes')]
      const erased = await append(one, 'ada', 'erased')
      await sql(world.deps.pool).query(`UPDATE turn SET status = 'ERASED' WHERE id = $1`, [erased.id])
      await deleteConversation(world.deps, as('ada'), gone)
      await vectors.write(
        EMBEDDER,
        [lost, erased, kept].map((turn) => ({ ...versionOf(turn), vector: at(10) })),
      )
      await vectors.write('gone:4', [{ ...versionOf(kept), vector: at(10) }])
      await vectors.write(EMBEDDER, [])
      expect(await nearest([one, gone])).toEqual([versionOf(kept)])
      expect((await similaritiesOf({ pool: world.deps.pool, vectors }, 'gone:4', [one], EAST)).get(one)!.size).toBe(0)
      expect((await similaritiesOf({ pool: world.deps.pool, vectors }, EMBEDDER, [one], EAST)).get(one)!.size).toBe(1)
    })

    it('finds no turns of a deleted conversation after `forget`', async () => {
      const { newConversation, appendAt, as, nearest } = newTenant()
      const one = await newConversation()
      await appendAt(one, 10)
      expect(await nearest([one])).toHaveLength(1)
      await deleteConversation(world.deps, as('ada'), one)
      vectors.forget(one)
      expect(await nearest([one])).toEqual([])
      expect((await similaritiesOf({ pool: world.deps.pool, vectors }, EMBEDDER, [one], EAST)).get(one)!.size).toBe(0)
    })

    it("hides turns outside the viewer's view, and returns no fewer hits because of them", async () => {
      const { newConversation, appendAt, nearest } = newTenant()
      const one = await newConversation('ada', 'bob', 'eve')
      const open = [await appendAt(one, 50), await appendAt(one, 60)]
      const secret = await Promise.all(
        Array.from({ length: 30 }, (_, i) => appendAt(one, 10 + i, 'ada', { audience: ['bob'] })),
      )
      expect(await nearest([one], 2, 'eve')).toEqual(open.map(versionOf))
      expect(await nearest([one], 2, 'a stranger')).toEqual(open.map(versionOf))
      expect(await nearest([one], 1, 'bob')).toEqual([versionOf(secret[0]!)])
      expect(await nearest([one], 99, 'bob')).toHaveLength(32)
    })

    it('hides turns appended before the viewer joined with SINCE_JOINED', async () => {
      const { newConversation, appendAt, nearest, as } = newTenant()
      const one = await newConversation('ada')
      const before = await appendAt(one, 0)
      await addParticipant(world.deps, as('owner'), {
        conversationId: one,
        participant: { actor: 'eve', historyVisibility: 'SINCE_JOINED' },
      })
      const after = await appendAt(one, 70)
      expect(await nearest([one], 5, 'eve')).toEqual([versionOf(after)])
      expect(await nearest([one], 5, 'ada')).toEqual([before, after].map(versionOf))
    })

    it('finds only the newest version of a turn', async () => {
      const { newConversation, appendAt, nearest, as } = newTenant()
      const one = await newConversation('ada')
      const old = await appendAt(one, 0)
      const { turn: newer } = await supersedeTurn(world.deps, as('ada'), {
        turnId: old.id,
        turn: { role: 'USER', content: 'new' },
      })
      expect(await nearest([one])).toEqual([])
      await writeVector(newer, 80)
      expect(await nearest([one])).toEqual([versionOf(newer)])
    })

    it('finds only committed turns', async () => {
      const { newConversation, nearest, as } = newTenant()
      const one = await newConversation('ada')
      const { turn } = await openTurn(world.deps, as('ada'), {
        writerToken: WRITER,
        conversationId: one,
        turn: { role: 'USER' },
      })
      await appendDelta(world.deps, as('ada'), { writerToken: WRITER, turnId: turn.id, start: 0, text: 'so far' })
      await writeVector(turn, 0)
      expect(await nearest([one])).toEqual([])
    })

    it('finds no turns of another tenant', async () => {
      const [mine, theirs] = [newTenant(), newTenant()]
      const conversationId = await theirs.newConversation()
      await theirs.appendAt(conversationId, 0)
      expect(await mine.nearest([conversationId])).toEqual([])
    })

    it('filters by actor, role, time and metadata', async () => {
      const { newConversation, appendAt, nearest } = newTenant()
      const one = await newConversation()
      const onDay = (day: number) => ({ createdAt: new Date(Date.UTC(2025, 0, day)) })
      const a = versionOf(await appendAt(one, 30, 'ada', { ...onDay(1), metadata: { topic: 'cats', n: 1 } }))
      const b = versionOf(await appendAt(one, 20, 'bob', { ...onDay(2), role: 'ASSISTANT' }))
      const c = versionOf(await appendAt(one, 10, 'eve', { ...onDay(3), metadata: { topic: 'dogs' } }))
      const found = (filter: object) => nearest([one], 10, 'ada', filter)
      expect(await found({})).toEqual([c, b, a])
      expect(await found({ actors: ['ada', 'bob'] })).toEqual([b, a])
      expect(await found({ roles: ['ASSISTANT'] })).toEqual([b])
      expect(await found({ since: onDay(2).createdAt })).toEqual([c, b])
      expect(await found({ until: onDay(2).createdAt })).toEqual([a])
      expect(await found({ metadata: metadataFilter.parse([{ path: ['topic'], value: { equals: 'cats' } }]) })).toEqual(
        [a],
      )
      expect(await found({ actors: ['nobody'] })).toEqual([])
      const none = { actors: null, roles: null, since: null, until: null, metadata: null, writtenBy: null }
      expect(await found(none)).toEqual([c, b, a])
    })

    it('filters by the time when the first version of a turn was written, not by its creation time', async () => {
      const { newConversation, appendAt, nearest, as } = newTenant()
      const one = await newConversation()
      const first = await appendAt(one, 30, 'ada', { createdAt: new Date() })
      const { rows } = await sql(world.deps.pool).query<{ at: Date }>(
        'SELECT at FROM entry WHERE conversation_id = $1 AND seq = $2',
        [one, first.seq],
      )
      await nextTime()
      await appendAt(one, 20, 'ada', { createdAt: new Date(0) })
      const { turn: edited } = await supersedeTurn(world.deps, as('ada'), {
        turnId: first.id,
        turn: { role: 'USER', content: 'edited' },
      })
      await writeVector(edited, 10)
      expect(await nearest([one], 10, 'ada', { writtenBy: rows[0]!.at })).toEqual([versionOf(edited)])
      expect(await nearest([one], 10, 'ada', { writtenBy: new Date(rows[0]!.at.getTime() - 1) })).toEqual([])
    })
  })
}
