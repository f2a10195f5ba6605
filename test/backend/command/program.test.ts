// The commands against a server: what they print for people and with --json, how they stop, and how they fail.

import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { EXIT, type Io } from '../../../src/command/program.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { readSettings } from '../../../src/config/settings.ts'
import { startJobs } from '../../../src/domain/background/jobs.ts'
import { setPresence } from '../../../src/domain/conversation/presence.ts'
import { openVersion } from '../../../src/domain/turn/open-version.ts'
import { backends } from '../../support/backend.ts'
import { runCommand } from '../../support/command.ts'
import { readDocument, table, unquoted } from '../../support/documents.ts'
import { createScriptedProvider, gate } from '../../support/scripted-provider.ts'
import { useServer } from '../../support/server.ts'
import { WRITER } from '../../support/writer.ts'

describe.each(backends)('the command line on $name', (backend) => {
  const provider = createScriptedProvider()
  const server = useServer(backend, {}, { settings: { providers: { scripted: provider } } })

  /** Returns a new conversation with the key "boat", and a function that runs a command as ada. */
  async function start() {
    const tenant = server.tenant()
    const { body } = await server.post(
      {
        query: `mutation ($input: CreateConversationInput!) {
          createConversation(input: $input) { ... on CreateConversationPayload { conversation { id } } }
        }`,
        variables: {
          input: {
            key: 'boat',
            title: 'The boat',
            participants: [
              { actor: 'ada', displayName: 'Ada' },
              { actor: 'bot', kind: 'AGENT' },
            ],
          },
        },
      },
      { 'x-tenant': tenant.name, 'x-actor': 'ada' },
    )
    const id: string = body.data.createConversation.conversation.id
    const run = (args: string[], io: Partial<Io> = {}) =>
      runCommand([...args, '--url', server.url, '--tenant', tenant.name, '--actor', 'ada'], io)
    /** Runs a command that must succeed. Returns the lines that it prints. */
    const lines = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(args)
      expect([code, stderr]).toEqual([EXIT.success, ''])
      return stdout.trimEnd().split('\n')
    }
    const json = async (...args: string[]) => JSON.parse((await lines(...args, '--json')).join('\n'))
    return { tenant, id, run, lines, json }
  }

  it('lists conversations', async () => {
    const { tenant, id, lines, json } = await start()
    await tenant.append(id, 'bot', 'Ready.')
    expect(await lines('conversations')).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d {2}boat {2}1 unread {2}The boat$/),
    ])
    expect(await lines('sessions', '--search', 'car')).toEqual(['There are no conversations.'])
    expect(await json('sessions', '--search', 'BOAT')).toMatchObject([{ id, key: 'boat', viewerUnreadCount: 1 }])
  })

  it('prints the history by key and by id, in pages', async () => {
    const { tenant, id, lines, json } = await start()
    await tenant.append(id, 'ada', 'First line.\nSecond line.')
    await tenant.append(id, 'bot', 'Aside.', { audience: ['ada'] })
    const [first, ...rest] = await lines('history', 'boat')
    expect(first).toMatch(/^3 {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}Ada$/)
    expect(rest).toEqual([
      '    First line.',
      '    Second line.',
      expect.stringMatching(/ bot \(to .*\)$/),
      '    Aside.',
    ])
    const newest = await lines('history', id, '--last', '1')
    expect(newest.slice(1, 2)).toEqual(['    Aside.'])
    const [, cursor] = /^Older turns: add --before (\S+)$/.exec(newest.at(-1)!)!
    expect(await json('history', id, '--last', '1', '--before', cursor!)).toMatchObject({
      nodes: [{ text: 'First line.\nSecond line.' }],
      pageInfo: { hasPreviousPage: false },
    })
  })

  it('prints hits, facts, and a context as a table of sections with tokens', async () => {
    const { tenant, id, run, lines, json } = await start()
    await tenant.append(id, 'ada', 'The mast is made of oak.')
    expect(await lines('recall', 'Which mast?', '--conversation', 'boat')).toEqual([
      expect.stringMatching(/^\d\.\d\d {2}turn 3 {2}ada: The mast is made of oak\.$/),
    ])
    expect((await json('recall', 'Which mast?')).hits).toHaveLength(1)
    expect(await lines('facts')).toEqual(['There are no facts.'])
    const table = await lines('context', 'boat', '--budget', '500', '--facts')
    expect(table[0]).toMatch(/^SECTION +TOKENS +SOURCES +REASON$/)
    expect(table[1]).toMatch(/^recent +\d+ +1 source +the newest turn$/)
    expect(table.at(-1)).toMatch(/^1 messages, \d+ of 500 tokens\.$/)
    expect((await json('context', 'boat')).tokenBudget).toBe(16_000)
    expect(await run(['context', 'boat', '--budget', '1'])).toEqual({
      code: EXIT.failure,
      stdout: '',
      stderr: expect.stringMatching(/^BUDGET_TOO_SMALL: .* take \d+ tokens; the budget is 1\. .*\n$/),
    })
  })

  it('lists jobs, and the progress of embedding', async () => {
    const { tenant, id, lines, json } = await start()
    const embedding = expect.stringMatching(/^Embedding by \S+: (no entries remain|\d+ entries remain, .+)\.$/)
    expect(await lines('jobs')).toEqual(['There are no jobs.', embedding])
    // More turns than may stand without a summary.
    for (let n = 0; n < 51; n++) await tenant.append(id, 'ada', `Turn ${n}.`)
    onTestFinished(await startJobs(server.deps))
    const compacted = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d {2}compact {2}completed {2}\d+ s {2}boat$/)
    await vi.waitFor(async () =>
      expect(await lines('jobs', '--state', 'COMPLETED')).toEqual(expect.arrayContaining([compacted, embedding])),
    )
    expect(await json('jobs', '--state', 'FAILED')).toMatchObject({ jobs: { nodes: [] }, embedding: {} })
  })

  it('tail prints events until it is stopped', async () => {
    const { tenant, id, run } = await start()
    await tenant.append(id, 'ada', 'Before.')
    const stopping = new AbortController()
    let printed = ''
    const write = async (text: string) => void (printed += text)
    const tailing = run(['tail', 'boat', '--after', '0'], { write, signal: stopping.signal })
    await vi.waitFor(() => expect(printed).toContain('    Before.\n'))
    const { id: supersedes, seq } = await tenant.append(id, 'bot', 'After.')
    await setPresence(server.deps, tenant.as('bot'), { conversationId: id, state: 'TYPING' }, null)
    await vi.waitFor(() => expect(printed).toContain('    After.\n'))
    const version = { supersedes, turn: { role: 'ASSISTANT' as const }, writerToken: WRITER, leaseSeconds: null }
    await openVersion(server.deps, tenant.as('bot'), version)
    await vi.waitFor(() => expect(printed).toMatch(new RegExp(`regenerates turn ${seq}\n$`)))
    stopping.abort()
    expect((await tailing).code).toBe(EXIT.interrupted)
    expect(printed.split('\n').slice(0, 2)).toEqual(['1  ada joined', '2  bot joined'])

    const asJson = new AbortController()
    let events = ''
    const writeJson = async (text: string) => {
      events += text
      if (events.split('\n').length > 4) asJson.abort()
    }
    await run(['tail', 'boat', '--after', '0', '--json'], { write: writeJson, signal: asJson.signal })
    expect(
      events
        .trimEnd()
        .split('\n')
        .slice(0, 4)
        .map((line) => JSON.parse(line).seq),
    ).toEqual([1, 2, 3, 4])
  })

  it('ask prints the answer of an agent as it is written', async () => {
    const { run, json } = await start()
    const model = gate()
    provider.reset()
    provider.next(['Let me ', model.pause, 'see.'], ['Again.'])
    let printed = ''
    const write = async (text: string) => void (printed += text)
    const asking = run(['ask', 'boat', 'Is it dry?', '--agent', 'bot', '--provider', 'scripted'], { write })
    await vi.waitFor(() => expect(printed).toBe('Let me '))
    model.open()
    expect(await asking).toEqual({ code: EXIT.success, stdout: '', stderr: '' })
    expect(printed).toBe('Let me see.\n')
    expect(await json('ask', 'boat', 'And now?', '--agent', 'bot', '--provider', 'scripted')).toMatchObject({
      actor: 'bot',
      text: 'Again.',
      status: 'COMMITTED',
    })
  })

  it('ask waits for anyone, says when nobody answers, and cancels the run when it is stopped', async () => {
    const { tenant, id, run } = await start()
    const asking = run(['ask', 'boat', 'Anyone?'])
    await vi.waitFor(async () => expect(await tenant.lastSeq(id)).toBe(3))
    await tenant.append(id, 'bot', 'Yes.')
    expect(await asking).toEqual({ code: EXIT.success, stdout: 'Yes.\n', stderr: '' })
    expect(await run(['ask', 'boat', 'Anyone else?', '--timeout', '1'])).toEqual({
      code: EXIT.failure,
      stdout: '',
      stderr: 'No one has answered within 1 s.\n',
    })

    const model = gate()
    provider.reset()
    provider.next(['Well, ', model.pause])
    const stopping = new AbortController()
    const write = async () => stopping.abort()
    const stopped = await run(['ask', 'boat', 'Slowly?', '--agent', 'bot', '--provider', 'scripted'], {
      write,
      signal: stopping.signal,
    })
    expect(stopped.code).toBe(EXIT.interrupted)
    const { body } = await server.post(
      { query: '{ conversation(key: "boat") { runs(last: 1) { nodes { state } } } }' },
      { 'x-tenant': tenant.name, 'x-actor': 'ada' },
    )
    expect(body.data.conversation.runs.nodes).toEqual([{ state: 'CANCELLED' }])
    model.open()
  })

  it('ask prints the reason for which a run failed', async () => {
    const { run } = await start()
    provider.reset()
    provider.next([new Error('out of order')])
    const { code, stderr } = await run(['ask', 'boat', 'Well?', '--agent', 'bot', '--provider', 'scripted'])
    expect([code, stderr]).toEqual([EXIT.failure, expect.stringMatching(/^The answer was aborted: .+\n$/)])
  })

  it.each<[string[], number, RegExp]>([
    [['history', 'none'], EXIT.failure, /^NOT_FOUND: There is no conversation/],
    [['facts', '--limit', '0'], EXIT.usage, /must be a whole number from 1 to 200/],
    [['histroy', 'boat'], EXIT.usage, /unknown command 'histroy'\n\(Did you mean history\?\)/],
    [['history', 'boat', '--lst', '1'], EXIT.usage, /unknown option '--lst'\n\(Did you mean --last\?\)/],
    [['history'], EXIT.usage, /missing required argument 'conversation'/],
    [['chat', '--agnet', 'x'], EXIT.usage, /unknown option '--agnet'\n\(Did you mean --agent\?\)/],
  ])('%j fails with one message', async (args, code, message) => {
    const { run } = await start()
    const failed = await run(args)
    expect([failed.code, failed.stdout]).toEqual([code, ''])
    expect(failed.stderr).toMatch(message)
    expect(failed.stderr).not.toMatch(/\n {4}at /)
  })
})

describe('the command line', () => {
  it('says that a server cannot be reached', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    closed.close()
    const { code, stderr } = await runCommand(['sessions', '--url', `http://127.0.0.1:${port}`])
    expect([code, stderr]).toEqual([EXIT.unreachable, expect.stringMatching(/^NETWORK: .*ECONNREFUSED.*\n$/)])
    const wrong = await runCommand(['sessions', '--url', 'localhost:4000'])
    expect([wrong.code, wrong.stderr]).toEqual([
      EXIT.usage,
      expect.stringMatching(/must be a URL with http: or https:/),
    ])
  })

  it('has the commands and exit codes that docs/command-line.md lists', async () => {
    const page = readDocument('docs/command-line.md')
    const commands = table(page, '| Command |').map(([name]) => unquoted(name!))
    const { stdout } = await runCommand(['--help'])
    const printed = [...stdout.matchAll(/^ {2}([a-z]+)(?:\|[a-z]+)? /gm)].map(([, name]) => name)
    expect(printed.filter((name) => name !== 'help')).toEqual(commands)
    expect(table(page, '| Code |').map(([code]) => Number(code))).toEqual(Object.values(EXIT))
  })

  it.each(['bash', 'zsh', 'fish'])('prints a script that completes every command in %s', async (shell) => {
    const { code, stdout } = await runCommand(['completion', shell])
    expect(code).toBe(EXIT.success)
    const { stdout: help } = await runCommand(['--help'])
    const commands = [...help.matchAll(/^ {2}([a-z]+)(?:\|([a-z]+))? /gm)].flatMap(([, ...names]) =>
      names.filter(Boolean),
    )
    expect(commands.length).toBeGreaterThan(10)
    for (const command of commands.filter((name) => name !== 'help')) expect(stdout).toContain(command)
    const wrong = await runCommand(['completion', `${shell}x`])
    expect([wrong.code, wrong.stderr]).toEqual([
      EXIT.usage,
      expect.stringContaining('Allowed choices are bash, zsh, fish.'),
    ])
  })

  it('prints the settings and their sources, or says which are wrong', async () => {
    const env = { PORT: '80', DATABASE_URL: 'postgres://u:secret@db/x' }
    const io = { loadConfig: () => loadConfig(env), readSettings: () => readSettings(env) }
    const { stdout } = await runCommand(['config'], io)
    expect(stdout).toMatch(/^NAME +VALUE +SOURCE\nPORT +80 +environment\nHOST +127\.0\.0\.1 +default\n/)
    expect(stdout).not.toContain('secret')
    expect(JSON.parse((await runCommand(['config', 'PORT', '--json'], io)).stdout)).toEqual([
      { name: 'PORT', value: '80', source: 'environment', file: null },
    ])
    expect(await runCommand(['config', 'PROT'], io)).toEqual({
      code: EXIT.failure,
      stdout: '',
      stderr: 'There is no setting PROT. Did you mean PORT?\n',
    })
    const wrong = runCommand(['config'], { ...io, loadConfig: () => loadConfig({ PORT: 'x' }) })
    await expect(wrong).rejects.toThrow('PORT is "x"')
  })

  it('prints its help', async () => {
    const { code, stdout } = await runCommand(['--help'])
    expect(code).toBe(EXIT.success)
    for (const command of ['conversations|sessions', 'history', 'recall', 'context', 'facts', 'tail', 'ask', 'token']) {
      expect(stdout).toContain(`  ${command} `)
    }
    expect((await runCommand(['token', 'create', '--help'])).stdout).toContain('--rights <list>')
    expect(await runCommand(['--version'])).toEqual({
      code: EXIT.success,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      stderr: '',
    })
  })
})
