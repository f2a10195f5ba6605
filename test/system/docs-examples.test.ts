// Runs the documents' examples on a server with default settings: the commands of README.md, the recall query, the
// reconnecting client, the operations of agents, and the programs of the client and the library. Each must give the
// result that its document shows.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { format } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startServer, type RunningServer } from '../../scripts/demo/server.ts'
import { embedded, newDataDir } from '../support/backend.ts'
import { blocks, patternOf, readDocument, root } from '../support/documents.ts'
import { onServer, runModule, runProgram, startProgram, writeModule } from '../support/programs.ts'
import { createProxy } from '../support/proxy.ts'
import { isLong } from '../support/long.ts'
import { SHORT_LIVED, TYPESCRIPT } from '../support/short-lived.ts'

// The default timeout is too short for examples that start a process or wait for background work.
let server: RunningServer
beforeAll(async () => {
  server = await startServer(embedded)
})
afterAll(() => server.stop())

/**
 * Sends the operation, again if the busy machine overloads the server, which has then not started it. Each has a
 * connection of its own: the server closes idle ones, which a busy client notices too late.
 */
async function ask(query: string, variables: object = {}, operationName?: string): Promise<{ data: any }> {
  const response = await fetch(server.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ query, variables, operationName }),
  })
  const answer = (await response.json()) as { data: any }
  if (response.status !== 503) return answer
  await sleep(Number(response.headers.get('retry-after')) * 1000)
  return ask(query, variables, operationName)
}

async function createConversation(key: string): Promise<string> {
  const query =
    'mutation ($key: String!) { createConversation(input: { key: $key, title: $key }) { ... on CreateConversationPayload { conversation { id } } } }'
  return (await ask(query, { key })).data.createConversation.conversation.id
}

const append = (conversationId: string, actor: string, content: string) =>
  ask(
    'mutation ($input: AppendTurnInput!) { appendTurn(input: $input) { ... on AppendTurnPayload { turn { seq } } } }',
    { input: { conversationId, as: actor, turn: { role: 'USER', content } } },
  )

const hasCurl = !spawnSync('curl', ['--version']).error

describe('the commands of README.md', () => {
  const ADDRESS = 'http://127.0.0.1:4000/graphql'
  const codeBlocks = blocks(readDocument('README.md'), 'sh', 'json', 'text')
  const steps = codeBlocks.flatMap(({ language, text }, index) =>
    language === 'sh' && text.startsWith('curl') ? [{ command: text, answer: codeBlocks[index + 1]! }] : [],
  )

  /** Starts a command of README.md in a new shell, as in another terminal. */
  function start(command: string) {
    expect(command).toContain(` ${ADDRESS} `)
    const shell = spawn('sh', ['-c', command.replace(ADDRESS, server.url)], { stdio: ['ignore', 'pipe', 'inherit'] })
    const terminal = { shell, printed: '' }
    shell.stdout.setEncoding('utf8').on('data', (text: string) => (terminal.printed += text))
    return terminal
  }

  it.runIf(hasCurl)('print the answers that README.md shows below them, each command in its own shell', async () => {
    expect(steps.map(({ answer }) => answer.language)).toEqual(['json', 'json', 'text', 'json', 'json'])
    const live: ReturnType<typeof start>[] = []
    const expectLive = (text: string) => vi.waitFor(() => expect(live[0]!.printed).toBe(text))
    const [first, last] = codeBlocks.filter(({ language }) => language === 'text').map(({ text }) => text)
    try {
      for (const { command, answer } of steps) {
        const terminal = start(command)
        if (answer.language === 'text') {
          live.push(terminal)
          await expectLive(`${first}\n`)
          continue
        }
        await once(terminal.shell, 'close')
        expect(JSON.parse(terminal.printed)).toEqual(JSON.parse(answer.text))
        // An answer that README.md shows on one line is shown as it is printed.
        if (answer.text.trim().split('\n').length === 1) expect(terminal.printed).toBe(answer.text)
      }
      await expectLive(`${first}\n${last}\n`)
    } finally {
      for (const { shell } of live) shell.kill('SIGKILL')
    }
  })

  it('are followed by eight lines that print the same messages with the client', async () => {
    const code = blocks(readDocument('README.md'), 'js')[0]!.text
    expect(code.trimEnd().split('\n')).toHaveLength(8)
    const { rendered } = JSON.parse(steps.at(-1)!.answer.text).data.buildContext
    expect(await runModule('first.mjs', onServer(code, server.url))).toBe(`${format(rendered)}\n`)
  })

  it('name the address at which a browser gets GraphiQL', async () => {
    const address = new URL(ADDRESS).origin
    expect(readDocument('README.md').text).toContain(`<${address}>`)
    const page = await fetch(new URL(server.url).origin, { headers: { accept: 'text/html' } })
    expect(await page.text()).toContain('<title>Colloquy</title>')
  })
})

describe('the operations of docs/twelve-fields.md', () => {
  const operations = blocks(readDocument('docs/twelve-fields.md'), 'graphql').map(({ text }) => text)
  const fieldOf = (operation: string) => /\{\s*(\w+)/.exec(operation)![1]!

  /** Returns the first `count` events of a subscription. */
  async function firstEvents(query: string, count: number): Promise<any[]> {
    const abort = new AbortController()
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
    const response = await fetch(server.url, {
      method: 'POST',
      headers,
      body: JSON.stringify({ query }),
      signal: abort.signal,
    })
    let received = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      received += chunk
      const events = [...received.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data!).data)
      if (events.length < count) continue
      abort.abort()
      return events
    }
    throw new Error(`the subscription ended after ${received}`)
  }

  it('run in their order, each with the root field that its paragraph names', async () => {
    const named = [...readDocument('docs/twelve-fields.md').text.matchAll(/^\*\*\d+\. `(\w+)`\*\*/gm)].map(
      ([, name]) => name,
    )
    expect(operations.map(fieldOf)).toEqual(named)
    expect(named).toHaveLength(12)
    const results: Record<string, any> = {}
    for (const operation of operations) {
      const field = fieldOf(operation)
      if (operation.startsWith('subscription')) {
        results[field] = (await firstEvents(operation, 2)).map((data) => data[field])
        continue
      }
      const answer = await ask(operation, { turnId: results['openTurn']?.turn.id })
      expect(answer).not.toHaveProperty('errors')
      expect(answer.data[field]).not.toHaveProperty('code')
      results[field] = answer.data[field]
    }
    const question = { actor: 'ada', text: 'When does the museum open?' }
    const reply = { actor: 'guide', text: 'The museum opens at nine.' }
    expect(results['commitTurn'].turn).toEqual({ status: 'COMMITTED', text: reply.text })
    expect(results['conversation'].turns.nodes).toEqual([question, reply])
    expect(results['conversations'].nodes).toContainEqual(expect.objectContaining({ key: 'tour' }))
    expect(results['conversationEvents'].map(({ turn }: { turn: object }) => turn)).toEqual([question, reply])
    expect(results['recall'].hits.map(({ memory }: { memory: { text: string } }) => memory.text)).toContain(reply.text)
    expect(JSON.stringify(results['buildContext'].rendered)).toContain('likes museums')
  })
})

describe('the commands of docs/rest.md', () => {
  const codeBlocks = blocks(readDocument('docs/rest.md'), 'sh', 'json')
  const steps = codeBlocks.flatMap(({ language, text }, index) =>
    language === 'sh' && text.startsWith('curl') ? [{ command: text, answer: codeBlocks[index + 1]!.text }] : [],
  )
  it.runIf(hasCurl)('print the answers that it shows below them', () => {
    expect(steps).toHaveLength(5)
    for (const { command, answer } of steps) {
      const own = command.replace('http://127.0.0.1:4000', new URL(server.url).origin)
      expect(own).not.toBe(command)
      const { stdout } = spawnSync('sh', ['-c', own], { encoding: 'utf8' })
      expect(stdout).toMatch(patternOf(answer))
    }
  })
})

describe('docs/recall.md', () => {
  it('shows the answer to its query, with rounded figures', async () => {
    const [query, answer] = blocks(readDocument('docs/recall.md'), 'graphql', 'json')
    const expected = JSON.parse(answer!.text)
    const [hit] = expected.data.recall.hits
    const conversation = await createConversation('recalled')
    for (const { actor, text } of [hit.neighbours[0], hit.memory, hit.neighbours[1]]) {
      await append(conversation, actor, text)
    }
    // Until the vectors are computed, similarity is null.
    await vi.waitFor(
      async () => {
        const got = await ask(query!.text, { conversation })
        for (const figure of ['relevance', 'score', 'similarity', 'textScore']) {
          expect(got.data.recall.hits[0][figure], figure).toBeCloseTo(hit[figure], 1)
          got.data.recall.hits[0][figure] = hit[figure]
        }
        expect(got).toEqual(expected)
      },
      { interval: 200 },
    )
  })
})

describe('docs/context-and-summaries.md', () => {
  it('shows a stored context again, and the turn that was generated from it', async () => {
    const example = (name: string) =>
      blocks(readDocument('docs/context-and-summaries.md'), 'graphql').find(({ text }) => text.includes(` ${name}(`))!
        .text
    const conversationId = await createConversation('shown again')
    const query = '{ conversation(key: "shown again") { turns { nodes { id } } } }'
    await append(conversationId, 'ada', 'When does the harbour open?')
    await append(conversationId, 'bot', 'Let me see.')
    const turnIds = (await ask(query)).data.conversation.turns.nodes.map(({ id }: { id: string }) => id)
    const { id: contextId, rendered } = (await ask(example('Stored'), { conversationId })).data.buildContext
    expect(rendered).toMatchObject([{ content: 'When does the harbour open?' }, { content: 'Let me see.' }])
    const { turn } = (await ask(example('Reply'), { conversationId, contextId })).data.appendTurn
    await ask('mutation ($id: ID!) { eraseTurn(input: { turnId: $id }) { ... on UserError { message } } }', {
      id: turnIds[1],
    })
    const { nodes } = (await ask(example('Shown'), { turnIds: [turnIds[0], turn.id] })).data
    const reply = { id: turn.id, text: 'It opens at nine.' }
    expect(nodes).toEqual([
      { text: 'When does the harbour open?', context: null, usedIn: { nodes: [reply] } },
      {
        text: reply.text,
        context: { id: contextId, rendered: rendered.slice(0, 1), goneSourceIds: [turnIds[1]] },
        usedIn: { nodes: [] },
      },
    ])
  })
})

describe('the client of docs/streaming-and-subscriptions.md', () => {
  it.runIf(isLong)('resumes after every lost connection and receives each entry once', async () => {
    const proxy = await createProxy(server.url)
    const code = blocks(readDocument('docs/streaming-and-subscriptions.md'), 'js')[0]!.text
    expect(code).toContain('ws://127.0.0.1:4000/graphql')
    const proxied = code.replace('ws://127.0.0.1:4000/graphql', proxy.url.replace(/^http/, 'ws'))
    const file = await writeModule('client.mjs', proxied)
    const { follow } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
      follow(conversation: string, onEvent: (event: { seq: number | null }) => void): Promise<void>
    }
    try {
      const conversation = await createConversation('followed')
      const seqs: number[] = []
      const following = follow(conversation, ({ seq }) => {
        if (seq !== null) seqs.push(seq)
      })
      const received = async (seq: number) => {
        while (seqs.at(-1) !== seq) await new Promise((resolve) => setTimeout(resolve, 10))
      }
      // Entry 1 records that the author joined.
      for (let turn = 2; turn <= 10; turn++) {
        await append(conversation, 'ada', `turn ${turn}`)
        if (turn % 3 !== 0) continue
        await received(turn)
        await proxy.cut()
        await append(conversation, 'ada', 'appended while the client is away')
        turn += 1
        // Simulate a server restart, during which new connections are refused.
        await new Promise((resolve) => setTimeout(resolve, 1_200))
        await proxy.restore()
      }
      await received(10)
      expect(seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])

      await ask(
        `mutation { deleteConversation(input: { conversationId: "${conversation}" }) { ... on DeleteConversationPayload { receipt { conversations } } } }`,
      )
      await following
      await expect(follow(conversation, () => {})).rejects.toThrow(/no conversation/)
    } finally {
      await rm(file)
      await proxy.close()
    }
  })
})

describe('docs/client.md', () => {
  /** Writes the first program that contains the text. Returns the path of its file. */
  async function writeProgram(text: string): Promise<string> {
    const code = blocks(readDocument('docs/client.md'), 'ts').find((block) => block.text.includes(text))!.text
    const own = onServer(code, server.url)
    expect(own).not.toContain('127.0.0.1:4000')
    return writeModule('client.mts', own)
  }

  it.runIf(isLong)('has an agent that answers the turns that mention it', async () => {
    const file = await writeProgram('agent.answer(')
    const child = startProgram(file)
    try {
      const find = '{ conversation(key: "minutes", as: "ada") { id turns(last: 1) { nodes { actor text } } } }'
      const found = async () => (await ask(find)).data?.conversation
      await vi.waitFor(async () => expect(await found()).toBeTruthy(), { interval: 200 })
      await append((await found()).id, 'ada', '@scribe Good morning.')
      const answer = { actor: 'scribe', text: 'ada said: @scribe Good morning.' }
      const answered = async () => expect((await found()).turns.nodes).toEqual([answer])
      await vi.waitFor(answered, { interval: 200 })
    } finally {
      child.kill('SIGKILL')
      await rm(file)
    }
  })

  it.runIf(isLong)('begins with a program that appends a turn and follows its conversation', async () => {
    const file = await writeProgram('conversation.follow(')
    try {
      const printed = await runProgram(file)
      expect(printed).toBe('ParticipantJoined\nParticipantJoined\nTurnAppended\n')
    } finally {
      await rm(file)
    }
  })

  it.runIf(isLong)('goes on with a program that remembers, recalls, and builds a context', async () => {
    const file = await writeProgram('conversation.remember(')
    try {
      const printed = await runProgram(file)
      expect(printed).toContain("content: 'When is high tide?'")
      expect(printed).toContain('ferries')
      expect(printed.trimEnd().split('\n').at(-1)).toBe('When is high tide?')
    } finally {
      await rm(file)
    }
  })

  it.runIf(isLong)('has a program that changes shared state, and sees its changes at once', async () => {
    const file = await writeProgram('sharedStateOf<')
    try {
      expect(await runProgram(file)).toBe("{ steps: [ 'find a flight', 'book a hotel' ], days: 3 } true\n3\n")
    } finally {
      await rm(file)
    }
  })
})

describe('docs/shared-state.md', () => {
  const operations = blocks(readDocument('docs/shared-state.md'), 'graphql').map(({ text }) => text)

  it('has operations that change and read a plan', async () => {
    const conversation = await createConversation('the trip to Lisbon')
    const run = (operationName: string) =>
      ask(
        operations.find((text) => text.includes(` ${operationName}(`))!,
        { conversation },
        operationName,
      )
    const { data } = await run('Change')
    expect(Object.values<any>(data).map(({ state }) => state.value)).toEqual([
      { title: 'Trip to Lisbon', steps: ['find a flight'], days: 3 },
      { title: 'Trip to Lisbon', steps: ['find a flight', 'book a hotel'], days: 3 },
      { title: 'Trip to Lisbon', steps: ['find a flight', 'book a hotel'], budget: { euros: 900 } },
    ])
    expect((await run('Read')).data.conversation).toMatchObject({ sharedState: { version: 3 } })
    expect((await run('AddPlanner')).data.addParticipant).toEqual({ participant: { actor: 'planner' } })
  })
})

describe('the operations of docs/agents.md', () => {
  const operations = blocks(readDocument('docs/agents.md'), 'graphql').map(({ text }) => text)
  /** Runs the operation of the document with that name, as the actor. Returns the result of its field. */
  async function run(operationName: string, variables: object, actor = 'ada') {
    const query = operations.find((text) => text.includes(` ${operationName}`))
    const response = await fetch(server.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-actor': actor },
      body: JSON.stringify({ query, operationName, variables }),
    })
    const { data, errors } = (await response.json()) as { data: any; errors?: object[] }
    expect(errors).toBeUndefined()
    return Object.values<any>(data)[0]
  }
  const asked = async (conversationId: string, turn: object) => {
    const query =
      'mutation ($input: AppendTurnInput!) { r: appendTurn(input: $input) { ... on AppendTurnPayload { turn { id } } } }'
    return (await ask(query, { input: { conversationId, as: 'ada', turn } })).data.r.turn.id as string
  }
  let conversationId: string
  beforeAll(async () => {
    conversationId = (await run('Start', {})).conversation.id
  })

  it('create an agent, and let it answer', async () => {
    const { run: planned } = await run('Ask', { conversationId })
    expect(planned).toMatchObject({ state: 'COMPLETED', error: null })
    expect(planned.tokenUsage.total).toBeGreaterThan(0)
  })

  it('invite an agent, which answers when it is mentioned', async () => {
    expect((await run('Invite', { conversationId })).participant).toEqual({
      actor: 'researcher',
      kind: 'AGENT',
      respond: 'MENTIONED',
      agent: { provider: 'echo' },
    })
    await asked(conversationId, { role: 'USER', content: '@researcher How far is it to Oslo?' })
    const last = '($id: ID!) { conversation(id: $id) { turns(last: 1) { nodes { actor status } } } }'
    const answered = [{ actor: 'researcher', status: 'COMMITTED' }]
    const newest = async () => (await ask(`query ${last}`, { id: conversationId })).data.conversation.turns.nodes
    await vi.waitFor(async () => expect(await newest()).toEqual(answered), { interval: 200 })
  })

  it('claim a turn, and answer it once', async () => {
    const input = { conversationId, as: 'ada', participant: { actor: 'scribe', respond: 'MENTIONED' } }
    await ask('mutation ($input: AddParticipantInput!) { addParticipant(input: $input) { __typename } }', { input })
    const turnId = await asked(conversationId, { role: 'USER', content: '@scribe What was said?' })
    const claim = { turnId, claimToken: 'the token of a process' }
    expect(await run('Claim', claim, 'scribe')).toHaveProperty('claim.expiresAt')
    expect(await run('Claim', { turnId, claimToken: 'that of another one' }, 'scribe')).toHaveProperty(
      'code',
      'CONFLICT',
    )
    const answer = { ...claim, conversationId, text: 'Nothing yet.' }
    expect(await run('Answer', answer, 'scribe')).toHaveProperty('turn.id')
    expect(await run('Answer', answer, 'scribe')).toHaveProperty('code', 'CONFLICT')
  })

  it('decide about a call with other arguments', async () => {
    const script = { echo: { tools: [{ name: 'pay', arguments: { amount: 9 } }] } }
    const input = {
      conversationId,
      as: 'ada',
      actor: 'planner',
      turns: [{ role: 'USER', content: JSON.stringify(script) }],
      tools: [{ name: 'pay', requiresApproval: true }],
    }
    const { data } = await ask(
      `mutation ($input: RunTurnInput!) { r: runTurn(input: $input) {
        ... on RunTurnPayload { run { state approvals { nodes { id } } } } ... on UserError { message }
      } }`,
      { input },
    )
    expect(data.r.run.state).toBe('WAITING_FOR_APPROVAL')
    const [{ id: approvalId }] = data.r.run.approvals.nodes
    expect((await run('Decide', { approvalId })).approval).toEqual({
      state: 'APPROVED',
      arguments: { amount: 3 },
      decidedBy: 'ada',
    })
  })
})

describe('the examples of docs/library.md', () => {
  const examples = blocks(readDocument('docs/library.md'), 'ts').map(({ text }) => text)
  /** Replaces the entry points of the package by their files. */
  const inRepository = (code: string) =>
    code.replaceAll(
      /'colloquy(\/[\w-]+)?'/g,
      (_, subpath: string = '') => `'${pathToFileURL(join(root, `src${subpath}/index.ts`)).href}'`,
    )

  /** Runs an example on a database of its own, and returns its output. */
  async function runExample(name: string, code: string): Promise<string> {
    expect(code).toContain("from 'colloquy'")
    const file = await writeModule(name, inRepository(code))
    const dataDir = await newDataDir()
    try {
      const child = spawn(process.execPath, [...SHORT_LIVED, ...TYPESCRIPT, file], {
        cwd: root,
        env: { ...process.env, PORT: '0', DATA_DIR: dataDir, DATABASE_URL: '', REDIS_URL: '' },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let out = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
      const [code] = await once(child, 'close')
      expect(code, out).toBe(0)
      return out
    } finally {
      await Promise.all([rm(file), rm(dataDir, { recursive: true })])
    }
  }

  it.runIf(isLong)('append a turn, and print the messages of a context', async () => {
    expect(await runExample('library.mts', examples[0]!)).toContain("[ 'Good morning.' ]")
  })

  it.runIf(isLong)('start and stop a server', async () => {
    expect(await runExample('server.mts', examples[1]!)).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/graphql$/m)
  })

  it.runIf(isLong)('run a turn on the store of document 003, with the echo provider', async () => {
    const example = examples.find((code) => code.includes('runStreamingTurn'))!
    expect(await runExample('core.mts', example)).toMatch(/'Mondays\. '[^]*\n2 1\n$/)
  })
})
