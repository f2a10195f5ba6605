// The same three programs, written with the client of the package and with a bare client of graphql-ws: both versions
// must have the same results, and docs/client.md contains the number of lines of each version.

import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { embedded } from '../support/backend.ts'
import { clientOf } from '../support/client.ts'
import { readDocument } from '../support/documents.ts'
import { useServer } from '../support/server.ts'
import * as agentByClient from './beside/agent.client.ts'
import * as agentByHand from './beside/agent.graphql-ws.ts'
import * as chatByClient from './beside/chat.client.ts'
import * as chatByHand from './beside/chat.graphql-ws.ts'
import * as handoverByClient from './beside/handover.client.ts'
import * as handoverByHand from './beside/handover.graphql-ws.ts'

/** Number of lines that are neither empty nor comments. */
const linesOf = (...names: string[]) =>
  names
    .flatMap((name) => readFileSync(new URL(`beside/${name}.ts`, import.meta.url), 'utf8').split('\n'))
    .filter((line) => line.trim() !== '' && !/^\s*(\/\/|\/\*\*.*\*\/$)/.test(line)).length

const PROGRAMS: [program: string, byHand: string[]][] = [
  ['chat', ['connection', 'chat']],
  ['agent', ['connection', 'agent']],
  ['handover', ['connection', 'agent', 'handover']],
]

it('docs/client.md shows the number of lines of each program', () => {
  const { text } = readDocument('docs/client.md')
  const rows = PROGRAMS.map(([program, byHand]) => {
    const lines = linesOf(...byHand.map((name) => `${name}.graphql-ws`))
    return `](../test/system/beside/${program}.client.ts) | ${linesOf(`${program}.client`)} | ${lines} |`
  })
  expect(rows.filter((row) => !text.includes(row))).toEqual([])
})

describe('the programs', () => {
  const server = useServer(embedded)
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })
  const stopping = () => {
    const controller = new AbortController()
    closing.push(() => controller.abort())
    return controller.signal
  }
  async function start(...agents: string[]) {
    const tenant = server.tenant().name
    const ada = clientOf(server.url, tenant, 'ada')
    const { id } = await ada.createConversation({
      participants: agents.map((actor) => ({ actor, kind: 'AGENT', respond: 'MENTIONED' })),
    })
    const options = { url: `${server.url}/graphql`, tenant, webSocket: WebSocket }
    const lines = async () => {
      const query = `{ conversation(id: "${id}") { history { ... on Turn { actor text } } } }`
      const { body } = await server.post({ query }, { 'x-tenant': tenant, 'x-actor': 'ada' })
      return body.data.conversation.history.map(({ actor, text }: any) => `${actor}: ${text}`) as string[]
    }
    return { id, ada: ada.conversation(id), options, lines }
  }
  const until = (expectation: () => unknown) => vi.waitFor(expectation, { interval: 20 })
  async function* words() {
    for (const word of ['one ', 'two ', 'three']) {
      yield word
      await sleep(10)
    }
  }

  it.each([
    ['the client', chatByClient],
    ['graphql-ws', chatByHand],
  ])('show a chat, with %s', async (_, { openChat }) => {
    const { id, ada, options } = await start('bob')
    await ada.append('Good morning.')
    const chat = openChat({ ...options, actor: 'bob' }, id, () => {})
    closing.push(chat.close)
    await until(() => expect(chat.lines()).toEqual(['ada: Good morning.']))
    const turn = await ada.write(words())
    await ada.edit(turn, 'three')
    await chat.send('Thanks.')
    await until(() => expect(chat.lines()).toEqual(['ada: Good morning.', 'ada: three', 'bob: Thanks.']))
  })

  it.each([
    ['the client', agentByClient],
    ['graphql-ws', agentByHand],
  ])('answer a mention, with %s', async (_, { startAgent }) => {
    const { ada, options, lines } = await start('scribe')
    void startAgent({ ...options, actor: 'scribe' }, words, stopping())
    await ada.append('@scribe, count.')
    await until(async () => expect(await lines()).toEqual(['ada: @scribe, count.', 'scribe: one two three']))
  })

  it.each([
    ['the client', handoverByClient],
    ['graphql-ws', handoverByHand],
  ])('hand a question over to another agent, with %s', async (_, { startBoth }) => {
    const { ada, options, lines } = await start('planner', 'researcher')
    void startBoth(options, stopping())
    await ada.append('@planner when is high tide?')
    await until(async () =>
      expect(await lines()).toEqual([
        'ada: @planner when is high tide?',
        'planner: @researcher, when is high tide?',
        'researcher: An answer to: @researcher, when is high tide?',
      ]),
    )
  })
})
