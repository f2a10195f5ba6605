// A server process whose whole output is kept, and the generated operations that canary.test.ts sends
// to it and access-matrix.test.ts to its own server.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { isObjectType, type GraphQLSchema } from 'graphql'
import { plainValue, type Leaf, type RootField } from '../support/generated-operations.ts'
import { SHORT_LIVED, START } from '../support/short-lived.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests read results untyped
export type Body = any

export type DrivenServer = {
  /** Base URL. */
  url: string
  /** Base URL of /metrics. */
  metricsUrl: string
  /** Everything that the process has written to stdout and stderr. */
  output(): string
  stop(): Promise<void>
}

/**
 * Starts a process with these settings, and with limits that admit the generated operations.
 * @param flags of Node
 */
export async function startDrivenServer(
  env: Record<string, string>,
  flags: readonly string[] = [],
): Promise<DrivenServer> {
  const child = spawn(process.execPath, [...flags, ...SHORT_LIVED, START], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      METRICS_PORT: '0',
      MAX_QUERY_TOKENS: '100000',
      MAX_QUERY_FIELDS: '100000',
      MAX_QUERY_ALIASES: '10000',
      MAX_QUERY_REPEATS: '10000',
      MAX_QUERY_VALUES: '100000000',
      SHUTDOWN_SECONDS: '2',
      ...env,
    },
  })
  process.once('exit', () => child.kill('SIGKILL'))
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
  const urls: string[] = []
  const lines = createInterface(child.stdout)
  await new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      output += `${line}\n`
      const [, url] = /"url":"([^"]+)"/.exec(line) ?? []
      if (url) urls.push(new URL(url).origin)
      if (urls.length === 2) resolve()
    })
    child.once('exit', () => reject(new Error(output)))
  })
  return {
    metricsUrl: urls[0]!,
    url: urls[1]!,
    output: () => output,
    async stop() {
      if (child.exitCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

export type Headers = Record<string, string>

/** POSTs an operation and returns the status and the body. */
export async function post(
  { url }: Pick<DrivenServer, 'url'>,
  query: string,
  variables: object,
  headers: Headers,
): Promise<{ status: number; body: Body; text: string }> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query, variables }),
  })
  const text = await response.text()
  return { status: response.status, body: JSON.parse(text), text }
}

/** The ids of a conversation and of an object of each kind; '' if there is none. `open`: a streaming turn. */
export type Ids = {
  conversation: string
  key: string
  turn: string
  open: string
  fact: string
  summary: string
  /** A context in the view of ann. */
  context: string
  run: string
  approval: string
  apiKey?: string
  /** Set for fields of a transfer. */
  transfer?: string
}

/** Fields that end or delete their object, so that each call needs a new object. */
export const ENDING = new Set([
  'Mutation.abortTurn',
  'Mutation.cancelRun',
  'Mutation.commitTurn',
  'Mutation.deleteConversation',
  'Mutation.eraseTurn',
  'Mutation.eraseUser',
  'Mutation.removeParticipant',
  'Mutation.resolveApproval',
  'Mutation.retractFact',
  'Mutation.supersedeTurn',
])
const OF_OPEN_TURNS = new Set(['Mutation.abortTurn', 'Mutation.appendDelta', 'Mutation.commitTurn'])

/** Names of leaves that contain the name of an actor or user. */
const ACTORS = new Set(['actor', 'actors', 'as', 'audience', 'userId', 'owner', 'participant', 'filterParticipants'])
/** Values of number arguments for which 1 is unsuitable. */
const NUMBERS: Record<string, number> = {
  // A shorter time would delete conversations while they are used.
  ttlSeconds: 86_400,
  tokensPerDay: 1_000_000_000,
  tokenBudget: 4_000,
  first: 5,
  last: 5,
  limit: 5,
  k: 5,
  seq: 1,
  offset: 0,
}

/** Returns a value for each leaf: the ids of the objects, names of actors, and the text for all other texts. */
export function valuesOf(schema: GraphQLSchema, field: RootField, ids: Ids, text: string, writerToken: string) {
  return (leaf: Leaf): unknown => {
    const { name, type } = leaf
    if (name === 'conversationId' || (name === 'id' && field.name === 'Query.conversation')) return ids.conversation
    if (name === 'conversationKey') return ids.key
    if (name === 'turnId' && OF_OPEN_TURNS.has(field.name)) return ids.open
    if (name === 'contextId' || (name === 'id' && field.name === 'Query.contextById')) return ids.context
    if (name === 'runId' || (name === 'id' && field.name === 'Query.run')) return ids.run
    if (name === 'factId') return ids.fact
    if (name === 'approvalId') return ids.approval
    if (name === 'transferId') return ids.transfer
    if (name === 'manifest') return MANIFEST
    if (name === 'lines') return JSON.stringify({ type: 'heldUser', userId: text, since: '2026-01-01T00:00:00Z' })
    if (type === 'ID') return (field.name.endsWith('ApiKey') && name !== 'conversationIds' && ids.apiKey) || ids.turn
    if (name === 'writerToken' || name === 'claimToken') return writerToken
    if (ACTORS.has(name)) return field.name === 'Mutation.removeParticipant' && name === 'actor' ? 'bob' : 'ann'
    if (name === 'url') return `https://files.example/${text}`
    if (name === 'mediaType') return 'text/plain'
    if (name === 'role') return 'USER'
    if (name in NUMBERS) return NUMBERS[name]
    return plainValue(schema, leaf, text)
  }
}

/** The first line of a file to import. */
export const MANIFEST = '{"type":"manifest","format":"colloquy-transcript","version":1,"scope":"TENANT"}'

/**
 * Returns the optional leaves to send in each operation of a field: first the leaves of a plain call, then for each
 * other leaf the leaves of a plain call and this leaf.
 */
export function choicesOf({ leaves }: RootField): string[][] {
  const plain = leaves
    .filter(({ path, name }) => name === 'conversationId' || name === 'content' || path === 'id')
    .map(({ path }) => path)
  const others = leaves.filter(({ path, isRequired, within }) => !plain.includes(path) && !(isRequired && !within))
  return [
    plain,
    ...others.map(({ path, name }) => {
      const excluded = path.includes('.parts.') ? 'content' : name === 'conversationKey' || name === 'key' ? 'Id' : ' '
      return [...plain.filter((each) => !each.endsWith(excluded) && !(name === 'key' && each === 'id')), path]
    }),
  ]
}

/** Whether the operation succeeded: without errors, and without an expected error in the union of its result. */
export function isSuccess(schema: GraphQLSchema, field: RootField, body: Body): boolean {
  if (body.errors) return false
  const type = schema.getType(body.data?.[field.name.split('.')[1]!]?.__typename ?? '')
  return !(isObjectType(type) && type.getInterfaces().some(({ name }) => name === 'UserError'))
}

/** Creates a conversation of ann and bob with an object of each kind, in the headers' tenant. */
export async function createObjects(
  server: Pick<DrivenServer, 'url'>,
  headers: Headers,
  text: string,
  writerToken: string,
  settings: { visibility?: 'OPEN' | 'MEMBERS'; audience?: string[] } = {},
): Promise<Ids> {
  const { visibility = 'OPEN', audience } = settings
  const run = async (field: string, input: object, selection: string): Promise<Body> => {
    const type = `${field[0]!.toUpperCase()}${field.slice(1)}`
    const query = `mutation ($input: ${type}Input!) { ${field}(input: $input) { ... on ${type}Payload { ${selection} } ... on UserError { code message } } }`
    const { body } = await post(server, query, { input }, headers)
    const result = body.data?.[field]
    if (!result || result.code) throw new Error(JSON.stringify(body))
    return result
  }
  const key = `key-${Math.random()}`
  const participants = [{ actor: 'ann' }, { actor: 'bob', displayName: text, metadata: { of: text } }]
  const created = {
    key,
    agentName: 'ann',
    title: text,
    metadata: { of: text },
    systemPrompt: text,
    visibility,
    participants,
  }
  const { conversation } = await run('createConversation', created, 'conversation { id }')
  const conversationId = conversation.id as string
  const content = `${text} I live in Oslo.`
  const { turn } = await run('appendTurn', { conversationId, turn: { role: 'USER', content, audience } }, 'turn { id }')
  await run('appendTurn', { conversationId, turn: { role: 'USER', content: `${text} again`, audience } }, 'turn { id }')
  await run('claimTurn', { turnId: turn.id, claimToken: writerToken }, 'claim { scope }')
  // The key makes the fact unique; an equal fact would be skipped as a duplicate.
  const facts = [{ subject: 'ann', predicate: 'knows', object: `${text} ${key}`, sourceTurnId: turn.id as string }]
  const recorded = await run('recordFacts', { conversationId, userId: 'ann', facts }, 'facts { id }')
  const { turn: open } = await run(
    'openTurn',
    { conversationId, writerToken, turn: { role: 'ASSISTANT', audience } },
    'turn { id }',
  )
  await run('appendDelta', { turnId: open.id, writerToken, text }, 'turn { id }')
  await run('updateSharedState', { conversationId, key: text, value: { of: text }, audience }, 'version')
  const { run: waiting } = await run(
    'runTurn',
    {
      conversationId,
      actor: 'bob',
      turns: [{ role: 'USER', content: `${text} {"echo": {"tools": [{"name": "look_up"}]}}`, audience }],
      tools: [{ name: 'look_up', description: 'Looks something up.' }],
    },
    'run { id }',
  )
  const { run: asking } = await run(
    'runTurn',
    {
      conversationId,
      actor: 'bob',
      turns: [{ role: 'USER', content: `${text} {"echo": {"tools": [{"name": "pay"}]}}`, audience }],
      tools: [{ name: 'pay', description: 'Pays.', requiresApproval: true }],
    },
    'run { approvals { nodes { id } } }',
  )
  const built = await post(
    server,
    `query ($id: ID!) { buildContext(input: { conversationId: $id, tokenBudget: 8000, as: "ann", store: true }) {
       ... on Context { id } ... on UserError { message } } }`,
    { id: conversationId },
    headers,
  )
  return {
    conversation: conversationId,
    key,
    turn: turn.id,
    open: open.id,
    fact: recorded.facts[0].id,
    summary: '',
    context: built.body.data!.buildContext.id,
    run: waiting.id,
    // The agent does not see a private turn, so it calls no tool.
    approval: asking.approvals.nodes[0]?.id ?? '',
  }
}
