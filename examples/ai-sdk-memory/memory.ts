// A memory for one AI SDK call: adds the context to the prompt; records new messages, once per `id`, and the reply.
import type { LanguageModelMiddleware } from 'ai'
import { appendTurn, buildContext, partsFromAiSdk, render, toAiSdkModelPrompt } from 'colloquy'
import type { AiSdkPart, Deps, Viewer } from 'colloquy'

type Call = { deps: Deps; agent: Viewer; conversationId: string; user: string; tokenBudget: number; id: string }

export function memory({ deps, agent, conversationId, user, tokenBudget, id }: Call): LanguageModelMiddleware {
  async function record(role: 'user' | 'assistant' | 'tool', content: readonly AiSdkPart[], clientId?: string) {
    const [actor, parts] = [role === 'user' ? user : agent.actor, partsFromAiSdk(content)]
    const turn = { role: role.toUpperCase() as Uppercase<typeof role>, actor, clientId, parts }
    if (parts.length > 0) await appendTurn(deps, agent, { conversationId, turn })
  }
  return {
    specificationVersion: 'v3',
    async transformParams({ params: { prompt, ...params } }) {
      const replied = prompt.findLastIndex(({ role }) => role === 'assistant') // Earlier messages are recorded.
      for (const [index, { role, content }] of prompt.entries())
        if (index > replied && role !== 'system') await record(role, content, `${id} ${index}`)
      const { messages } = await buildContext(deps, agent, { conversationId, tokenBudget })
      const context = toAiSdkModelPrompt(render(messages, 'AI_SDK')) as typeof prompt
      return { ...params, prompt: [...prompt.filter(({ role }) => role === 'system'), ...context] }
    },
    async wrapGenerate({ doGenerate }) {
      const result = await doGenerate()
      await record('assistant', result.content)
      return result
    },
    async wrapStream({ doStream }) {
      const { stream, ...rest } = await doStream()
      const reply: AiSdkPart[] = []
      async function transform(part: AiSdkPart, controller: { enqueue(part: AiSdkPart): void }) {
        reply.push(part)
        if (part.type === 'finish' && reply.every(({ type }) => type !== 'error')) await record('assistant', reply)
        controller.enqueue(part)
      }
      return { ...rest, stream: stream.pipeThrough(new TransformStream({ transform })) as typeof stream }
    },
  }
}
