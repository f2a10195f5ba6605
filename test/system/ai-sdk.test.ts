// Pages with the AI SDK's `Chat`, unmodified, while their server, their tabs and their sockets are killed at random.

import { Chat } from '@ai-sdk/react'
import { afterEach, describe, expect, it } from 'vitest'
import { createChatTransport, type ConversationMessage } from '../../src/ai-sdk/index.ts'
import { everyBackend } from '../support/backend.ts'
import { clientOf, TRANSPORTS } from '../support/client.ts'
import { isLong } from '../support/long.ts'
import { strike, type Contents, type Page } from './front-ends.ts'
import { tenant } from './processes.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Returns what the messages contain. A turn that two messages contain is doubled. */
function contentsOf(messages: readonly ConversationMessage[]): Contents {
  const contents: Contents = {}
  for (const { parts, role } of messages) {
    for (const part of role === 'assistant' ? parts : []) {
      const isTool = 'toolCallId' in part
      const metadata = 'providerMetadata' in part ? part.providerMetadata : undefined
      const turnId = isTool ? part.toolCallId.split(':')[0]! : (metadata?.colloquy?.turnId as string | undefined)
      if (turnId === undefined) continue
      const own = (contents[turnId] ??= { text: '', reasoning: '', tools: [] })
      if (isTool) own.tools.push(`${part.toolCallId} ${part.state}`)
      else if (part.type === 'text') own.text += part.text
      else if (part.type === 'reasoning') own.reasoning += part.text
    }
  }
  return contents
}

async function openPage(url: string, chatId: string): Promise<Page> {
  const client = clientOf(url, tenant, 'ada', TRANSPORTS[0], { timeoutMs: 5_000 })
  const transport = createChatTransport({ client })
  const chat = new Chat<ConversationMessage>({ id: chatId, transport, messages: await transport.load(chatId) })
  return {
    show({ id, text }) {
      const isAsked = chat.messages.some(({ parts }) =>
        parts.some((part) => part.type === 'text' && part.text === text),
      )
      return isAsked ? chat.resumeStream() : chat.sendMessage({ id, role: 'user', parts: [{ type: 'text', text }] })
    },
    contents() {
      expect(chat.error).toBeUndefined()
      expect(chat.status).toBe('ready')
      return contentsOf(chat.messages)
    },
    close: client.close,
  }
}

describe.runIf(isLong).each(everyBackend)('pages of the AI SDK on $name', (backend) => {
  it('show everything exactly once while server, tabs and sockets are killed', { timeout: 900_000 }, () =>
    strike(backend, openPage, closing),
  )
})
