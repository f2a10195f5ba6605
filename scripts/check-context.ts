// `npm run check:context [cases] [seed]`: checks the invariants of contexts over random conversations, by default over
// 100,000, with a seed from the clock. Prints the number of exceeded budgets and of other faults; exits with 1 if there
// are any.

import fc from 'fast-check'
import { cases, contextOf, faults } from '../test/unit/domain/memory/context/cases.ts'

const BATCH = 1_000
const total = Number(process.argv[2] ?? 100_000)
const seed = Number(process.argv[3] ?? Date.now() % 1_000_000)

/** Maximum number of faults to print with their case. */
const MAX_PRINTED = 5

let printed = 0
const counts = { cases: 0, contexts: 0, refused: 0, 'over budget': 0, 'otherwise wrong': 0 }
for (let batch = 0; counts.cases < total; batch++) {
  for (const given of fc.sample(cases, { numRuns: Math.min(BATCH, total - counts.cases), seed: seed + batch })) {
    counts.cases += 1
    const context = await contextOf(given)
    if (context instanceof Error) {
      counts.refused += 1
      continue
    }
    counts.contexts += 1
    for (const fault of faults(given, context)) {
      counts[/^over budget|^\w+ sends/.test(fault) ? 'over budget' : 'otherwise wrong'] += 1
      if (printed++ < MAX_PRINTED) console.error(`${fault}: ${fc.stringify(given)}`)
    }
  }
}
console.log(
  `seed ${seed}:`,
  Object.entries(counts)
    .map(([name, count]) => `${count.toLocaleString('en-US')} ${name}`)
    .join(', '),
)
process.exit(counts['over budget'] + counts['otherwise wrong'] > 0 ? 1 : 0)
