// Reads as of a moment equal the reads that were made at that moment: random writes, with moments between them at which
// all reads are recorded.

import fc from 'fast-check'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Deps } from '../../../../src/domain/deps.ts'
import * as domain from '../../../../src/index.ts'
import { backends } from '../../../support/backend.ts'
import { casesOf } from '../../../support/long.ts'
import { momentAfter } from '../../../support/moment.ts'
import { sql } from '../../../support/sql.ts'
import { useWorld } from '../../../support/world.ts'
import { allReads } from './all-reads.ts'
import { createHistory, KINDS, MEMBERS, WEIGHTS, write, type Step } from './random-history.ts'

/** Viewers whose rights do not change: participants, and an actor who never joins. */
const VIEWERS = [...MEMBERS, 'dee']

const kinds = KINDS.flatMap((kind) => Array<Step['kind']>(WEIGHTS[kind] ?? 1).fill(kind))
const steps = fc.array(fc.record({ kind: fc.constantFrom(...kinds), a: fc.nat(997), b: fc.nat(997) }), {
  minLength: 10,
  maxLength: 25,
})

/** Waits until all turns and active facts have their vectors. */
async function embedded({ pool }: Deps): Promise<void> {
  for (;;) {
    const { rows } = await sql(pool).query<{ missing: boolean }>(`
      SELECT EXISTS (SELECT FROM journal j WHERE j.last_seq > coalesce((
               SELECT max(k.through_seq) FROM embedding_cursor k WHERE k.conversation_id = j.conversation_id), 0))
          OR EXISTS (SELECT FROM fact f WHERE f.superseded_at IS NULL AND f.embedded_by IS NULL) AS missing`)
    if (!rows[0]!.missing) return
    await sleep(10)
  }
}

describe.each(backends)('reads as of a moment on $name', (backend) => {
  const world = useWorld(backend)

  it('equal those of the moment, by time and by journal number', { timeout: 1_200_000 }, async () => {
    const run = async (viewer: string, parts: Step[][]) => {
      const { deps } = world
      const tenant = world.tenant()
      const history = await createHistory(deps, tenant.name)
      const recorded: { asOf: domain.AsOfInput; answers: Record<string, unknown> }[] = []
      for (const [index, part] of parts.entries()) {
        await write(history, part)
        const conversationId = history.conversations[index % 2]!
        // The entry of this turn is the last write before the moment.
        const last = index > 0 ? await tenant.append(conversationId, 'ann', 'And that was all.') : null
        await embedded(deps)
        const time = await momentAfter(deps)
        const answers = await allReads(deps, history, [viewer])
        recorded.push({ asOf: { asOf: { time } }, answers })
        if (last) recorded.push({ asOf: { asOf: { seq: last.seq }, conversationId }, answers })
      }
      await write(history, parts.flat().reverse())
      for (const { asOf, answers } of recorded) {
        const past = await domain.asOf(deps, tenant.as('ann'), asOf)
        expect(await allReads(past, history, [viewer])).toEqual(answers)
      }
    }
    const property = fc.asyncProperty(fc.constantFrom(...VIEWERS), fc.array(steps, { minLength: 2, maxLength: 3 }), run)
    await fc.assert(property, { numRuns: casesOf(16), endOnFailure: true })
  })
})
