// Random interleavings of deltas, early, late and slow readers, lost messages, crashes, commits, aborts and expired
// leases. For every reader, the joined deltas equal the stored text. FC_SEED repeats the scripts of a run; with
// FC_SHRINK, a failing script is reduced.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { backends } from '../../../../support/backend.ts'
import { isExhaustive, isLong } from '../../../../support/long.ts'
import { openSite, type Process, type Site } from '../../../../support/process.ts'
import { play, step } from './script.ts'

const seed = Number(process.env.FC_SEED ?? Math.floor(Math.random() * 2 ** 31))
/** The last backend runs all cases; the others run a tenth of them. */
const CASES = isExhaustive ? 1_000 : isLong ? 300 : 20

describe.each(backends.map((backend, n) => ({ ...backend, cases: n === backends.length - 1 ? CASES : CASES / 10 })))(
  'streaming turns at random, on $name',
  (backend) => {
    let site: Site
    let processes: Process[]

    beforeAll(async () => {
      site = await openSite(backend)
      processes = [await site.start(), await site.start()]
    })
    afterAll(() => site.close())

    it(`deliver the stored text to every reader (${backend.cases} cases, seed ${seed})`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24, size: 'max' }), (script) =>
          play(processes, script),
        ),
        { seed, numRuns: backend.cases, endOnFailure: process.env.FC_SHRINK === undefined },
      )
    })
  },
)
