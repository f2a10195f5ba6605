// The front page says what is so: its table of settings is config.ts's, its operations are valid, its commands answer
// as printed, its client misses nothing, and what it links to exists.

import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildSchema, parse, validate } from 'graphql'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { variables } from '../src/config/config.ts'
import * as errors from '../src/errors.ts'
import { startServer, type RunningServer } from './demo/server.ts'
import { backends } from './support/backend.ts'
import { createProxy } from './support/proxy.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }

/** The blocks of code in those languages, in order; '' for none. */
const blocks = (...languages: string[]) =>
  [...readme.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, language]) => languages.includes(language!))
    .map(([, language, text]) => ({ language: language!, text: text! }))

/** Cells of the rows of the table with that head. */
function table(head: string): string[][] {
  const lines = readme.split('\n')
  const start = lines.findIndex((line) => line.startsWith(head))
  expect(start, head).toBeGreaterThan(-1)
  const rest = lines.slice(start + 2)
  return rest
    .slice(
      0,
      rest.findIndex((line) => !line.startsWith('|')),
    )
    .map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

const unquoted = (cell: string) => cell.replace(/^`|`$/g, '')

describe('the README', () => {
  it('lists every setting, with its default and meaning, in the order of config.ts', () => {
    const rows = table('| Variable |').map(([name, value, meaning]) => ({
      name: unquoted(name!),
      default: unquoted(value!) || undefined,
      meaning,
    }))
    expect(rows).toEqual(variables)
  })

  it('lists every script, and names no other', () => {
    const listed = table('| Script |').map(([script]) => unquoted(script!).replace(/^npm (run )?/, ''))
    expect(listed.sort()).toEqual(
      Object.keys(scripts)
        .filter((name) => name !== 'postinstall')
        .sort(),
    )
    const named = [...readme.matchAll(/npm (?:run ([\w-]+)|(start|test)\b)/g)].map(([, run, own]) => run ?? own!)
    expect(named.filter((name) => !scripts[name])).toEqual([])
  })

  it('lists every expected failure by its code', () => {
    const made: errors.DomainError[] = [
      errors.InvalidInput.at('x', 'y'),
      new errors.NotFound('x', 'y'),
      new errors.NotAllowed('x'),
      new errors.Conflict('x'),
      new errors.StreamClosed('x', 'y'),
      new errors.ProviderFailed('x', true),
      new errors.BudgetTooSmall(1, 2),
    ]
    expect(made.map(({ constructor }) => constructor.name).sort()).toEqual(
      Object.keys(errors)
        .filter((name) => name !== 'DomainError')
        .sort(),
    )
    const rows = table('| Code |').map(([code, type]) => [unquoted(code!), unquoted(type!)])
    expect(rows).toEqual(made.map(({ code, constructor }) => [code, constructor.name]))
  })

  it('links to what exists', () => {
    const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, to]) => to!)
    expect(links.length).toBeGreaterThan(10)
    expect(links.filter((to) => !existsSync(join(root, to)))).toEqual([])
  })

  it('names a test for every rule of the protocol', () => {
    const rules = table('| Rule |')
    expect(rules.length).toBeGreaterThan(7)
    for (const [rule, tests] of rules) expect(tests, rule).toMatch(/\]\(test\/[\w/-]+\.test\.ts\)/)
  })

  it('shows the code as it lies', () => {
    const { text: layout } = blocks('').find(({ text }) => text.startsWith('prisma/'))!
    const folders = [...layout.matchAll(/^ {2}(\w+\/) /gm)].map(([, name]) => name!)
    const files = [...layout.matchAll(/\b([a-z]+\.ts)\b/g)].map(([, name]) => name!)
    expect(folders).toHaveLength(6)
    expect(files).toHaveLength(6)
    for (const name of [...folders, ...files]) expect(existsSync(join(root, 'src', name)), name).toBe(true)
  })

  it('shows operations that the schema has', () => {
    const schema = buildSchema(readFileSync(join(root, 'schema.graphql'), 'utf8'))
    const shown = blocks('graphql')
    expect(shown.length).toBeGreaterThan(0)
    for (const { text } of shown) expect(validate(schema, parse(text))).toEqual([])
  })
})

describe('what the README shows, on a server as it starts by itself', () => {
  let server: RunningServer
  beforeAll(async () => {
    server = await startServer(backends[0]!)
  })
  afterAll(() => server.stop())

  const ask = async (body: string, headers: Record<string, string> = {}) => {
    const response = await fetch(server.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
    return (await response.text()).trim()
  }

  it('answers each curl command with what stands below it', async () => {
    const pairs = blocks('sh', 'json').flatMap(({ language, text }, index, all) =>
      language === 'sh' && text.startsWith('curl') ? [{ command: text, answer: all[index + 1]! }] : [],
    )
    expect(pairs).toHaveLength(3)
    // What was printed once is another id now.
    const ids = new Map<string, string>()
    for (const { command, answer } of pairs) {
      expect(answer.language).toBe('json')
      expect(command).toMatch(/^curl -s http:\/\/127\.0\.0\.1:4000\/graphql /)
      const headers = Object.fromEntries([...command.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, k, v]) => [k!, v!]))
      const body = /-d '([^']+)'/.exec(command)![1]!.replace(/conv_\w+/g, (id) => ids.get(id) ?? id)
      const got = await ask(body, headers)
      const [printed, real] = [answer.text.trim(), got].map((text) => text.match(/(conv|turn)_\w+/g) ?? [])
      printed!.forEach((id, index) => ids.set(id, real![index]!))
      expect(got).toBe(answer.text.trim().replace(/conv_\w+/g, (id) => ids.get(id)!))
    }
  })

  it('recalls what stands below the query, its figures rounded', async () => {
    const all = blocks('graphql', 'json')
    const at = all.findIndex(({ text }) => text.startsWith('query Recall'))
    const printed = JSON.parse(all[at + 1]!.text)
    const [hit] = printed.data.recall.hits
    const create = 'mutation { createConversation(input: { key: "garden" }) { ... on Conversation { id } } }'
    const [conversationId] = /conv_\w{26}/.exec(await ask(JSON.stringify({ query: create })))!
    for (const { actor, text } of [hit.neighbours[0], hit.memory, hit.neighbours[1]]) {
      await ask(
        JSON.stringify({
          query: 'mutation Say($input: AppendTurnInput!) { appendTurn(input: $input) { ... on Turn { seq } } }',
          variables: { input: { conversationId, turn: { actor, role: 'USER', content: text } } },
        }),
      )
    }
    // Until the vectors are made, similarity is null.
    await vi.waitFor(
      async () => {
        const got = JSON.parse(await ask(JSON.stringify({ query: all[at]!.text, variables: { conversationId } })))
        for (const figure of ['score', 'similarity', 'textScore']) {
          expect(got.data.recall.hits[0][figure], figure).toBeCloseTo(hit[figure], 1)
          got.data.recall.hits[0][figure] = hit[figure]
        }
        expect(got).toEqual(printed)
      },
      { timeout: 20_000, interval: 200 },
    )
  })

  it('has a client that goes on after every drop, and gets each entry once', async () => {
    const proxy = await createProxy(server.url)
    const code = blocks('js')[0]!.text
    expect(code).toContain('ws://127.0.0.1:4000/graphql')
    // Beside the packages that it imports.
    const directory = join(root, 'node_modules/.cache')
    const file = join(directory, `readme-client-${process.pid}.mjs`)
    await mkdir(directory, { recursive: true })
    await writeFile(file, code.replace('ws://127.0.0.1:4000/graphql', proxy.url.replace(/^http/, 'ws')))
    const { follow } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
      follow(conversationId: string): AsyncGenerator<{ __typename: string; seq: number | null }>
    }
    try {
      const query = 'mutation { createConversation(input: { key: "followed" }) { ... on Conversation { id } } }'
      const [conversationId] = /conv_\w{26}/.exec(await ask(JSON.stringify({ query })))!
      const say = (content: string) =>
        ask(
          JSON.stringify({
            query: 'mutation Say($input: AppendTurnInput!) { appendTurn(input: $input) { ... on Turn { seq } } }',
            variables: { input: { conversationId, turn: { role: 'USER', content } } },
          }),
        )
      const seqs: number[] = []
      const following = (async () => {
        for await (const { seq } of follow(conversationId)) if (seq !== null) seqs.push(seq)
      })()
      const heard = async (seq: number) => {
        while (seqs.at(-1) !== seq) await new Promise((resolve) => setTimeout(resolve, 10))
      }
      // Entry 1 is the joining of who speaks.
      for (let turn = 2; turn <= 10; turn++) {
        await say(`turn ${turn}`)
        if (turn % 3 !== 0) continue
        await heard(turn)
        await proxy.cut()
        await say('while nobody listens')
        turn += 1
        // As long as a server takes to start again: what it tries meanwhile is refused.
        await new Promise((resolve) => setTimeout(resolve, 1_200))
        await proxy.mend()
      }
      await heard(10)
      expect(seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])

      const erase = `mutation { deleteConversation(id: "${conversationId}") { ... on ErasureReceipt { conversations } } }`
      await ask(JSON.stringify({ query: erase }))
      await following
      await expect(follow(conversationId).next()).rejects.toThrow(/no conversation/)
    } finally {
      await rm(file)
      await proxy.close()
    }
  })
})
