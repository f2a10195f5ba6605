// Random interleavings of deltas, readers early, late and slow, lost messages, crashes, commits, aborts and silence:
// 1,000 in the long run, 100 in the short. Joined deltas equal the stored text for every reader. FC_SEED=… repeats a run.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { backends } from '../../support/backend.ts'
import { casesOf } from '../../support/long.ts'
import { openSite, type Process, type Site } from '../../support/process.ts'
import { play, step } from './script.ts'

const seed = Number(process.env.FC_SEED ?? Math.floor(Math.random() * 2 ** 31))
/** The last backend runs all cases, the others a tenth. */
const CASES = casesOf(1_000)

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

    it(`tell every reader the text that is stored (${backend.cases} cases, seed ${seed})`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24, size: 'max' }), (script) =>
          play(processes, script),
        ),
        { seed, numRuns: backend.cases, endOnFailure: process.env.FC_SHRINK === undefined },
      )
    }, 300_000)
  },
)
