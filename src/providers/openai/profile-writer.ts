// Writes profiles with a chat model, using prompts/profile.md. The previous profile and the facts are sent as JSON
// inside fences. Invisible characters are removed from the reply, and it is cut to the token limit at the end of a
// line. If no facts changed, no request is sent.

import { z } from 'zod'
import { BadReply, createChat, fenced, requestsOf, type Message, type PromptedSettings, readPrompt } from './chat.ts'
import { sanitizeProfile, type AddedFact, type ProfileRequest, type ProfileWriter } from '../ports/profile-writer.ts'
import type { RetryPolicy } from './calls.ts'
import { truncateToTokens } from '../ports/summarizer.ts'
import type { TokenCounter } from '../../text/tokens.ts'

/** Maximum length of the facts in a request, in UTF-16 units. Further requests, one after another, merge the rest. */
const REQUEST_UNITS = 48 * 1024

const replySchema = z.object({ profile: z.string() })

/** The changed facts in one request, each as a line of JSON. */
type Change = { added: string[]; removed: string[] }

export function createOpenAiProfileWriter(
  settings: PromptedSettings,
  tokens: Pick<TokenCounter, 'count'>,
  retryPolicy?: RetryPolicy,
): ProfileWriter {
  const name = `openai:${settings.model}`
  const context = { port: 'profile writer', name, noun: 'a profile', modelVariable: 'EXTRACTOR_MODEL' }
  const chat = createChat(settings, context, retryPolicy)
  return {
    name,
    async write(request, signal) {
      chat.check(signal)
      const { maxTokens } = request
      const prompt = await readPrompt('profile', settings.promptsDir)
      const rules = prompt.replaceAll('{{maxTokens}}', String(maxTokens))
      let profile = sanitizeProfile(request.previous ?? '')
      for (const change of changesOf(request, profile !== '')) {
        const messages: Message[] = [
          { role: 'system', content: rules },
          { role: 'user', content: dataOf(request, profile, change) },
        ]
        const reply = await chat.ask(messages, readReplyOn(change), signal)
        profile = await fit(reply, maxTokens, tokens.count)
      }
      return fit(profile, maxTokens, tokens.count)
    },
    async close() {
      chat.close()
    },
  }
}

/**
 * Splits the changes into requests: first the removed facts, unless there is no previous profile; then the added facts,
 * oldest first. Returns an empty array if there are no changes.
 */
function changesOf({ added, removed }: ProfileRequest, hasPrevious: boolean): Change[] {
  const oldestFirst = [...added].sort((a, b) => Date.parse(a.observedAt) - Date.parse(b.observedAt))
  const lines = [
    ...(hasPrevious ? removed : []).map(({ subject, predicate, object }) => ({
      kind: 'removed' as const,
      line: JSON.stringify({ subject, predicate, object }),
    })),
    ...oldestFirst.map((fact) => ({ kind: 'added' as const, line: lineOf(fact) })),
  ]
  return requestsOf(lines, ({ line }) => line.length, REQUEST_UNITS).map((part): Change => {
    const linesOf = (kind: 'added' | 'removed') => part.filter((each) => each.kind === kind).map(({ line }) => line)
    return { added: linesOf('added'), removed: linesOf('removed') }
  })
}

const lineOf = ({ subject, predicate, object, observedAt, claimedBy }: AddedFact) =>
  JSON.stringify({ subject, predicate, object, observedAt, claimedBy })

/** Formats the user message. All parts are fenced data, the names included, because users choose them. */
function dataOf({ userId, names }: ProfileRequest, profile: string, { added, removed }: Change): string {
  const parts: [title: string, text: string][] = [
    ['The user:', JSON.stringify({ id: userId, names })],
    ['The profile so far:', JSON.stringify({ profile })],
    ...(removed.length > 0 ? [['Facts that are no longer so:', removed.join('\n')] as [string, string]] : []),
    ...(added.length > 0 ? [['New facts, the newest last:', added.join('\n')] as [string, string]] : []),
  ]
  return parts.map(([title, text]) => `${title}\n${fenced(text)}`).join('\n\n')
}

/** Returns a parser of replies. It throws BadReply, also for an empty profile if facts were added. */
const readReplyOn =
  ({ added }: Change) =>
  (value: unknown): string => {
    const { data, error } = replySchema.safeParse(value)
    if (error) throw new BadReply(z.prettifyError(error))
    const profile = sanitizeProfile(data.profile)
    if (profile === '' && added.length > 0) throw new BadReply('the profile is empty')
    return profile
  }

/**
 * Cuts the profile to `maxTokens` at the end of a line, because half a line may mean the opposite. If the first line
 * does not fit, cuts within it. Removes a trailing heading, because it has no lines.
 */
async function fit(profile: string, maxTokens: number, count: TokenCounter['count']): Promise<string> {
  const cut = await truncateToTokens(profile, maxTokens, count)
  if (cut.length === profile.length) return profile
  const end = profile[cut.length] === '\n' ? cut.length : cut.lastIndexOf('\n')
  return (end < 0 ? cut : cut.slice(0, end)).replace(/(?:^|\n)#+ [^\n]*\s*$/, '').trimEnd()
}
