// The registry of providers. The configuration and its documentation are derived from its entries. An entry imports its
// adapter in `create`, so that only the selected providers are loaded.

import type { z } from 'zod'
import type { TokenCounter } from '../text/tokens.ts'
import type { Entry, StoredEmbedder } from './entry.ts'
import type { OpenAiSettings } from './openai/embedder.ts'
import type { ChatSettings } from './openai/chat.ts'
import { CallFailed } from './ports/call-failed.ts'
import type { Embedder } from './ports/embedder.ts'
import type { FactServices } from './ports/fact-services.ts'
import type { Summarizer, Summarizers } from './ports/summarizer.ts'
import type { TransformersSettings } from './transformers/embedder.ts'
import { rerankers } from './reranker-registry.ts'
import { TEST_TIMEOUT_MS, testProvider, type ProviderTestLog } from './test-provider.ts'
import {
  canShorten,
  chatModel,
  EMBEDDING,
  EMBEDDING_MODELS,
  embeddingModel,
  embeddingProblems,
  keyProblems,
  OPENAI,
} from './variables.ts'

/** The entry of an embedder. `create` also tests the embedder unless it is built in. */
type EmbedderEntry<Settings, Variables extends z.ZodRawShape = z.ZodRawShape> = Entry<
  Settings,
  ProviderTestLog,
  Embedder,
  Variables
> & {
  /**
   * Returns the settings that recreate the embedder of stored vectors; null if another provider computed them, or if
   * settings are missing. `selected` has this provider's current settings; null if another provider is selected.
   */
  settingsFor(stored: StoredEmbedder, selected: Settings | null): Settings | null
}

/** `embedder` and `provider` return their argument. They only let TypeScript infer the entry's type. */
const embedder = <Settings, Variables extends z.ZodRawShape = z.ZodRawShape>(
  entry: EmbedderEntry<Settings, Variables>,
) => entry
const provider = <Settings, Port, Variables extends z.ZodRawShape = z.ZodRawShape>(
  entry: Entry<Settings, ProviderNeeds, Port, Variables>,
) => entry

/**
 * Objects that summarizers and fact services use and do not close. `words` is the static embedder; `promptsDir` is the
 * directory of the operator's prompts, undefined for none.
 */
export type ProviderNeeds = { words: Embedder; tokens: TokenCounter; promptsDir?: string | undefined }

/** Embeds a word. @throws CallFailed, after closing the embedder, if the operator must correct a setting */
const testEmbedder = (provider: Embedder, log: ProviderTestLog) =>
  testProvider(
    { port: 'embedder', provider, effect: 'turns get no vectors until it is' },
    (signal) => provider.embed(['hello'], signal),
    log,
  )

/** The fields of an entry without variables. */
const NONE = { variables: {}, problems: () => [] }
const OPENAI_EMBEDDING = { ...OPENAI, ...EMBEDDING }

/** Revision of a model that changes under the same name; undefined is the first one. */
type Revised = { revision?: number | undefined }

/** The providers of embeddings. The first entry is the default. */
export const embedders = {
  static: embedder<{ kind: 'static' }>({
    ...NONE,
    note: 'built in',
    settings: () => ({ kind: 'static' }),
    create: async () => (await import('./static/embedder.ts')).createStaticEmbedder(),
    settingsFor: ({ name }) => (name.startsWith('static-') ? { kind: 'static' } : null),
  }),

  openai: embedder<{ kind: 'openai' } & Revised & OpenAiSettings, typeof OPENAI_EMBEDDING>({
    variables: OPENAI_EMBEDDING,
    *problems(env) {
      yield* keyProblems(env)
      yield* embeddingProblems(env, EMBEDDING_MODELS.openai)
    },
    settings(env) {
      const { model, dimension, revision } = embeddingModel(env, EMBEDDING_MODELS.openai)
      const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey } = env
      return { kind: 'openai', baseUrl, apiKey, model, dimension, revision, sendsDimension: canShorten(model) }
    },
    async create(settings, log) {
      const { createOpenAiEmbedder } = await import('./openai/embedder.ts')
      const tested = createOpenAiEmbedder(settings, { timeoutMs: TEST_TIMEOUT_MS, retries: 0, pauseMs: 0 })
      try {
        await testEmbedder(tested, log)
      } finally {
        await tested.close()
      }
      return createOpenAiEmbedder(settings)
    },
    // The name is openai:MODEL:DIMENSION. The URL and the key are those of the current settings.
    settingsFor({ name, dimension }, selected) {
      const model = /^openai:(.*):[^:]*$/.exec(name)?.[1]
      return model && selected ? { ...selected, model, dimension, sendsDimension: canShorten(model) } : null
    },
  }),

  transformers: embedder<{ kind: 'transformers' } & Revised & TransformersSettings, typeof EMBEDDING>({
    variables: EMBEDDING,
    problems: (env) => embeddingProblems(env, EMBEDDING_MODELS.transformers),
    settings: (env) => ({ kind: 'transformers', ...embeddingModel(env, EMBEDDING_MODELS.transformers) }),
    async create(settings, log) {
      const { createTransformersEmbedder } = await import('./transformers/embedder.ts')
      const embedder = createTransformersEmbedder(settings)
      await testEmbedder(embedder, log)
      return embedder
    },
    // The name is transformers:MODEL.
    settingsFor({ name, dimension }) {
      const model = /^transformers:(.*)$/.exec(name)?.[1]
      return model === undefined ? null : { kind: 'transformers', model, dimension }
    },
  }),
}

const summarizing = chatModel('SUMMARIZER_MODEL', 'Model with which `openai` summarises.', 'extractive')

/** The summarizers. The first entry is the default. It is always created, because conversations may name it. */
export const summarizers = {
  extractive: provider<{ kind: 'extractive' }, Summarizer>({
    ...NONE,
    note: 'built in; selects their sentences',
    settings: () => ({ kind: 'extractive' }),
    async create(_, { words, tokens }) {
      const { createExtractiveSummarizer } = await import('./static/extractive-summarizer.ts')
      return createExtractiveSummarizer(words, tokens)
    },
  }),

  openai: provider<{ kind: 'openai' } & ChatSettings, Summarizer, typeof summarizing.variables>({
    ...summarizing,
    async create(settings, { tokens, promptsDir }) {
      const { createOpenAiSummarizer } = await import('./openai/summarizer.ts')
      return createOpenAiSummarizer({ ...settings, promptsDir }, tokens)
    },
  }),
}

const extracting = chatModel(
  'EXTRACTOR_MODEL',
  'Model with which `openai` extracts facts and writes profiles.',
  'rules',
)

/** The providers of facts and profiles. The first entry is the default. */
export const factServices = {
  rules: provider<{ kind: 'rules' }, FactServices>({
    ...NONE,
    note: 'built in, for English',
    settings: () => ({ kind: 'rules' }),
    async create() {
      const extractor = (await import('./rules/fact-extractor.ts')).createRulesExtractor()
      return { extractor, judge: null, profileWriter: null, close: () => extractor.close() }
    },
  }),

  openai: provider<{ kind: 'openai' } & ChatSettings, FactServices, typeof extracting.variables>({
    ...extracting,
    async create(settings, { tokens, promptsDir }) {
      const [{ createOpenAiExtractor }, { createOpenAiJudge }, { createOpenAiProfileWriter }] = await Promise.all([
        import('./openai/fact-extractor.ts'),
        import('./openai/fact-judge.ts'),
        import('./openai/profile-writer.ts'),
      ])
      const chat = { ...settings, promptsDir }
      const extractor = createOpenAiExtractor(chat)
      const judge = createOpenAiJudge(chat)
      const profileWriter = createOpenAiProfileWriter(chat, tokens)
      return {
        extractor,
        judge,
        profileWriter,
        async close() {
          for (const each of [extractor, judge, profileWriter]) await each.close()
        },
      }
    },
  }),
}

/** The kinds of providers: the variable that selects one, a description, and the entries by name. */
export const KINDS = {
  embedder: { variable: 'EMBEDDER', description: 'Provider of embeddings', entries: embedders },
  reranker: {
    variable: 'RERANKER',
    description: 'Provider that scores the best hits of recall once more',
    entries: rerankers,
  },
  summarizer: { variable: 'SUMMARIZER', description: 'Provider of summaries of old turns', entries: summarizers },
  extractor: { variable: 'EXTRACTOR', description: 'Provider of facts and profiles', entries: factServices },
}

type SettingsOf<Entries extends Record<string, { settings(env: never): unknown }>> = ReturnType<
  Entries[keyof Entries]['settings']
>
export type EmbedderSettings = SettingsOf<typeof embedders>
export type SummarizerSettings = SettingsOf<typeof summarizers>
export type FactSettings = SettingsOf<typeof factServices>

/** Creates the selected embedder. @throws CallFailed if the operator must correct a key, a model or a setting */
export async function createEmbedder(settings: EmbedderSettings, log: ProviderTestLog): Promise<Embedder> {
  const entries: Record<string, EmbedderEntry<EmbedderSettings>> = embedders
  const created = await entries[settings.kind]!.create(settings, log)
  const revision = 'revision' in settings ? settings.revision : undefined
  return revision === undefined || revision === 1 ? created : withRevision(created, revision)
}

/** The name of an embedder of a revision, except the first one. */
const REVISED = /^(.+)@(\d{1,6})$/

/** Returns the embedder under the name of the revision, so that vectors of another revision are not compared with it. */
const withRevision = ({ name, dimension, batch, embed, close }: Embedder, revision: number): Embedder => ({
  name: `${name}@${revision}`,
  dimension,
  batch,
  embed,
  close,
})

/**
 * Recreates the embedder of stored vectors. Returns null if no provider has settings for it, or if it cannot be created
 * now.
 */
export async function findEmbedder(
  stored: StoredEmbedder,
  selected: EmbedderSettings,
  log: ProviderTestLog,
): Promise<Embedder | null> {
  const [, name = stored.name, revision] = REVISED.exec(stored.name) ?? []
  for (const [kind, entry] of Object.entries<EmbedderEntry<EmbedderSettings>>(embedders)) {
    const settings = entry.settingsFor({ ...stored, name }, selected.kind === kind ? selected : null)
    if (!settings) continue
    const revised = { ...settings, revision: revision === undefined ? undefined : Number(revision) }
    const recreated = await createEmbedder(revised, log).catch((error: unknown) => {
      if (error instanceof CallFailed) return null
      throw error
    })
    if (!recreated || (recreated.name === stored.name && recreated.dimension === stored.dimension)) return recreated
    await recreated.close()
  }
  return null
}

/** Creates the built-in and the selected summarizer. Does not test them, because failed summaries are retried. */
export async function createSummarizers(settings: SummarizerSettings, needs: ProviderNeeds): Promise<Summarizers> {
  const entries: Record<string, Entry<SummarizerSettings, ProviderNeeds, Summarizer>> = summarizers
  const builtIn = await summarizers.extractive.create({ kind: 'extractive' }, needs)
  const selected = settings.kind === 'extractive' ? builtIn : await entries[settings.kind]!.create(settings, needs)
  const byModel = new Map([builtIn, selected].map((each) => [each.model, each]))
  return {
    default: selected,
    byModel,
    async close() {
      for (const each of byModel.values()) await each.close()
    },
  }
}

/** Creates the selected fact services. Does not test them, because failed extractions are retried. */
export function createFactServices(settings: FactSettings, needs: ProviderNeeds): Promise<FactServices> {
  const entries: Record<string, Entry<FactSettings, ProviderNeeds, FactServices>> = factServices
  return entries[settings.kind]!.create(settings, needs)
}
