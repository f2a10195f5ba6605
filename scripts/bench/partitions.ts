// `npm run bench -- partitions`: each verb on a database with 16 partitions (DATABASE_PARTITIONS) against one without
// partitions, in one process. Takes about 2 minutes.

import { loadavg } from 'node:os'
import { readTurns } from '../../src/store/sql/turn/read-turns.ts'
import { format, medianTime, note, rateOf } from './figures.ts'
import { openOurs, type Ours } from './ours.ts'
import { measure, tableOf, type Measured, type Row } from './row.ts'
import { settle, withDatabase, type Bench } from './services.ts'

const PARTITIONS = 16
const TURNS = 1_000
const CONVERSATIONS = 10
const CALLS = 200
const WARM_UP_MS = 1_000

const NOTES = [
  'Medians of 5 interleaved rounds; the ratio is the median of the ratios of the rounds, 1 if partitions cost nothing.',
  `Each database has ${CONVERSATIONS} conversations of ${TURNS} turns of one owner, with their vectors.`,
  'A read of a turn by id does not name its conversation, so it searches the index of each partition.',
]

const words = 'harbour lantern garden ticket violin market bridge winter engine letter'.split(' ')
const textOf = (n: number) => `Turn ${n}: the ${words[n % 10]} and the ${words[(n * 7 + 3) % 10]} of case ${n % 97}.`

type Side = { ours: Ours; conversations: string[]; turnIds: string[] }

async function fill(ours: Ours, url: string): Promise<Side> {
  const conversations: string[] = []
  for (let n = 0; n < CONVERSATIONS; n++) {
    const id = await ours.createConversation('ada')
    await ours.appendAll(
      id,
      Array.from({ length: TURNS }, (_, turn) => textOf(n * TURNS + turn)),
    )
    conversations.push(id)
  }
  await ours.untilEmbedded()
  await settle(url)
  const { rows } = await ours.deps.pool.query<{ id: string }>({
    scope: 'default',
    text: 'SELECT id FROM turn ORDER BY id LIMIT 1000',
  })
  return { ours, conversations, turnIds: rows.map(({ id }) => id) }
}

type Work = (side: Side, n: number) => Promise<unknown>

const VERBS: [label: string, unit: Row['unit'], work: Work][] = [
  ['append, one caller', 'ms', ({ ours, conversations }) => ours.append(conversations[0]!, textOf(1))],
  ['append, 16 callers', '/s', ({ ours, conversations }, n) => ours.append(conversations[n % 10]!, textOf(n))],
  ['page of 50', 'ms', ({ ours, conversations }, n) => ours.page(conversations[n % 10]!)],
  ['turn by id', 'ms', (side, n) => readTurns(side.ours.deps.pool, viewer, [side.turnIds[n % 1000]!])],
  [
    'recall, conversation',
    'ms',
    ({ ours, conversations }, n) => ours.recall(conversations[1]!, textOf(n), 'CONVERSATION'),
  ],
  ['recall, owner', 'ms', ({ ours, conversations }, n) => ours.recall(conversations[1]!, textOf(n), 'OWNER')],
  ['context', 'ms', ({ ours, conversations }, n) => ours.context(conversations[1]!, textOf(n))],
]

const viewer = { tenant: 'default', actor: 'ada' }

export function partitions({ services, progress }: Bench): Promise<string> {
  const { databaseUrl, redisUrl } = services
  return withDatabase(databaseUrl, (plainUrl) =>
    withDatabase(databaseUrl, async (partitionedUrl) => {
      const plain = await openOurs({ databaseUrl: plainUrl, redisUrl }, true)
      const partitioned = await openOurs({ databaseUrl: partitionedUrl, redisUrl }, true, {
        DATABASE_PARTITIONS: String(PARTITIONS),
      })
      try {
        const sides = { ours: await fill(partitioned, partitionedUrl), theirs: await fill(plain, plainUrl) }
        const measured: Measured[] = []
        for (const [label, unit, work] of VERBS) {
          const round = (side: Side) => () =>
            unit === 'ms' ? medianTime(CALLS, (n) => work(side, n)) : rateOf(16, CALLS * 16, (n) => work(side, n))
          const row: Row = {
            label,
            against: 'no partitions',
            asked: null,
            unit,
            warmUpMs: WARM_UP_MS,
            ours: round(sides.ours),
            theirs: round(sides.theirs),
          }
          measured.push(await measure(row, progress))
        }
        return [
          `\n## partitions: ${PARTITIONS} partitions against none\n`,
          ...tableOf(measured, { against: 'against', theirs: 'none' }),
          '',
          ...[...NOTES, `Load of the machine: ${format(loadavg()[0]!)}.`].map(note),
        ].join('\n')
      } finally {
        await partitioned.close()
        await plain.close()
      }
    }),
  )
}
