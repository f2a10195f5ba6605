// Tests the package as its users install it: packed, installed into an empty project, used as a library and as a
// command. Runs only with LONG=1, because it takes a minute and uses the package registry.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLong } from '../support/long.ts'
import { SHORT_LIVED } from '../support/short-lived.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

/** Maximum size of node_modules, in MiB. */
const MAX_MIB = 250

/** A program that uses the package. The tests compile it unchanged and run it. */
const PROGRAM = `
import {
  appendDelta, appendTurn, buildContext, commitTurn, createConversation, createDeps, createServer, loadConfig, openTurn,
  readEventsOf, recall, startBackground, type Viewer,
} from 'colloquy'

async function run(): Promise<void> {
  const config = { ...loadConfig({ LOG_LEVEL: 'silent', PORT: '0' }), dataDir: null }
  const { deps, health, close } = await createDeps(config)
  const stopBackground = startBackground(deps)
  const ada: Viewer = { tenant: 'default', actor: 'ada' }
  const { conversation } = await createConversation(deps, ada, { participants: [{ actor: 'ada' }] })
  const conversationId = conversation.id
  const events = await readEventsOf(deps, ada, { conversationId })
  await appendTurn(deps, ada, { conversationId, turn: { role: 'USER', content: 'The harbour is closed on Mondays.' } })
  const writerToken = 'a-secret-of-the-writer'
  const { turn } = await openTurn(deps, ada, { writerToken, conversationId, turn: { role: 'ASSISTANT' } })
  const { end } = await appendDelta(deps, ada, { writerToken, turnId: turn.id, text: 'Noted.' })
  await commitTurn(deps, ada, { writerToken, turnId: turn.id })
  const seen: string[] = []
  for await (const event of events) {
    if (event.type !== 'PresenceChanged') seen.push(event.type)
    if (event.type === 'TurnCommitted') break
  }
  const found = await recall(deps, ada, { conversationId, query: 'When is the harbour closed?' })
  const context = await buildContext(deps, ada, { conversationId, tokenBudget: 1000 })
  const server = createServer(deps, { ...config, port: 0 }, health)
  const port = await server.listen()
  const response = await fetch(\`http://127.0.0.1:\${port}/ready\`)
  await server.close()
  await stopBackground()
  await close()
  const best = found.hits[0]?.memory
  console.log(JSON.stringify({
    end, seen, best: best?.kind === 'TURN' ? best.turn.text : null, roles: context.messages.map(({ role }) => role),
    ready: response.status,
  }))
}
run().catch((error: unknown) => { console.error(error); process.exitCode = 1 })
`

const PRINTED = {
  end: 6,
  seen: ['TurnAppended', 'TurnOpened', 'TurnDelta', 'TurnCommitted'],
  best: 'The harbour is closed on Mondays.',
  roles: ['USER', 'ASSISTANT'],
  ready: 200,
}

/** A program that uses the entry points for clients on a server of the package. */
const CLIENT_PROGRAM = `
import { createDeps, createServer, loadConfig } from 'colloquy'
import { ColloquyError, connect, possibleTypes, resuming, type Client, type FollowedEvent, type Turn } from 'colloquy/client'
import { ColloquyProvider, useConversation, useInbox, useTranscript } from 'colloquy/react'
import { createElement, type FunctionComponent } from 'react'

const Chat: FunctionComponent<{ id: string }> = ({ id }) => {
  const { turns, status } = useTranscript(useConversation(id))
  const { unreadCount } = useInbox()
  return createElement('p', null, turns.map(({ text }) => text).join() + status + unreadCount.toFixed())
}

async function* words() { yield* ['Hello ', 'all'] }

async function follow(client: Client, id: string): Promise<FollowedEvent['__typename'][]> {
  const seen: FollowedEvent['__typename'][] = []
  for await (const event of client.conversation(id).follow({ afterSeq: 0 })) {
    if (event.__typename !== 'PresenceChanged') seen.push(event.__typename)
    if (event.__typename === 'TurnCommitted') break
  }
  return seen
}

async function run(): Promise<void> {
  const config = { ...loadConfig({ LOG_LEVEL: 'silent', PORT: '0' }), dataDir: null }
  const { deps, health, close } = await createDeps(config)
  const server = createServer(deps, { ...config, port: 0 }, health)
  const client = connect({ url: \`http://127.0.0.1:\${await server.listen()}/graphql\`, actor: 'ada' })
  const { id } = await client.createConversation({ key: 'greeting' })
  await client.conversation(id).append('Good morning.')
  const turn: Turn = await client.conversation({ key: 'greeting' }).write(words())
  const code = await client.conversation('conv_unknown').append('x').catch((error: ColloquyError) => error.code)
  const seen = await follow(client, id)
  const element = createElement(ColloquyProvider, { client }, createElement(Chat, { id }))
  await client.close()
  await server.close()
  await close()
  const { length } = possibleTypes.UserError!
  console.log(JSON.stringify({
    text: turn.text, code, seen, hasErrors: length > 3, resuming: typeof resuming, props: Object.keys(element.props),
  }))
}
run().catch((error: unknown) => { console.error(error); process.exitCode = 1 })
`

const CLIENT_PRINTED = {
  text: 'Hello all',
  code: 'INVALID_INPUT',
  seen: ['ParticipantJoined', 'TurnAppended', 'TurnOpened', 'TurnCommitted'],
  hasErrors: true,
  resuming: 'function',
  props: ['client', 'children'],
}

/** A page that uses the entry points for clients, compiled with the types of browsers and without those of Node. */
const PAGE = `
import { connect } from 'colloquy/client'
import { useTranscript } from 'colloquy/react'
const conversation = connect({ url: '/graphql', token: async () => 'token', webSocket: WebSocket }).conversation('conv_1')
void fetch('/answer').then(({ body }) => conversation.write(body!.pipeThrough(new TextDecoderStream())))
export const useTexts = () => useTranscript(conversation, { pageSize: 20 }).turns.map(({ text }) => text)
`

const TSCONFIG = {
  compilerOptions: {
    target: 'es2022',
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    types: ['node'],
    outDir: 'out',
  },
  files: ['program.mts', 'program.cts', 'client-program.mts', 'client-program.cts'],
}
const PAGE_TSCONFIG = {
  compilerOptions: { ...TSCONFIG.compilerOptions, lib: ['es2023', 'dom'], types: [], noEmit: true },
  files: ['page.mts'],
}

/** Whether only worker threads load the module, which may therefore contain top-level await. */
const isThread = (name: string) => /(^|[/-])worker\.js$/.test(name)

describe.runIf(isLong)('the package (needs LONG=1)', () => {
  let project: string
  /** Runs a program in the project, and returns its output. */
  const inProject = async (program: string, ...args: string[]) =>
    (await run(program, args, { cwd: project, maxBuffer: 64 * 1024 * 1024 })).stdout

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'colloquy-package-'))
    const packed = await run('npm', ['pack', '--json', '--silent', '--pack-destination', project], { cwd: root })
    const tarball = (await readdir(project)).find((name) => name.endsWith('.tgz'))
    expect(tarball, packed.stdout).toBeDefined()
    await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'consumer', private: true }))
    await inProject('npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', `./${tarball}`)
  })
  afterAll(() => rm(project, { recursive: true, force: true }))

  it(`takes at most ${MAX_MIB} MiB installed, without the Prisma CLI, tsx or a compiler`, async () => {
    const installed = join(project, 'node_modules')
    for (const name of ['prisma', 'tsx', 'typescript', 'esbuild']) {
      await expect(stat(join(installed, name)), name).rejects.toThrow('ENOENT')
    }
    const kib = Number((await inProject('du', '-sk', installed)).split('\t')[0])
    expect(kib / 1024).toBeLessThanOrEqual(MAX_MIB)
  })

  it('contains the files it reads at run time, and no top-level await, which require() cannot load', async () => {
    const dist = join(project, 'node_modules/colloquy/dist')
    await stat(join(dist, 'providers/static/word-vectors.bin'))
    await stat(join(dist, 'providers/openai/prompts/summarize.md'))
    await stat(join(dist, 'server/graphiql/browser.js'))
    const names = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith('.js') && !isThread(name))
    const awaiting = []
    for (const name of names) {
      if (/^(?:await |for await |(?:const|let) .* = await )/m.test(await readFile(join(dist, name), 'utf8')))
        awaiting.push(name)
    }
    expect(awaiting).toEqual([])
  })

  it('compiles strict programs without skipLibCheck, and runs them as ES modules and by require()', async () => {
    for (const extension of ['mts', 'cts']) {
      await writeFile(join(project, `program.${extension}`), PROGRAM)
      await writeFile(join(project, `client-program.${extension}`), CLIENT_PROGRAM)
    }
    await writeFile(join(project, 'page.mts'), PAGE)
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify(TSCONFIG))
    await writeFile(join(project, 'tsconfig.page.json'), JSON.stringify(PAGE_TSCONFIG))
    // The project installs only the package. React is an optional peer, and the Node types are those of this repository.
    for (const name of ['@types/node', 'undici-types', 'react', '@types/react', 'csstype']) {
      await cp(join(root, 'node_modules', name), join(project, 'node_modules', name), { recursive: true })
    }
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    await inProject(process.execPath, tsc, '-p', 'tsconfig.page.json')
    await inProject(process.execPath, tsc, '-p', '.')
    expect(await readFile(join(project, 'out/program.cjs'), 'utf8')).toContain('require("colloquy")')
    expect(await readFile(join(project, 'out/program.mjs'), 'utf8')).not.toContain('require("colloquy")')
    for (const extension of ['mjs', 'cjs']) {
      const printed = await inProject(process.execPath, ...SHORT_LIVED, join(project, `out/program.${extension}`))
      expect(JSON.parse(printed.trim().split('\n').at(-1)!)).toEqual(PRINTED)
      const ofClient = await inProject(
        process.execPath,
        ...SHORT_LIVED,
        join(project, `out/client-program.${extension}`),
      )
      expect(JSON.parse(ofClient.trim().split('\n').at(-1)!)).toEqual(CLIENT_PRINTED)
    }
  })

  it('answers a query from `npx colloquy`, and stops on SIGTERM', async () => {
    const server = spawn('npx', ['--no-install', 'colloquy'], {
      cwd: project,
      env: { ...process.env, PORT: '0', DATA_DIR: join(project, 'data'), DATABASE_URL: '', REDIS_URL: '' },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    })
    const url = await new Promise<string>((resolve, reject) => {
      server.once('exit', (code) => reject(new Error(`colloquy exited with ${code} before it was ready`)))
      createInterface({ input: server.stdout }).on('line', (line) => {
        const found = /"url":"([^"]+)"/.exec(line)?.[1]
        if (found) resolve(found)
      })
    })
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ __typename }' }),
    })
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } })
    server.removeAllListeners('exit')
    process.kill(-server.pid!, 'SIGTERM')
    await once(server, 'close') // npx exits before the server, which keeps the output open and DATA_DIR in use
  })
})
