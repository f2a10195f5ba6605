// Rows against Mastra's memory: recall, contexts, appends and pages. Both sides run in this process, with the same
// texts and vectors, each on its own database of one Postgres.

import { words, WORDS_A_QUERY, WORDS_A_TURN } from '../corpus.ts'
import { medianTime, rateOf } from '../figures.ts'
import { settle, withDatabase, type Bench } from '../services.ts'
import { openMastra, type Mastra } from './mastra.ts'
import { openOurs, type Ours } from '../ours.ts'
import { CALLS, measure, SHARED_CALLS, WARM_UP_MS, type Measured, type Row } from '../row.ts'

const PEER = 'Mastra'
/** Number of appends in a round, and of appends that wait for their vectors. */
const APPENDS = { plain: 1_280, embedded: 320 }
const CALLERS = 16
/** Number of texts per call of saveMessages, which embeds and stores their vectors at once. */
const BATCH = 100

/** `settle` waits for the background work in both databases after they were filled. */
type Sides = { ours: Ours; mastra: Mastra; settle(): Promise<void> }
/** A conversation that exists on both sides, with the same id. */
type PairedConversation = { id: string; owner: string }

const texts = (count: number) => Array.from({ length: count }, () => words(WORDS_A_TURN))
const queries = Array.from({ length: CALLS }, () => words(WORDS_A_QUERY))
const queryOf = (n: number) => queries[n % CALLS]!

/** Runs `use` with both sides, each on an empty database. */
async function withSides<T>({ services }: Bench, embeds: boolean, use: (sides: Sides) => Promise<T>): Promise<T> {
  return withDatabase(services.databaseUrl, (databaseUrl) =>
    withDatabase(services.databaseUrl, async (mastraUrl) => {
      const ours = await openOurs({ ...services, databaseUrl }, embeds)
      try {
        const mastra = await openMastra(mastraUrl)
        try {
          return await use({
            ours,
            mastra,
            async settle() {
              for (const url of [databaseUrl, mastraUrl]) await settle(url)
            },
          })
        } finally {
          await mastra.close()
        }
      } finally {
        await ours.close()
      }
    }),
  )
}

async function create({ ours, mastra }: Sides, owner: string): Promise<PairedConversation> {
  const id = await ours.createConversation(owner)
  await mastra.createThread(id, owner)
  return { id, owner }
}

/** Creates a conversation with the same texts on both sides. */
async function fill(sides: Sides, owner: string, size: number, embedded: boolean): Promise<PairedConversation> {
  const conversation = await create(sides, owner)
  const all = texts(size)
  await sides.ours.appendAll(conversation.id, all)
  for (let from = 0; from < size; from += BATCH)
    await sides.mastra.append(conversation.id, owner, all.slice(from, from + BATCH), embedded)
  return conversation
}

/** Throws if a read finds nothing: both sides must do the work that is compared. */
const found = async (read: Promise<number>): Promise<void> => {
  if ((await read) === 0) throw new Error('a read found no turns')
}

type Read = (n: number) => Promise<number>
const ofOneCaller = (label: string, asked: number, ours: Read, theirs: Read): Row => ({
  ...{ label, against: PEER, asked, unit: 'ms', warmUpMs: WARM_UP_MS },
  ours: () => medianTime(CALLS, (n) => found(ours(n))),
  theirs: () => medianTime(CALLS, (n) => found(theirs(n))),
})
const ofAllCallers = (label: string, asked: number, ours: Read, theirs: Read): Row => ({
  ...{ label: `${label}, ${CALLERS} callers`, against: PEER, asked, unit: '/s', warmUpMs: WARM_UP_MS },
  ours: () => rateOf(CALLERS, SHARED_CALLS, (n) => found(ours(n))),
  theirs: () => rateOf(CALLERS, SHARED_CALLS, (n) => found(theirs(n))),
})

/** `sizes`: conversations by number of turns. `owners`: one conversation of each owner, by the owner's turns. */
function readRows(
  { ours, mastra }: Sides,
  sizes: Map<number, PairedConversation>,
  owners: Map<number, PairedConversation>,
): Row[] {
  const recallOf = ({ id, owner }: PairedConversation): [Read, Read] => [
    (n) => ours.recall(id, queryOf(n), 'CONVERSATION'),
    (n) => mastra.recall(id, owner, queryOf(n), 'thread'),
  ]
  const ownerRecall = ({ id, owner }: PairedConversation): [Read, Read] => [
    (n) => ours.recall(id, queryOf(n), 'OWNER'),
    (n) => mastra.recall(id, owner, queryOf(n), 'resource'),
  ]
  const contextOf = ({ id, owner }: PairedConversation): [Read, Read] => [
    (n) => ours.context(id, queryOf(n)),
    (n) => mastra.context(id, owner, queryOf(n)),
  ]
  const ofSize = (size: number) => sizes.get(size)!
  return [
    ofOneCaller('recall, 1,000 turns', 4, ...recallOf(ofSize(1_000))),
    ofAllCallers('recall, 1,000 turns', 4, ...recallOf(ofSize(1_000))),
    ofOneCaller('recall, 2,000 turns', 3, ...recallOf(ofSize(2_000))),
    ofOneCaller('recall, 10,000 turns', 3, ...recallOf(ofSize(10_000))),
    ...[...owners].map(([size, owned]) =>
      ofOneCaller(`recall, owner, ${size.toLocaleString('en-US')} turns`, 8, ...ownerRecall(owned)),
    ),
    ofOneCaller('context 20 + 10, 1,000 turns', 4, ...contextOf(ofSize(1_000))),
    ofOneCaller('context 20 + 10, 10,000 turns', 4, ...contextOf(ofSize(10_000))),
  ]
}

/** Rows of recall and context. With `isLarge`, also recall over an owner's 100,000 turns. */
export async function readsOfMemory(bench: Bench, isLarge: boolean): Promise<Measured[]> {
  const { progress } = bench
  return withSides(bench, true, async (sides) => {
    const sizes = new Map<number, PairedConversation>()
    for (const size of [1_000, 2_000, 10_000]) {
      sizes.set(size, await fill(sides, `owner-of-${size}`, size, true))
      progress(`${size} turns written`)
    }
    const owners = new Map<number, PairedConversation>()
    for (const conversations of isLarge ? [10, 100] : [10]) {
      const owner = `owner-of-conversations-${conversations}`
      const size = conversations * 1_000
      for (let n = 0; n < conversations; n++) owners.set(size, await fill(sides, owner, 1_000, true))
      progress(`${size} turns in ${conversations} conversations written`)
    }
    await sides.ours.untilEmbedded()
    await sides.settle()
    progress('all turns are embedded')
    const measured: Measured[] = []
    for (const row of readRows(sides, sizes, owners)) measured.push(await measure(row, progress))
    return measured
  })
}

/** Rows of plain appends and pages, without embedding on either side. */
export async function historyOfMemory(bench: Bench): Promise<Measured[]> {
  const { progress } = bench
  return withSides(bench, false, async (sides) => {
    const { ours, mastra } = sides
    const conversations: PairedConversation[] = []
    for (let n = 0; n < CALLERS; n++) conversations.push(await create(sides, 'writer'))
    const target = (n: number) => conversations[n % CALLERS]!
    const rows: Row[] = [
      {
        ...{ label: `append, ${CALLERS} callers`, against: PEER, asked: 6, unit: '/s', warmUpMs: WARM_UP_MS },
        ours: () => rateOf(CALLERS, APPENDS.plain, (n) => ours.append(target(n).id, queryOf(n))),
        theirs: () => rateOf(CALLERS, APPENDS.plain, (n) => mastra.append(target(n).id, 'writer', [queryOf(n)], false)),
      },
    ]
    for (const [size, asked] of [
      [2_000, 4.6],
      [10_000, 16],
      [100_000, 16],
    ] as const) {
      const { id, owner } = await fill(sides, `reader-of-${size}`, size, false)
      progress(`${size} turns written`)
      const label = `page of 50 of ${size.toLocaleString('en-US')} turns`
      rows.push(
        ofOneCaller(
          label,
          asked,
          () => ours.page(id),
          () => mastra.page(id, owner),
        ),
      )
    }
    await sides.settle()
    const measured: Measured[] = []
    for (const row of rows) measured.push(await measure(row, progress))
    return measured
  })
}

/** The row of appends whose vectors are stored when the call ends. */
export async function embeddedAppends(bench: Bench): Promise<Measured[]> {
  return withSides(bench, true, async (sides) => {
    const { ours, mastra } = sides
    const conversations: PairedConversation[] = []
    for (let n = 0; n < CALLERS; n++) conversations.push(await create(sides, 'writer'))
    const target = (n: number) => conversations[n % CALLERS]!
    let round = 0
    const textOf = (n: number) => `${words(WORDS_A_TURN)} ${round}-${n}`
    const count = APPENDS.embedded
    const row: Row = {
      ...{
        label: `append until its vector is stored, ${CALLERS} callers`,
        against: PEER,
        asked: 4,
        unit: '/s',
        warmUpMs: WARM_UP_MS,
      },
      async ours() {
        round += 1
        const begin = performance.now()
        await rateOf(CALLERS, count, (n) => ours.append(target(n).id, textOf(n)))
        await ours.untilEmbedded()
        return (count * 1_000) / (performance.now() - begin)
      },
      theirs() {
        round += 1
        return rateOf(CALLERS, count, (n) => mastra.append(target(n).id, 'writer', [textOf(n)], true))
      },
    }
    return [await measure(row, bench.progress)]
  })
}
