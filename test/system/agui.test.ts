// Pages with the stock client of AG-UI, unmodified, while their server, their tabs and their sockets are killed at random.

import { setTimeout as sleep } from 'node:timers/promises'
import { HttpAgent } from '@ag-ui/client'
import type { Message } from '@ag-ui/core'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { everyBackend } from '../support/backend.ts'
import { isLong } from '../support/long.ts'
import { strike, type Contents, type Page } from './front-ends.ts'
import { tenant } from './processes.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/**
 * Ignores the rejections that the client leaves unhandled: version 1.0.0 cancels the body of a response whose connection was
 * lost, and rethrows the error. Returns a function that undoes this.
 */
function ignoreLostConnections(): () => void {
  const listeners = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', (error, promise) => {
    if (error instanceof TypeError && error.message === 'terminated') return
    for (const listener of listeners) listener(error, promise)
  })
  return () => {
    process.removeAllListeners('unhandledRejection')
    for (const listener of listeners) process.on('unhandledRejection', listener)
  }
}

/** Pause of a page before it runs again after a failure, ms. */
const PAUSE_MS = 50

/** Returns what the messages contain. The ids of messages and calls begin with the id of their turn. */
function contentsOf(messages: readonly Message[]): Contents {
  const contents: Contents = {}
  const answered = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])))
  for (const message of messages) {
    if (message.role !== 'assistant' && message.role !== 'reasoning') continue
    const own = (contents[message.id.split(':')[0]!] ??= { text: '', reasoning: '', tools: [] })
    if (message.role === 'reasoning') own.reasoning += message.content
    else own.text += message.content ?? ''
    for (const { id, function: called } of message.role === 'assistant' ? (message.toolCalls ?? []) : []) {
      expect(JSON.parse(called.arguments)).toEqual({ at: 'the sea' })
      own.tools.push(`${id} ${answered.has(id) ? 'output-available' : 'input-available'}`)
    }
  }
  return contents
}

function openPage(url: string, chatId: string): Page {
  const agent = new HttpAgent({
    url: new URL('/agui', url).href,
    threadId: chatId,
    headers: { 'x-tenant': tenant, 'x-actor': 'ada' },
  })
  let [isFinished, isClosed] = [false, false]
  agent.subscribe({ onRunFinishedEvent: () => void (isFinished = true) })
  return {
    /** Runs until a run has finished, as a person would who sees that the connection was lost. */
    async show({ id, text }) {
      agent.addMessage({ id, role: 'user', content: text })
      while (!isFinished && !isClosed) {
        await agent.runAgent().catch(() => {})
        if (!isFinished) await sleep(PAUSE_MS)
      }
    },
    contents: () => contentsOf(agent.messages),
    close() {
      isClosed = true
      agent.abortRun()
    },
  }
}

describe.runIf(isLong).each(everyBackend)('pages of AG-UI on $name', (backend) => {
  it('show everything exactly once while server, tabs and sockets are killed', { timeout: 900_000 }, async () => {
    // The client prints each failed run.
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    closing.push(() => printed.mockRestore(), ignoreLostConnections())
    await strike(backend, openPage, closing)
  })
})
