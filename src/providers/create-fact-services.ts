// Makes what turns conversations into knowledge: what extracts facts, and, where a model was chosen, what judges and
// profiles with the same model. Where there is none of those, rules do it, which are the domain's own. Code that was
// not chosen is not loaded. Nothing is tried out: what does not work delays facts, nothing else.

import type { FactExtractor } from './ports/fact-extractor.ts'
import type { FactJudge } from './ports/fact-judge.ts'
import type { ChatSettings } from './openai/chat.ts'
import type { ProfileWriter } from './ports/profile-writer.ts'
import type { TokenCounter } from '../text/tokens.ts'

type KnowledgeSettings = { kind: 'rules' } | ({ kind: 'openai' } & ChatSettings)

export type FactServices = {
  readonly extractor: FactExtractor
  /** Of pairs that rules leave open; null: they stay open. */
  readonly judge: FactJudge | null
  /** null: profiles are merged by rule. */
  readonly profileWriter: ProfileWriter | null
  /** Ends what runs. May be called twice. */
  close(): Promise<void>
}

/** `promptsDir`: where the operator's own prompts lie. */
export async function createFactServices(
  settings: KnowledgeSettings,
  tokens: TokenCounter,
  promptsDir?: string,
): Promise<FactServices> {
  if (settings.kind === 'rules') {
    const { createRulesExtractor } = await import('./rules/fact-extractor.ts')
    const extractor = createRulesExtractor()
    return { extractor, judge: null, profileWriter: null, close: () => extractor.close() }
  }
  const [{ createOpenAiExtractor }, { createOpenAiJudge }, { createOpenAiProfileWriter }] = await Promise.all([
    import('./openai/fact-extractor.ts'),
    import('./openai/fact-judge.ts'),
    import('./openai/profile-writer.ts'),
  ])
  const { baseUrl, apiKey, model } = settings
  const chat = { baseUrl, apiKey, model, promptsDir }
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
}
