// `colloquy doctor` on the embedded database, in processes: one that does not exist, one that is stopped, and one that a
// running server has open.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { newDataDir } from '../support/backend.ts'
import { SHORT_LIVED, START } from '../support/short-lived.ts'

type Found = { check: string; state: string; message: string }

function start(env: Record<string, string>, args: string[]) {
  const child = spawn(process.execPath, [...SHORT_LIVED, START, ...args], {
    env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child.stdout.setEncoding('utf8')
  return child
}

/** Runs the command, which must succeed. */
async function doctor(env: Record<string, string>): Promise<Found[]> {
  const child = start(env, ['doctor', '--json'])
  const [output, [code]] = await Promise.all([child.stdout.toArray(), once(child, 'close')])
  expect(code).toBe(0)
  return JSON.parse(output.join('')) as Found[]
}

it('inspects the embedded database, and asks the server that has it open', async () => {
  const DATA_DIR = await newDataDir()
  onTestFinished(() => rm(DATA_DIR, { recursive: true }))
  const stopped = await doctor({ DATA_DIR })
  expect(stopped.filter(({ state }) => state === 'failure')).toEqual([])
  expect(stopped.find(({ check }) => check === 'migrations')).toMatchObject({ message: 'all are applied' })
  expect(stopped.map(({ check }) => check)).toEqual(expect.arrayContaining(['disk', 'vector', 'isolation', 'jobs']))

  const server = start({ DATA_DIR }, [])
  onTestFinished(async () => {
    server.kill('SIGTERM')
    await once(server, 'exit')
  })
  let url = ''
  for await (const text of server.stdout) {
    url = /ready on (http:[^"]*)\/graphql/.exec(String(text))?.[1] ?? url
    if (url) break
  }
  const running = await doctor({ DATA_DIR, PORT: new URL(url).port })
  expect(running.find(({ check }) => check === 'database')!.message).toBe(`embedded, open in process ${server.pid}`)
  expect(running.find(({ check }) => check === 'server')).toMatchObject({ state: 'ok' })
})

it('does not create a database that does not exist', async () => {
  const DATA_DIR = join(process.env.TMPDIR!, 'doctor-none')
  const found = await doctor({ DATA_DIR })
  expect(found.find(({ check }) => check === 'database')).toMatchObject({ state: 'ok' })
  expect(existsSync(DATA_DIR)).toBe(false)
})
