// Every verb has the same answers and errors through every door, for each viewer: the owner, the audience of a whisper, a
// participant who does not see it, and a stranger.

import { beforeAll, describe, expect, it } from 'vitest'
import type { Viewer } from '../../src/domain/kernel/view.ts'
import { answerOf, variablesOf, VerbFailed } from '../../src/faces/call.ts'
import { VERBS, type VerbName } from '../../src/faces/verbs.ts'
import { backends } from '../support/backend.ts'
import { restRequest, sendRest } from '../support/rest.ts'
import { createScriptedProvider } from '../support/scripted-provider.ts'
import { useServer, type TestServer } from '../support/server.ts'
import { mcpDoor } from './mcp-door.ts'
import { CALLS, furnish, libraryDoor, makeCalls, outcomeOf, verbsWithAnswer, type Door } from './verbs.ts'

const headersOf = ({ tenant, actor }: Viewer) => ({ 'x-tenant': tenant, 'x-actor': actor })

const graphqlDoor =
  (server: TestServer): Door =>
  async (viewer, verb, input) => {
    try {
      const sent = { query: VERBS[verb].document, variables: variablesOf(verb, input) }
      const { body } = await server.post(sent, headersOf(viewer))
      return { answer: answerOf(verb, input, body) }
    } catch (error) {
      if (error instanceof VerbFailed) return outcomeOf(error)
      throw error
    }
  }

const restDoor =
  (server: TestServer): Door =>
  async (viewer, verb, input) => {
    const { status, body } = await sendRest(server.url, restRequest(verb, input), headersOf(viewer))
    if (status === 200) return { answer: body }
    expect(status, `${verb} ${JSON.stringify(body)}`).toBeLessThan(500)
    expect(body.status).toBe(status)
    return outcomeOf(body)
  }

const ID = /\b[a-z]{3,5}_[0-9A-HJKMNP-TV-Z]{26}(\.\w+)?\b|\bprof_[\w-]+(\.[\w-]+)?|\b[0-9a-f]{8}-[0-9a-f-]{27}\b/g
/** Times, hashes and tenants in the lines of an export. */
const VARYING_TEXT = /\d{4}-\d\d-\d\dT[\d:.]+Z|\b[0-9a-f]{64}\b|\btenant-\d+/g
const VARYING = new Set(['startCursor', 'endCursor', 'cursor', 'document', 'signature'])

/** Returns a function that replaces ids by numbers in the order of their appearance, and times and cursors by a mark. */
function createNormalizer() {
  const numbers = new Map<string, number>()
  const text = (value: string) => {
    if (/^\d{4}-\d\d-\d\dT/.test(value)) return 'TIME'
    return value.replaceAll(VARYING_TEXT, 'VARYING').replaceAll(ID, (id) => {
      if (!numbers.has(id)) numbers.set(id, numbers.size)
      return `ID${numbers.get(id)}`
    })
  }
  const normalize = (value: any, key = ''): any => {
    if (value === null || value === undefined) return value
    if (VARYING.has(key)) return 'VARYING'
    if (value instanceof Date) return 'TIME'
    if (typeof value === 'string') return text(value)
    if (Array.isArray(value)) return value.map((each) => normalize(each))
    if (typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, normalize(each, name)]))
  }
  return normalize
}

/** The properties that the API computes from others, so that they differ from properties of the same name in the library. */
const COMPUTED = new Set(['parts', 'items', 'tokenUsage', 'citations', 'plan', 'metadata', 'messages', 'error'])

/** Returns the part of the API's answer that the library's answer has too, and that part of the library's answer. */
function common(api: any, library: any): [unknown, unknown] {
  if (typeof api !== 'object' || api === null || typeof library !== 'object' || library === null) return [api, library]
  if (Array.isArray(api)) {
    const pairs = api.map((each, index) => common(each, library[index]))
    return [pairs.map(([own]) => own), [...pairs.map(([, other]) => other), ...library.slice(api.length)]]
  }
  const keys = Object.keys(api).filter((key) => library[key] !== undefined && !COMPUTED.has(key) && !VARYING.has(key))
  const pairs = keys.map((key) => [key, common(api[key], library[key])] as const)
  return [
    Object.fromEntries(pairs.map(([key, [own]]) => [key, own])),
    Object.fromEntries(pairs.map(([key, [, other]]) => [key, other])),
  ]
}

it('the calls contain every verb that has an answer', () => {
  expect(CALLS.map(([verb]) => verb).toSorted()).toEqual(verbsWithAnswer().toSorted())
})

describe.each(backends)('on $name,', (backend) => {
  const providers = { scripted: createScriptedProvider() }
  const server = useServer(backend, {}, { settings: { providers } })

  // Otherwise, hits have a similarity only after their embedding, which runs in the background.
  beforeAll(() => Promise.all([server.deps.embedding.stop(), server.deps.factEmbedding.stop()]))

  /** Makes the calls of the viewer in a new world. Also returns a function that removes what differs between worlds. */
  async function callsThrough(door: Door, actor: string) {
    const tenant = server.tenant()
    const room = await furnish(server.deps, tenant)
    const normalize = createNormalizer()
    normalize(room)
    return { made: await makeCalls(door, tenant.as(actor), room), normalize }
  }

  describe.each(['ada', 'bob', 'cyd', 'eve'])('as %s,', (actor) => {
    it('the REST API answers every call like the GraphQL API', async () => {
      const [rest, graphql] = [
        await callsThrough(restDoor(server), actor),
        await callsThrough(graphqlDoor(server), actor),
      ]
      expect(rest.normalize(rest.made)).toEqual(graphql.normalize(graphql.made))
    })

    it('the tools of MCP answer like the GraphQL API, for every call that a tool can express', async () => {
      let calls = 0
      const door = mcpDoor(server.url, graphqlDoor(server), () => (calls += 1))
      const [mcp, graphql] = [await callsThrough(door, actor), await callsThrough(graphqlDoor(server), actor)]
      expect(mcp.normalize(mcp.made)).toEqual(graphql.normalize(graphql.made))
      expect(calls).toBeGreaterThan(20)
    })

    it('the REST API answers every call like the library', async () => {
      const library = await callsThrough(libraryDoor(server.deps), actor)
      const rest = await callsThrough(restDoor(server), actor)
      let compared = 0
      for (const [index, { verb, input, outcome }] of rest.made.entries()) {
        const call = `${verb} ${JSON.stringify(input)}`
        const [own, other] = common(outcome, library.made[index]!.outcome)
        expect({ call, outcome: rest.normalize(own) }).toEqual({ call, outcome: library.normalize(other) })
        if ('answer' in outcome) expect(Object.keys((own as { answer: object }).answer).length, call).toBeGreaterThan(0)
        compared += 1
      }
      expect(compared).toBe(library.made.length)
    })
  })
})

/** Counts the outcomes of the calls, so that a change that makes every call fail is noticed. */
describe.each(backends)('the calls on $name', (backend) => {
  const providers = { scripted: createScriptedProvider() }
  const server = useServer(backend, {}, { settings: { providers } })

  it.each<[string, (verb: VerbName) => boolean]>([
    ['ada', () => true],
    ['eve', (verb) => ['conversations', 'facts', 'approvals', 'createConversation'].includes(verb)],
  ])('succeed at least once as %s, for the verbs that it may call', async (actor, isAllowed) => {
    const tenant = server.tenant()
    const made = await makeCalls(restDoor(server), tenant.as(actor), await furnish(server.deps, tenant))
    const successful = new Set(made.flatMap(({ verb, outcome }) => ('answer' in outcome ? [verb] : [])))
    const expected = verbsWithAnswer().filter((verb) => isAllowed(verb))
    expect(expected.filter((verb) => !successful.has(verb))).toEqual([])
  })
})
