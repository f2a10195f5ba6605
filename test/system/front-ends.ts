// What the tests of front ends share: a conversation with two agents on a server process, whose answers are known, and the
// faults that strike a page.

import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Client, Turn } from '../../src/client/index.ts'
import { newDataDir, type Backend } from '../support/backend.ts'
import { clientOf, TRANSPORTS } from '../support/client.ts'
import { isExhaustive } from '../support/long.ts'
import { createProxy } from '../support/proxy.ts'
import { createServerProcess, tenant, type Server } from './processes.ts'

/** Number of faults on each backend (`npm run check:front-ends`: the second one), and share of those that kill the server. */
const FAULTS = isExhaustive ? { embedded: 40, postgres: 200 } : { embedded: 8, postgres: 16 }
const SERVER_SHARE = 0.2
/** Maximum number of faults during one answer: the server gives up an agent whose runs end 8 times. */
const FAULTS_PER_QUESTION = 6
/** Number of questions in one conversation. A page loads the newest 50 turns. */
const QUESTIONS = 5

const SAID = 'High tide 🙂 is at six. '.repeat(12)
const THOUGHT = 'I look it up, as always. '
/** What the agent of the server writes. */
const SCRIPT = [{ reasoning: THOUGHT, text: SAID, wordMs: 4 }]

/** What the agent in a process of its own writes, as the AI SDK streams it: with a tool that it executes. */
async function* written() {
  const call = { toolCallId: 'c1', toolName: 'look' }
  yield { type: 'start' }
  for (const text of THOUGHT.split(/(?<= )/)) yield { type: 'reasoning-delta', id: 'r', text }
  yield { type: 'reasoning-end', id: 'r' }
  yield { type: 'tool-input-start', id: call.toolCallId, toolName: call.toolName }
  for (const delta of ['{"at":', '"the ', 'sea"}']) {
    yield { type: 'tool-input-delta', id: call.toolCallId, delta }
    await sleep(20)
  }
  yield { type: 'tool-call', ...call, input: { at: 'the sea' } }
  yield { type: 'tool-result', ...call, output: { tide: 6 } }
  for (const text of SAID.split(/(?<= )/)) {
    yield { type: 'text-delta', id: 't', text }
    await sleep(4)
  }
  yield { type: 'finish', finishReason: 'stop', totalUsage: { inputTokens: 5, outputTokens: 2 } }
}

/** Functions that end what a test has started, called in reverse order. */
type Closing = (() => unknown)[]

/** Starts a server process on the backend's store. Its leases are short, so that runs of a killed process end soon. */
async function startServer({ name, open }: Backend, closing: Closing): Promise<Server> {
  const dataDir = name === 'embedded' ? await newDataDir() : null
  const opened = dataDir === null ? await open() : null
  const site = opened ? { databaseUrl: opened.url!, redisUrl: opened.redisUrl ?? '' } : { dataDir: dataDir! }
  const server = await createServerProcess(site, { env: () => ({ STREAM_LEASE_SECONDS: '1' }) })
  closing.push(async () => {
    await server.kill()
    await opened?.close()
    if (dataDir) await rm(dataDir, { recursive: true })
  })
  await server.start()
  return server
}

/** What a page, or the conversation, has of each turn of the agents, by the id of the turn. */
export type Contents = Record<string, { text: string; reasoning: string; tools: string[] }>

/** Returns what the conversation contains. */
function contentsOfTurns(turns: readonly Turn[]): Contents {
  const contents: Contents = {}
  for (const { id, role, text, parts } of turns) {
    if (role !== 'ASSISTANT' || parts.length === 0) continue
    const own = (contents[id] = { text, reasoning: '', tools: [] as string[] })
    for (const part of parts) {
      if (part.__typename === 'ReasoningPart') own.reasoning += part.reasoning
      if (part.__typename === 'ToolCallPart') own.tools.push(`${id}:${part.callId} output-available`)
    }
  }
  return contents
}

/** A page of a front end. */
export type Page = {
  /** Asks the question, or follows its answers if it was asked already. Resolves when they are complete. */
  show(question: { id: string; text: string }): Promise<unknown>
  /** Returns what the page shows when the answers are complete. A turn that two messages contain is doubled. */
  contents(): Contents
  close(): unknown
}

/** Creates the chat, in which the agent of the server and that of a process of its own answer. */
async function startChat(address: string, closing: Closing): Promise<{ ada: Client; create: object }> {
  const ada = clientOf(address, tenant, 'ada', TRANSPORTS[0])
  const scribe = clientOf(address, tenant, 'scribe', TRANSPORTS[0])
  const ending = new AbortController()
  closing.push(ada.close, scribe.close, () => ending.abort())
  scribe
    .answer(async ({ write }) => void (await write(written(), { reasoning: true })), { signal: ending.signal })
    .catch(console.error)
  const create = {
    participants: [
      {
        actor: 'bot',
        respond: 'MENTIONED' as const,
        agent: { provider: 'echo', reasoning: true, instructions: JSON.stringify({ echo: SCRIPT }) },
      },
      { actor: 'scribe', kind: 'AGENT' as const, respond: 'MENTIONED' as const },
    ],
  }
  return { ada, create }
}

/**
 * Asks questions in pages while the server, their tabs and their sockets are killed at random. A page must show each
 * character, each reasoning and each tool call of the conversation exactly once.
 * @param openPage opens a page of the chat, through a proxy whose sockets are killed
 */
export async function strike(
  backend: Backend,
  openPage: (url: string, chatId: string) => Promise<Page> | Page,
  closing: Closing,
): Promise<void> {
  const server = await startServer(backend, closing)
  const proxy = await createProxy(`http://${server.url}`)
  closing.push(proxy.close)
  const { ada, create } = await startChat(`http://${server.url}`, closing)
  const total = FAULTS[backend.name === 'embedded' ? 'embedded' : 'postgres']
  const counts = { server: 0, tab: 0, socket: 0 }
  const faults = () => counts.server + counts.tab + counts.socket

  for (let number = 0; faults() < total; number++) {
    const chatId = `chat ${Math.floor(number / QUESTIONS)}`
    await ada.createConversation({ ...create, key: chatId })
    const question = { id: `question-${number}`, text: `@bot, @scribe: when (${number})?` }
    const before = faults()
    let page = await openPage(proxy.url, chatId)
    let showing = page.show(question)
    for (let isOver = false; !isOver;) {
      isOver = await Promise.race([showing.then(() => true), sleep(Math.random() * 400, false)])
      if (isOver || faults() >= total || faults() >= before + FAULTS_PER_QUESTION) continue
      const fault = Math.random()
      if (fault < SERVER_SHARE) {
        counts.server += 1
        await server.kill('SIGKILL')
        await server.start()
      } else if (fault < (1 + SERVER_SHARE) / 2) {
        counts.socket += 1
        proxy.drop()
      } else {
        counts.tab += 1
        await page.close()
        page = await openPage(proxy.url, chatId)
        showing = page.show(question)
      }
    }
    const shown = page.contents()
    const { nodes } = await ada.conversation({ key: chatId }).turns({ first: 200 })
    expect(nodes.every(({ status }) => status !== 'STREAMING')).toBe(true)
    expect(nodes.filter(({ text }) => text === question.text)).toHaveLength(1)
    for (const actor of ['bot', 'scribe']) {
      const whole = nodes.filter((turn) => turn.actor === actor && turn.status === 'COMMITTED' && turn.text === SAID)
      expect(whole).toHaveLength((number % QUESTIONS) + 1)
    }
    expect(shown).toEqual(contentsOfTurns(nodes))
    await page.close()
  }
  console.log(`${backend.name}: ${JSON.stringify(counts)}, 0 lost, 0 doubled`)
}
