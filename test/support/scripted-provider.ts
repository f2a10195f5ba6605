// A chat provider for tests of runs: it replies with the scripts of the test, and records its calls.

import type {
  ProviderAdapter,
  ProviderCallParams,
  ProviderCallResult,
  ProviderDeltaPart,
  ProviderStreamEvent,
  ProviderToolCall,
} from '../../src/providers/ports/provider-adapter.ts'

/** A part of a reply: a text, another part of a delta, a tool call, an error, or a function that the provider awaits. */
export type Step = string | ProviderDeltaPart | ProviderToolCall | Error | ((signal: AbortSignal) => Promise<unknown>)
/** The parts of one reply, in order. The reply ends after the last one. */
export type Script = readonly Step[]

export type ScriptedProvider = ProviderAdapter & {
  /** The parameters of each call, in order. */
  readonly asked: ProviderCallParams[]
  /** Queues the replies to the next calls, one for each. Replies "ok" if no reply is queued. */
  next(...scripts: Script[]): void
  /** Deletes the recorded calls, and the replies that were not used. */
  reset(): void
}

/** @param usage the token usage that the provider reports; null for none */
export function createScriptedProvider(
  usage: { inputTokens: number; outputTokens: number } | null = { inputTokens: 10, outputTokens: 5 },
): ScriptedProvider {
  const waiting: Script[] = []
  const asked: ProviderCallParams[] = []

  async function* play(params: ProviderCallParams): AsyncGenerator<ProviderStreamEvent> {
    let text = ''
    const toolCalls: ProviderToolCall[] = []
    for (const step of waiting.shift() ?? ['ok']) {
      if (typeof step === 'string') {
        text += step
        yield { type: 'delta', delta: { role: 'assistant', content: [{ type: 'text', text: step }] } }
      } else if (step instanceof Error) throw step
      else if (typeof step === 'function') await step(params.signal!)
      else if ('type' in step) yield { type: 'delta', delta: { role: 'assistant', content: [step] } }
      else {
        toolCalls.push(step)
        yield { type: 'tool-call', toolCall: step }
      }
    }
    const result: ProviderCallResult = {
      id: `call_${asked.length}`,
      createdAt: new Date(),
      message: { role: 'assistant', content: [{ type: 'text', text }] },
      ...(toolCalls.length > 0 ? { toolCalls } : null),
      ...(usage ? { usage } : null),
      finishReason: toolCalls.length > 0 ? 'tool-calls' : 'stop',
    }
    yield { type: 'done', result }
  }

  return {
    asked,
    next: (...scripts) => void waiting.push(...scripts),
    reset() {
      waiting.length = 0
      asked.length = 0
    },
    async complete(params) {
      asked.push(params)
      for await (const event of play(params)) if (event.type === 'done') return event.result
      throw new Error('unreachable')
    },
    async completeStream(params) {
      asked.push(params)
      const events = play(params)
      return { final: new Promise<never>(() => {}), [Symbol.asyncIterator]: () => events }
    },
  }
}

/** A pause that lasts until the signal aborts the call. */
export const forever = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- as an adapter does
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

/** A pause that the test ends. */
export function gate(): { pause: () => Promise<void>; open: () => void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { pause: () => opened, open }
}
