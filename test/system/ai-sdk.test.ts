// Pages with the AI SDK's `Chat`, unmodified, while their server, their tabs and their sockets are killed at random. A page
// must show each character, each reasoning and each tool call of the conversation exactly once.

import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Chat } from '@ai-sdk/react'
import { afterEach, describe, expect, it } from 'vitest'
import { createChatTransport, type ConversationMessage } from '../../src/ai-sdk/index.ts'
import type { Turn } from '../../src/client/index.ts'
import { everyBackend, newDataDir, type Backend } from '../support/backend.ts'
import { clientOf, TRANSPORTS } from '../support/client.ts'
import { isExhaustive, isLong } from '../support/long.ts'
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

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Starts a server process on the backend's store. Its leases are short, so that runs of a killed process end soon. */
async function startServer({ name, open }: Backend): Promise<Server> {
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

/** What a page, or the conversation, has of each turn of the agent, by the id of the turn. */
type Contents = Record<string, { text: string; reasoning: string; tools: string[] }>

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

describe.runIf(isLong).each(everyBackend)('pages of the AI SDK on $name', (backend) => {
  it('show everything exactly once while server, tabs and sockets are killed', { timeout: 900_000 }, async () => {
    const server = await startServer(backend)
    const proxy = await createProxy(`http://${server.url}`)
    closing.push(proxy.close)
    const direct = clientOf(`http://${server.url}`, tenant, 'ada', TRANSPORTS[0])
    closing.push(direct.close)
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
    const scribe = clientOf(`http://${server.url}`, tenant, 'scribe', TRANSPORTS[0])
    const ending = new AbortController()
    closing.push(scribe.close, () => ending.abort())
    scribe
      .answer(async ({ write }) => void (await write(written(), { reasoning: true })), { signal: ending.signal })
      .catch(console.error)
    const total = FAULTS[backend.name === 'embedded' ? 'embedded' : 'postgres']
    const counts = { server: 0, tab: 0, socket: 0 }
    const faults = () => counts.server + counts.tab + counts.socket

    async function openPage(chatId: string) {
      const client = clientOf(proxy.url, tenant, 'ada', TRANSPORTS[0], { timeoutMs: 5_000 })
      const transport = createChatTransport({ client, create })
      const chat = new Chat<ConversationMessage>({ id: chatId, transport, messages: await transport.load(chatId) })
      return { chat, close: client.close }
    }

    for (let question = 0; faults() < total; question++) {
      const chatId = `chat ${Math.floor(question / QUESTIONS)}`
      const message = {
        id: `question-${question}`,
        role: 'user' as const,
        parts: [{ type: 'text' as const, text: `@bot, @scribe: when (${question})?` }],
      }
      const before = faults()
      let page = await openPage(chatId)
      let answering: Promise<unknown> = page.chat.sendMessage(message)
      for (let isOver = false; !isOver;) {
        isOver = await Promise.race([answering.then(() => true), sleep(Math.random() * 400, false)])
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
          page = await openPage(chatId)
          const asked = page.chat.messages.some(({ parts }) =>
            parts.some((part) => part.type === 'text' && part.text === message.parts[0]!.text),
          )
          answering = asked ? page.chat.resumeStream() : page.chat.sendMessage(message)
        }
      }
      expect(page.chat.error).toBeUndefined()
      expect(page.chat.status).toBe('ready')
      const { nodes } = await direct.conversation({ key: chatId }).turns({ first: 200 })
      expect(nodes.every(({ status }) => status !== 'STREAMING')).toBe(true)
      expect(nodes.filter(({ text }) => text === message.parts[0]!.text)).toHaveLength(1)
      for (const actor of ['bot', 'scribe']) {
        const whole = nodes.filter((turn) => turn.actor === actor && turn.status === 'COMMITTED' && turn.text === SAID)
        expect(whole).toHaveLength((question % QUESTIONS) + 1)
      }
      expect(contentsOf(page.chat.messages)).toEqual(contentsOfTurns(nodes))
      await page.close()
    }
    console.log(`${backend.name}: ${JSON.stringify(counts)}, 0 lost, 0 doubled`)
  })
})
