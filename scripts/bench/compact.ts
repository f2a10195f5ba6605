// Compacts a conversation of imported turns into one rolling summary with the built-in summarizer, on Postgres, and
// checks the limits of a pass and of the summary. The baseline runs the same passes with a summarizer that returns a
// constant, so it measures only the database.

import type { OpenDeps } from '../../src/deps.ts'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { summarize } from '../../src/domain/memory/summary/compact.ts'
import { PASS_TOKENS, SUMMARY_TOKENS } from '../../src/domain/memory/summary/step.ts'
import { appendTurns } from '../../src/domain/turn/append/append.ts'
import type { Summarizer } from '../../src/providers/ports/summarizer.ts'
import type { Report } from './figures.ts'
import { openDeps, withDatabase, type Bench } from './services.ts'
import { SYSTEM } from '../../src/store/db/scope.ts'

/** Number of imported turns. Defaults to 100,000; override with COMPACT_TURNS. */
const TURNS = Number(process.env.COMPACT_TURNS ?? 100_000)
const BATCH = 1_000
const viewer = { tenant: 'default', actor: 'ada' }
const SUBJECTS = ['The harbour', 'Our budget', 'The new release', 'A customer', 'The database', 'Her brother']
const VERBS = [
  'needs more time than planned',
  'was moved to next Thursday',
  'costs 40 euros a month',
  'works again since noon',
]

async function fill({ deps }: OpenDeps): Promise<string> {
  const {
    conversation: { id },
  } = await createConversation(deps, viewer, { participants: [{ actor: 'ada' }, { actor: 'bob' }] })
  for (let from = 0; from < TURNS; from += BATCH) {
    await appendTurns(deps, viewer, {
      conversationId: id,
      turns: Array.from({ length: Math.min(BATCH, TURNS - from) }, (_, n) => ({
        actor: n % 2 ? 'ada' : 'bob',
        role: 'USER' as const,
        content:
          `${SUBJECTS[(from + n) % 6]} ${VERBS[(from + 3 * n) % 4]}, says note ${from + n}. `
          + 'Shall we talk about it?',
      })),
    })
  }
  return id
}

/**
 * Summarises the whole conversation. Throws if a pass or the summary exceeds its limit, or if the summary does not
 * cover all turns.
 */
async function run({ deps }: OpenDeps, conversationId: string, summarizer: Summarizer) {
  let passes = 0
  let longest = 0
  const counting: Summarizer = {
    ...summarizer,
    async summarize(request, signal) {
      passes += 1
      longest = Math.max(
        longest,
        request.turns.reduce((sum, { text }) => sum + (deps.tokens.count(text) as number), 0),
      )
      return summarizer.summarize(request, signal)
    },
  }
  const measured = { ...deps, summarizers: { ...deps.summarizers, default: counting } }
  const begin = performance.now()
  const summary = await summarize(measured, viewer, { conversationId })
  const ms = performance.now() - begin
  const { turns } = await deps.db.of(SYSTEM).summary.findUniqueOrThrow({ where: { id: summary.id } })
  if (longest > PASS_TOKENS || summary.tokenCount > SUMMARY_TOKENS || turns !== TURNS) {
    throw new Error(
      `the longest pass has ${longest} tokens (limit ${PASS_TOKENS}); the summary has ${summary.tokenCount} tokens `
        + `(limit ${SUMMARY_TOKENS}) and covers ${turns} turns (expected ${TURNS})`,
    )
  }
  return { ms, passes, longest, tokens: summary.tokenCount }
}

export async function compact({ services, progress }: Bench): Promise<Report> {
  return withDatabase(services.databaseUrl, async (url) => {
    const world = await openDeps(url, services.redisUrl)
    try {
      const [conversationId, baselineId] = [await fill(world), await fill(world)]
      progress(`wrote two conversations of ${TURNS} turns`)
      const baseline = await run(world, baselineId, {
        model: 'none',
        summarize: async () => ({ content: 'nothing', model: 'none' }),
        title: async () => null,
        close: async () => {},
      })
      const ours = await run(world, conversationId, world.deps.summarizers.default)
      return {
        title: `compact: ${TURNS.toLocaleString('en-US')} imported turns into one rolling summary, Postgres`,
        figures: [
          {
            label: 'the whole conversation',
            ours: ours.ms / 1_000,
            theirs: baseline.ms / 1_000,
            against: 'the same passes with a constant summary',
            unit: 's',
            better: 'smaller',
            target: null,
          },
        ],
        notes: [`${ours.passes} passes of at most ${ours.longest} tokens; the summary has ${ours.tokens} tokens.`],
      }
    } finally {
      await world.close()
    }
  })
}
