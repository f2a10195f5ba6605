// The rerankers of the registry (see registry.ts), their variables, and the creation of the selected one.

import type { z } from 'zod'
import { endpoint, model, number } from '../runtime/fields.ts'
import type { Entry, Problem, Values } from './entry.ts'
import type { OpenAiRerankerSettings } from './openai/reranker.ts'
import { MAX_RERANK_CANDIDATES, type Reranker, type Reranking } from './ports/reranker.ts'
import { TEST_TIMEOUT_MS, testProvider, type ProviderTestLog } from './test-provider.ts'
import type { ModelSettings } from './transformers/thread.ts'
import { key } from './variables.ts'

/** The default cross-encoder of transformers.js. */
const CROSS_ENCODER = 'Xenova/ms-marco-MiniLM-L-6-v2'
/** The default number of hits that a reranker scores. */
const CANDIDATES = 50

const RERANK_MODEL = model.describe(
  `Model that scores hits. Required with \`openai\`. Unset: \`${CROSS_ENCODER}\` with \`transformers\`, where it may be a `
    + 'directory.',
)
const RERANK_CANDIDATES = number(1, MAX_RERANK_CANDIDATES)
  .optional()
  .describe(`Number of the best hits that the reranker scores. Unset: ${CANDIDATES}.`)

/** The variables of a server. They are not those of OpenAI, because OpenAI has no API that scores texts. */
const SERVER = {
  RERANK_URL: endpoint
    .optional()
    .describe(
      'Base URL of the server that scores hits, which has `POST /rerank` below it. Required with `openai` and `tei`.',
    ),
  RERANK_API_KEY: key.describe('Key for that server. Unset: no key is sent.'),
  RERANK_CANDIDATES,
}
const OPENAI_RERANKER = { RERANK_MODEL, ...SERVER }
const TRANSFORMERS_RERANKER = { RERANK_MODEL, RERANK_CANDIDATES }

function* urlProblems({ RERANK_URL }: Values<typeof SERVER>): Generator<Problem> {
  if (!RERANK_URL) yield ['RERANK_URL', 'set it to the base URL of a server that has POST /rerank below it']
}

/** The settings of a server that has a URL; `urlProblems` reports a missing one. */
const serverOf = ({ RERANK_URL, RERANK_API_KEY, RERANK_CANDIDATES: candidates }: Values<typeof SERVER>) => ({
  baseUrl: RERANK_URL!,
  apiKey: RERANK_API_KEY,
  candidates: candidates ?? CANDIDATES,
})

type Candidates = { candidates: number }
type ServerSettings = OpenAiRerankerSettings & Candidates

/** Returns its argument. Only lets TypeScript infer the entry's type. `create` also tests the reranker. */
const reranker = <Settings, Variables extends z.ZodRawShape = z.ZodRawShape>(
  entry: Entry<Settings, ProviderTestLog, Reranker | null, Variables>,
) => entry

/** Scores a word. @throws CallFailed, after closing the reranker, if the operator must correct a setting */
const testReranker = (provider: Reranker, log: ProviderTestLog) =>
  testProvider(
    { port: 'reranker', provider, effect: 'recall returns hits in their own order until it is' },
    (signal) => provider.score('hello', ['hello'], signal),
    log,
  )

async function createOnServer(settings: ServerSettings, log: ProviderTestLog): Promise<Reranker> {
  const { createOpenAiReranker } = await import('./openai/reranker.ts')
  const tested = createOpenAiReranker(settings, { timeoutMs: TEST_TIMEOUT_MS, retries: 0, pauseMs: 0 })
  try {
    await testReranker(tested, log)
  } finally {
    await tested.close()
  }
  return createOpenAiReranker(settings)
}

/** The rerankers. The first entry is the default. */
export const rerankers = {
  off: reranker<{ kind: 'off' }>({
    variables: {},
    problems: () => [],
    settings: () => ({ kind: 'off' }),
    create: async () => null,
  }),

  openai: reranker<{ kind: 'openai' } & ServerSettings, typeof OPENAI_RERANKER>({
    note: 'Cohere, Jina, vLLM, llama.cpp, Infinity …',
    variables: OPENAI_RERANKER,
    *problems(env) {
      yield* urlProblems(env)
      if (!env.RERANK_MODEL) yield ['RERANK_MODEL', 'set it to the name of a reranker of the server']
    },
    settings: (env) => ({ kind: 'openai', model: env.RERANK_MODEL!, ...serverOf(env) }),
    create: createOnServer,
  }),

  tei: reranker<{ kind: 'tei' } & ServerSettings, typeof SERVER>({
    note: 'Text Embeddings Inference',
    variables: SERVER,
    problems: urlProblems,
    settings: (env) => ({ kind: 'tei', model: null, ...serverOf(env) }),
    create: createOnServer,
  }),

  transformers: reranker<{ kind: 'transformers' } & ModelSettings & Candidates, typeof TRANSFORMERS_RERANKER>({
    variables: TRANSFORMERS_RERANKER,
    problems: () => [],
    settings: (env) => ({
      kind: 'transformers',
      model: env.RERANK_MODEL ?? CROSS_ENCODER,
      candidates: env.RERANK_CANDIDATES ?? CANDIDATES,
    }),
    async create(settings, log) {
      const { createTransformersReranker } = await import('./transformers/reranker.ts')
      const created = createTransformersReranker(settings)
      await testReranker(created, log)
      return created
    },
  }),
}

export type RerankerSettings = ReturnType<(typeof rerankers)[keyof typeof rerankers]['settings']>

/**
 * Creates the selected reranker; null if it is off.
 * @throws CallFailed if the operator must correct a key, a model or a setting
 */
export async function createReranking(settings: RerankerSettings, log: ProviderTestLog): Promise<Reranking | null> {
  const entries: Record<string, Entry<RerankerSettings, ProviderTestLog, Reranker | null>> = rerankers
  const created = await entries[settings.kind]!.create(settings, log)
  return created && settings.kind !== 'off' ? { reranker: created, candidates: settings.candidates } : null
}
