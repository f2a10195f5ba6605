// Calls as code. The curl command is run by bash, and the program by this process: both must send what the page sent.

import { execFileSync } from 'node:child_process'
import { runInThisContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { connect, type Client, type ConnectOptions } from '../../../src/client/index.ts'
import { jsonOf, literalOf, shellWord, templateLiteral } from '../../../src/web/journal/quote.ts'
import { actorOf, clientIdOf, curlOf, operationOf, typescriptOf } from '../../../src/web/journal/snippets.ts'

const URL = 'http://127.0.0.1:4000/graphql'

/** Texts that a wrong quoting would change. */
const TEXTS = {
  plain: 'Hello',
  empty: '',
  quotes: `it's "quoted" with \`ticks\` and ''' three`,
  shell: '$HOME $(id) ${PATH} !! * ; & | < > # ~ %',
  template: '${1 + 1} \\${x} $ {y} `${z}`',
  backslashes: 'a\\b \\n \\\\ \\',
  'line breaks': 'one\ntwo\r\nthree\ttab\n',
  unicode: 'Zoë 🎂 👩‍🚀 日本語 שלום é',
  invisible: 'a\u200Bb\u202Ec\u2028d\u2029e\uFEFFf\u0000g\u007Fh\u0085i',
  'half a pair': 'a\uD83Db',
}

/** Runs the command with a function `curl` that prints its arguments, and returns them. */
function argumentsOf(command: string, env: Record<string, string> = {}): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}\n`
  const printed = execFileSync('bash', ['--norc', '-c', script], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH!, ...env },
  })
  return printed.split('\0').slice(0, -1)
}

describe.each(Object.entries(TEXTS))('%s', (_, text) => {
  it('curl sends the JSON', () => {
    const call = {
      query: `query Q { a(text: ${JSON.stringify('x')}) } # ${text}`,
      variables: { text, [text]: [text] },
      actor: 'ada',
    }
    const [url, ...rest] = argumentsOf(curlOf(call, URL))
    expect(url).toBe(URL)
    expect(rest.slice(0, 5)).toEqual(['-H', 'content-type: application/json', '-H', 'x-actor: ada', '--data-raw'])
    expect(JSON.parse(rest[5]!)).toEqual({ query: call.query, variables: call.variables })
  })

  it('the word of a shell is the text', () => {
    // No argument of a program can contain a zero byte, or half a surrogate pair.
    if (text.includes('\0') || !text.isWellFormed()) return
    expect(argumentsOf(`curl ${shellWord(text)}`)).toEqual([text])
  })

  it('the literals of TypeScript are the text', () => {
    const value = { text, [text]: [text, { nested: text, none: null, number: -1.5, yes: true }] }
    const evaluate = (code: string): unknown => runInThisContext(code)
    expect(evaluate(`(${literalOf(value)})`)).toEqual(value)
    expect(evaluate(templateLiteral(text))).toBe(text)
    expect(JSON.parse(jsonOf(value, 2))).toEqual(value)
  })

  it('shows all that it contains', () => {
    for (const code of [
      literalOf(text),
      templateLiteral(text),
      jsonOf(text),
      curlOf({ query: text, variables: {}, actor: text.toWellFormed() }, URL),
    ])
      expect(code).not.toMatch(/[\u007F-\u009F\u200B-\u200F\u2028-\u202E\uFEFF\0]/)
  })
})

it('a key __proto__ stays a key', () => {
  const value = JSON.parse('{ "__proto__": { "a": 1 }, "b-c": 2 }')
  const evaluated = runInThisContext(`(${literalOf(value)})`)
  expect(Object.keys(evaluated)).toEqual(['__proto__', 'b-c'])
})

it('percent-encodes the actor', () => {
  const [, , , , header] = argumentsOf(curlOf({ query: '{ a }', variables: {}, actor: "Zoë 100% o'Neil" }, URL))
  expect(header).toBe("x-actor: Zo%C3%AB%20100%25%20o'Neil")
})

it('has a variable in place of a token', () => {
  const command = curlOf({ query: '{ a }', variables: {}, actor: null }, URL)
  expect(argumentsOf(command, { TOKEN: 'a b' })).toContain('authorization: Bearer a b')
  expect(typescriptOf({ query: '{ a }', variables: {}, actor: null }, URL)).toContain('token: process.env.TOKEN!')
})

it.each([
  ['query Recall($input: RecallInput!) { recall(input: $input) { x } }', 'Recall', false],
  ['mutation AppendTurn { a }', 'AppendTurn', true],
  ['{ viewer { actor } }', 'viewer', false],
  ['mutation { alias: eraseUser(input: {}) { x } }', 'eraseUser', true],
  ['', 'query', false],
])('names %s', (query, name, isMutation) => expect(operationOf(query)).toEqual({ name, isMutation }))

type Sent = { query: string; variables: Record<string, any>; actor: string | null }

/** A `fetch` that records the operations, and answers each with a permanent error. */
function recorder() {
  const sent: Sent[] = []
  const record = async (_: unknown, init: any) => {
    const actor = new Headers(init.headers).get('x-actor')
    sent.push({ ...JSON.parse(init.body), actor: actor === null ? null : decodeURIComponent(actor) })
    return Response.json({ errors: [{ message: 'No.', extensions: { code: 'NOT_FOUND' } }] })
  }
  return { sent, fetch: record as typeof fetch }
}

/** Returns the operation that the client sends. */
async function sentBy(options: Partial<ConnectOptions>, call: (client: Client) => Promise<unknown>): Promise<Sent> {
  const { sent, fetch } = recorder()
  const client = connect({ url: URL, retryForMs: 0, fetch, onError: () => {}, ...options })
  await call(client).catch(() => {})
  return sent[0]!
}

/** Runs a program in this process, and returns what it sends. */
async function sentByProgram(code: string): Promise<Sent> {
  const { sent, fetch } = recorder()
  const own = (options: ConnectOptions) => connect({ ...options, retryForMs: 0, fetch, onError: () => {} })
  const body = code.replace(/^import .*\n/, '').replace('process.env.TOKEN!', "'secret'")
  const AsyncFunction = (async () => {}).constructor as FunctionConstructor
  const program = new AsyncFunction('connect', 'console', body)
  await program(own, { log() {} }).catch(() => {})
  return sent[0]!
}

const ID = 'conv_1'
const CALLS: Record<string, (client: Client) => Promise<unknown>> = {
  'conversation.append(': (client) => client.conversation(ID).append(TEXTS.quotes),
  "append({ role: 'USER', content: 'x', metadata: { a: [1, null] } }, { claimToken: 'token' })": (client) =>
    client.conversation(ID).append({ content: 'x', metadata: { a: [1, null] } }, { claimToken: 'token' }),
  'conversation.context({ tokenBudget: 500 })': (client) => client.conversation(ID).context({ tokenBudget: 500 }),
  "conversation.recall('river', { k: 3 })": (client) => client.conversation(ID).recall('river', { k: 3 }),
  "client.recall('river', { scope: 'OWNER' })": (client) => client.recall('river', { scope: 'OWNER' }),
  'conversation.remember([': (client) =>
    client.conversation(ID).remember({ subject: 'ada', predicate: 'is', object: TEXTS.template }),
  'conversation.summarize()': (client) => client.conversation(ID).summarize(),
  'conversation.compact()': (client) => client.conversation(ID).compact(),
  'conversation.extractFacts()': (client) => client.conversation(ID).extractFacts(),
  'conversation.update(': (client) => client.conversation(ID).update({ title: TEXTS.unicode }),
  'conversation.addParticipant(': (client) => client.conversation(ID).addParticipant({ actor: 'bob' }),
  "conversation.updateParticipant('bob', ": (client) =>
    client.conversation(ID).updateParticipant('bob', { displayName: 'Bob' }),
  "conversation.removeParticipant('bob')": (client) => client.conversation(ID).removeParticipant('bob'),
  'conversation.markRead(4)': (client) => client.conversation(ID).markRead(4),
  "conversation.setPresence('TYPING')": (client) => client.conversation(ID).setPresence('TYPING'),
  'conversation.read()': (client) => client.conversation(ID).read(),
  "client.conversation({ key: 'a' })": (client) => client.conversation({ key: 'a' }).read(),
  'conversation.turns({ last: 5, filter: { pinned: true } })': (client) =>
    client.conversation(ID).turns({ last: 5, filter: { pinned: true } }),
  'conversation.participants({ first: 5 })': (client) => client.conversation(ID).participants({ first: 5 }),
  'conversation.summaries()': (client) => client.conversation(ID).summaries(),
  "client.findConversations({ first: 3, orderBy: 'UPDATED_AT' })": (client) =>
    client.findConversations({ first: 3, orderBy: 'UPDATED_AT' }),
  'client.facts(': (client) => client.conversation(ID).facts({ first: 2 }),
  "client.profile('ada')": (client) => client.profile('ada'),
  "client.refreshProfile('ada')": (client) => client.refreshProfile('ada'),
  "client.retractFact('fact_1', { reason: 'wrong' })": (client) => client.retractFact('fact_1', { reason: 'wrong' }),
  "client.eraseTurn('turn_1')": (client) => client.eraseTurn('turn_1'),
  "client.cancelRun('run_1')": (client) => client.cancelRun('run_1'),
  "client.resolveApproval('approval_1', 'APPROVE'": (client) =>
    client.resolveApproval('approval_1', 'APPROVE', { reason: 'ok' }),
  // Calls that no function sends in the same way.
  'client.request(`query RenderContext': (client) =>
    client.conversation(ID).context({ tokenBudget: 9, format: 'OPENAI' }),
  'client.request(`{ viewer { actor } }`)': (client) => client.request('{ viewer { actor } }'),
  'client.request(`mutation DeleteConversation': (client) => client.conversation(ID).delete(),
  'client.request(`query Recall(': (client) =>
    client.request('query Recall($input: RecallInput!) { recall(input: $input) { x } }', { input: { query: 'a' } }),
}

/** The sent operation without the idempotency key that each call of `append` makes. */
const comparable = ({ query, variables, actor }: Sent) => {
  const { turn, ...input } = variables.input ?? {}
  const { clientId: _, ...content } = turn ?? {}
  return { query: query.trim(), actor, variables: { ...variables, input: { ...input, turn: content } } }
}

describe.each([
  ['a name', { actor: 'Zoë' }],
  ['a token', { token: 'secret' }],
  ['a token that acts as another actor', { token: 'secret', actor: 'bob' }],
] as const)('with %s', (_, viewer) => {
  it.each(Object.entries(CALLS))('%s sends the same', async (shown, call) => {
    const sent = await sentBy(viewer, call)
    const code = typescriptOf(sent, URL)
    expect(code).toContain(shown)
    expect(code).not.toContain('secret')
    expect(comparable(await sentByProgram(code))).toEqual(comparable(sent))
  })
})

it('a call in the name of another actor, without a token, is sent as it is', async () => {
  const sent = await sentBy({ actor: 'ada' }, (client) => client.conversation(ID).append('x'))
  const variables = { input: { ...sent.variables.input, as: 'bob' } }
  const code = typescriptOf({ ...sent, variables }, URL)
  expect(code).toContain('client.request(')
  expect((await sentByProgram(code)).variables).toEqual(variables)
})

it('knows the clientId of a turn', async () => {
  const sent = await sentBy({ actor: 'ada' }, (client) => client.conversation(ID).append('x'))
  expect(clientIdOf(sent)).toMatch(/^[0-9a-f]{32}$/)
  expect(clientIdOf({ ...sent, variables: {} })).toBeNull()
})

it.each([
  [{ actor: 'ada', variables: {} }, 'ada'],
  [{ actor: null, variables: {} }, 'viewer'],
  [{ actor: null, variables: { as: 'bob' } }, 'bob'],
  [{ actor: null, variables: { input: { as: 'bob' } } }, 'bob'],
])('%o is sent as %s', (call, actor) => expect(actorOf({ query: '', ...call }, 'viewer')).toBe(actor))
