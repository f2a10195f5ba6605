// Tests the packages as their users install them: packed, installed into an empty project, compiled, bundled, and used as
// a library, a client and a command. Runs only with LONG=1, because it takes a minute and uses the package registry.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type RunningServer } from '../../scripts/demo/server.ts'
import { embedded } from '../support/backend.ts'
import { isLong } from '../support/long.ts'
import { SHORT_LIVED } from '../support/short-lived.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

/** Maximum size of node_modules with the server's package, in MiB. */
const MAX_MIB = 240
/** Maximum size of a page with the client and a hook, minified and compressed, in bytes. */
const MAX_PAGE = 19_000

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

/**
 * A program that uses the client and the hooks, from the package of the server or from that of the client, on the
 * server at COLLOQUY_URL.
 */
const clientProgram = (client: string, react: string) => `
import { ColloquyError, connect, possibleTypes, resuming, type Client, type FollowedEvent, type Turn } from '${client}'
import { ColloquyProvider, useConversation, useInbox, useTranscript } from '${react}'
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
  const client = connect({ url: process.env.COLLOQUY_URL!, tenant: process.env.TENANT!, actor: 'ada' })
  const { id } = await client.createConversation({ key: 'greeting' })
  await client.conversation(id).append('Good morning.')
  const turn: Turn = await client.conversation({ key: 'greeting' }).write(words())
  const code = await client.conversation('conv_unknown').append('x').catch((error: ColloquyError) => error.code)
  const seen = await follow(client, id)
  const element = createElement(ColloquyProvider, { client }, createElement(Chat, { id }))
  await client.close()
  const { length } = possibleTypes.UserError!
  // The project does not install the AI SDK, whose types the module imports.
  const module: string = '${client.replace('/client', '')}/ai-sdk'
  const { createChatTransport } = await import(module)
  console.log(JSON.stringify({
    text: turn.text, code, seen, hasErrors: length > 3, resuming: typeof resuming, props: Object.keys(element.props),
    transport: typeof createChatTransport({ client }).follow,
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
  transport: 'function',
}

/** A page that uses the client and the hooks, compiled with the types of browsers and without those of Node. */
const pageOf = (client: string, react: string) => `
import { connect } from '${client}'
import { useTranscript } from '${react}'
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
  include: ['*program.*'],
}
const PAGE_TSCONFIG = {
  compilerOptions: { ...TSCONFIG.compilerOptions, lib: ['es2023', 'dom'], types: [], noEmit: true },
  files: ['page.mts'],
}

/** Whether only worker threads load the module, which may therefore contain top-level await. */
const isThread = (name: string) => /(^|[/-])worker\.js$/.test(name)

/** Environment variables of the client's programs: the address of a server, and a tenant. */
const clientEnv: Record<string, string> = {}

/** A project of a user. */
type Project = { directory: string; run(program: string, ...args: string[]): Promise<string>; remove(): Promise<void> }

/** Packs a package of the repository, and installs it in an empty project. `packing` selects the package. */
async function createProject(...packing: string[]): Promise<{ project: Project; installed: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'colloquy-package-'))
  const project: Project = {
    directory,
    run: async (program, ...args) =>
      (await run(program, args, { cwd: directory, maxBuffer: 64 * 1024 * 1024, env: { ...process.env, ...clientEnv } }))
        .stdout,
    remove: () => rm(directory, { recursive: true, force: true }),
  }
  const packed = await run('npm', ['pack', '--json', '--silent', ...packing, '--pack-destination', directory], {
    cwd: root,
  })
  const tarball = (await readdir(directory)).find((name) => name.endsWith('.tgz'))
  expect(tarball, packed.stdout).toBeDefined()
  await writeFile(join(directory, 'package.json'), JSON.stringify({ name: 'consumer', private: true }))
  const options = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel', 'notice']
  const { stdout, stderr } = await run('npm', ['install', ...options, `./${tarball}`], { cwd: directory })
  // The project installs only the package. React is an optional peer, and the Node types are those of this repository.
  for (const name of ['@types/node', 'undici-types', 'react', '@types/react', 'csstype']) {
    await cp(join(root, 'node_modules', name), join(directory, 'node_modules', name), { recursive: true })
  }
  return { project, installed: stdout + stderr }
}

const modules = (project: Project) => join(project.directory, 'node_modules')
const write = (project: Project, name: string, text: string) => writeFile(join(project.directory, name), text)

/** Compiles the client's programs in the project, with all others there, and runs them. */
async function expectClientWorks(project: Project, client: string, react: string): Promise<void> {
  for (const extension of ['mts', 'cts'])
    await write(project, `client-program.${extension}`, clientProgram(client, react))
  await write(project, 'page.mts', pageOf(client, react))
  await write(project, 'tsconfig.json', JSON.stringify(TSCONFIG))
  await write(project, 'tsconfig.page.json', JSON.stringify(PAGE_TSCONFIG))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  await project.run(process.execPath, tsc, '-p', 'tsconfig.page.json')
  await project.run(process.execPath, tsc, '-p', '.')
  for (const extension of ['mjs', 'cjs']) {
    clientEnv.TENANT = `${client.replace('/', '-')}-${extension}`
    const printed = await project.run(process.execPath, ...SHORT_LIVED, `out/client-program.${extension}`)
    expect(JSON.parse(printed)).toEqual(CLIENT_PRINTED)
  }
}

/** Bundles the page of the project for browsers. Returns its size, minified and compressed, and the bundled packages. */
async function bundlePage(project: Project): Promise<{ bytes: number; packages: string[] }> {
  const { outputFiles, metafile } = await build({
    entryPoints: ['page.mts'],
    absWorkingDir: project.directory,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    external: ['react'],
  })
  const packages = Object.keys(metafile.inputs).flatMap(
    (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
  )
  return { bytes: gzipSync(outputFiles[0]!.contents, { level: 9 }).length, packages: [...new Set(packages)] }
}

describe.runIf(isLong)('the packages (need LONG=1)', () => {
  let server: RunningServer
  beforeAll(async () => {
    server = await startServer(embedded)
    clientEnv.COLLOQUY_URL = server.url
  })
  afterAll(() => server.stop())

  describe('of the client', () => {
    let project: Project
    let installed: string
    beforeAll(async () => void ({ project, installed } = await createProject('--workspace', 'colloquy-client')))
    afterAll(() => project.remove())

    it('is installed alone, without a warning', () => {
      expect(installed.trim()).toMatch(/^added 1 package in \d+(ms|s|m)$/)
    })

    it('has the version of the server, and the types and files to which its maps refer', async () => {
      const manifest = async (directory: string) => JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'))
      const directory = join(modules(project), 'colloquy-client')
      const { version, engines, peerDependencies } = await manifest(root)
      const own = await manifest(directory)
      expect(own).toMatchObject({
        version,
        engines,
        peerDependencies: { ai: peerDependencies.ai, react: peerDependencies.react },
      })
      expect(own).not.toHaveProperty('dependencies')
      const names = await readdir(directory, { recursive: true })
      const maps = names.filter((name) => name.endsWith('.map'))
      for (const name of ['index.js', 'index.d.ts']) expect(maps).toContain(`dist/client/${name}.map`)
      for (const map of maps) {
        const { sources } = JSON.parse(await readFile(join(directory, map), 'utf8')) as { sources: string[] }
        for (const source of sources) await stat(join(directory, map, '..', source))
      }
    })

    it('compiles strict programs without skipLibCheck, and runs them as ES modules and by require()', () =>
      expectClientWorks(project, 'colloquy-client', 'colloquy-client/react'))

    it('is bundled for browsers without other packages', async () => {
      const { bytes, packages } = await bundlePage(project)
      expect(packages).toEqual(['colloquy-client'])
      expect(bytes).toBeLessThan(MAX_PAGE)
    })
  })

  describe('of the server', () => {
    let project: Project
    let installed: string
    beforeAll(async () => void ({ project, installed } = await createProject()))
    afterAll(() => project.remove())

    it('is installed without a warning', () => {
      expect(installed.trim()).toMatch(/^added \d+ packages in \d+(ms|s|m)$/)
    })

    it(`takes at most ${MAX_MIB} MiB installed, without the Prisma CLI, tsx or a compiler`, async () => {
      const installed = modules(project)
      for (const name of ['prisma', 'tsx', 'typescript', 'esbuild']) {
        await expect(stat(join(installed, name)), name).rejects.toThrow('ENOENT')
      }
      const kib = Number((await project.run('du', '-sk', installed)).split('\t')[0])
      expect(kib / 1024).toBeLessThanOrEqual(MAX_MIB)
    })

    it('contains the files it reads at run time, and no top-level await, which require() cannot load', async () => {
      const dist = join(modules(project), 'colloquy/dist')
      await stat(join(dist, 'text/word-vectors.bin'))
      await stat(join(dist, 'providers/openai/prompts/summarize.md'))
      await stat(join(dist, 'server/pages/graphiql/assets/browser.js'))
      await stat(join(dist, 'server/pages/web/index.html'))
      const names = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith('.js') && !isThread(name))
      const awaiting = []
      for (const name of names) {
        if (/^(?:await |for await |(?:const|let) .* = await )/m.test(await readFile(join(dist, name), 'utf8')))
          awaiting.push(name)
      }
      expect(awaiting).toEqual([])
    })

    it('compiles strict programs without skipLibCheck, and runs them as ES modules and by require()', async () => {
      for (const extension of ['mts', 'cts']) await write(project, `program.${extension}`, PROGRAM)
      await expectClientWorks(project, 'colloquy/client', 'colloquy/react')
      const compiled = (name: string) => readFile(join(project.directory, 'out', name), 'utf8')
      expect(await compiled('program.cjs')).toContain('require("colloquy")')
      expect(await compiled('program.mjs')).not.toContain('require("colloquy")')
      for (const extension of ['mjs', 'cjs']) {
        const printed = await project.run(process.execPath, ...SHORT_LIVED, `out/program.${extension}`)
        expect(JSON.parse(printed.trim().split('\n').at(-1)!)).toEqual(PRINTED)
      }
    })

    it('contains the same client, for browsers too', async () => {
      const { bytes, packages } = await bundlePage(project)
      expect(packages).toEqual(['colloquy'])
      expect(bytes).toBeLessThan(MAX_PAGE)
    })

    it('answers a query from `npx colloquy`, and stops on SIGTERM', async () => {
      const server = spawn('npx', ['--no-install', 'colloquy'], {
        cwd: project.directory,
        env: { ...process.env, PORT: '0', DATA_DIR: join(project.directory, 'data'), DATABASE_URL: '', REDIS_URL: '' },
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
      const page = await fetch(url, { headers: { accept: 'text/html' } })
      const [script] = /\/graphiql\/[^"]*graphiql\.js/.exec(await page.text())!
      expect((await (await fetch(new URL(script, url))).text()).length).toBeGreaterThan(1_000_000)
      const initialize = {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1.0.0' } },
      }
      const initialized = await fetch(new URL('/mcp', url), {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'x-actor': 'ada',
        },
        body: JSON.stringify(initialize),
      })
      expect(await initialized.text()).toContain('"protocolVersion":"2025-06-18"')
      server.removeAllListeners('exit')
      process.kill(-server.pid!, 'SIGTERM')
      await once(server, 'close') // npx exits before the server, which keeps the output open and DATA_DIR in use
    })
  })
})
