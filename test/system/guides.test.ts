// Runs the guides in docs/guides as they are written, each on a server of its own: writes their programs to files, runs
// their commands in order, and compares the output of each with the text below it.

import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type RunningServer } from '../../scripts/demo/server.ts'
import { backends, embedded, type Opened } from '../support/backend.ts'
import { blocks, patternOf, readDocument, type Block } from '../support/documents.ts'
import { onServer, runProgram, startProgram, writeModule } from '../support/programs.ts'

/** Returns the programs of a guide: the blocks that begin with a comment that names their file. */
const programsOf = (all: Block[]) =>
  all.flatMap(({ language, text }) => {
    const [, name] = /^\/\/ ([\w-]+\.mjs)\n/.exec(text) ?? []
    return language === 'js' && name ? [{ name, text }] : []
  })

/** Returns the commands of a guide that run its programs, in order, each block with the output below it. */
const stepsOf = (all: Block[]) =>
  all.flatMap(({ language, text }, index) =>
    language === 'sh' && text.startsWith('node ')
      ? [{ commands: text.trim().split('\n'), output: all[index + 1]!.text }]
      : [],
  )

/** Returns the environment variables with which a guide starts the server. */
const environmentOf = (all: Block[]) =>
  Object.fromEntries(
    all
      .filter(({ language, text }) => language === 'sh' && text.endsWith('npm start\n'))
      .flatMap(({ text }) => [...text.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name!, value!])),
  )

/** Runs the commands of a guide, after `adapt` has put the addresses of servers into the programs. */
async function runGuide(guide: string, all: Block[], adapt: (code: string) => string): Promise<void> {
  const files = new Map<string, string>()
  for (const { name, text } of programsOf(all)) {
    const code = adapt(text)
    expect(code).not.toBe(text)
    files.set(name, await writeModule(`${guide}/${name}`, code))
  }
  const running: ReturnType<typeof startProgram>[] = []
  const ran = new Set<string>()
  try {
    for (const { commands, output } of stepsOf(all)) {
      let printed = ''
      for (const command of commands) {
        const [, name, isBackground] = /^node ([\w-]+\.mjs)( &)?$/.exec(command)!
        ran.add(name!)
        if (isBackground) running.push(startProgram(files.get(name!)!))
        else printed += await runProgram(files.get(name!)!)
      }
      expect(printed).toMatch(patternOf(output))
    }
    expect([...ran].sort()).toEqual([...files.keys()].sort())
  } finally {
    for (const child of running) child.kill('SIGKILL')
    await rm(dirname([...files.values()][0]!), { recursive: true })
  }
}

describe.each(['several-agents', 'forgetting'])('docs/guides/%s.md', (guide) => {
  const all = blocks(readDocument(`docs/guides/${guide}.md`))
  let server: RunningServer
  beforeAll(async () => {
    server = await startServer(embedded, environmentOf(all))
  })
  afterAll(() => server.stop())

  it('has programs that print what it shows', () => runGuide(guide, all, (code) => onServer(code, server.url)))
})

const services = backends.find(({ name }) => name !== 'embedded')

describe.runIf(services)('docs/guides/several-processes.md (needs TEST_DATABASE_URL)', () => {
  const all = blocks(readDocument('docs/guides/several-processes.md'))
  let opened: Opened
  const servers: RunningServer[] = []
  beforeAll(async () => {
    opened = await services!.open()
  })
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()))
    await opened.close()
  })

  it('starts two processes, which share conversations, and of which one survives', async () => {
    const [start, ready] = all.filter(({ language }) => language === 'sh').map(({ text }) => text.trim().split('\n'))
    const ports = start!.map((command) => /^DATABASE_URL=\S+ REDIS_URL=\S+ PORT=(\d+) npm start$/.exec(command)![1]!)
    for (const _ of ports)
      servers.push(await startServer(embedded, { DATABASE_URL: opened.url!, REDIS_URL: opened.redisUrl! }))
    const adapt = (code: string) =>
      ports.reduce((text, port, index) => onServer(text, servers[index]!.url, `127.0.0.1:${port}`), code)
    for (const [url] of adapt(ready!.join()).matchAll(/http:\S+/g)) expect((await fetch(url)).status).toBe(200)

    const last = all.findLastIndex(({ text }) => text.startsWith('// '))
    await runGuide('several-processes', all.slice(0, last), adapt)
    await servers.shift()!.stop()
    await runGuide('several-processes', all.slice(last), (code) =>
      onServer(code, servers[0]!.url, `127.0.0.1:${ports[1]}`),
    )
  })
})
