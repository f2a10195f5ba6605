// Streams the reply of a model: OpenAI's, or that of a compatible server at OPENAI_BASE_URL. Without OPENAI_API_KEY, it
// streams the facts that the model would get.
import { setTimeout } from 'node:timers/promises'
import OpenAI from 'openai'

type Message = OpenAI.ChatCompletionMessageParam

async function* offline(messages: Message[]) {
  const facts = messages.find((message) => 'name' in message && message.name === 'facts')
  const known = String(facts?.content).match(/^- .*/gm) ?? []
  const text = known.length ? `I remember: ${known.map((line) => line.slice(2)).join(', ')}.` : 'I know nothing yet.'
  for (const word of text.split(/(?= )/)) {
    yield word
    await setTimeout(20)
  }
}

export function reply(messages: Message[], signal: AbortSignal) {
  if (!process.env.OPENAI_API_KEY) return offline(messages)
  const model = process.env.CHAT_MODEL ?? 'gpt-5-mini'
  const options = { stream: true, stream_options: { include_usage: true } } as const
  return new OpenAI().chat.completions.create({ model, messages, ...options }, { signal })
}
