// The bus over TLS: rediss:// verifies the certificate, and trusts an authority named by NODE_EXTRA_CA_CERTS.

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)
const url = process.env.TEST_REDIS_URL ?? ''
const source = (name: string) => JSON.stringify(new URL(`../../../src/bus/${name}`, import.meta.url).href)
const root = fileURLToPath(new URL('../../..', import.meta.url))

/** A program that publishes to itself over the bus, and prints the message or the error. */
const PROGRAM = `
  import { createRedisBus } from ${source('redis.ts')}
  import { redisConnector } from ${source('redis-client.ts')}
  const quiet = { info() {}, error() {}, warn: ({ reason }) => console.log(reason) }
  const bus = await createRedisBus(redisConnector(process.env.BUS_URL, quiet), quiet)
  await bus.subscribe('tls', (message) => console.log(message))
  bus.publish('tls', 'over TLS')
  setTimeout(() => process.exit(), 500)
`

describe.skipIf(!url)('the bus over TLS (needs TEST_REDIS_URL)', () => {
  let directory: string
  let certificate: string
  let proxy: ReturnType<typeof createServer>
  let secure: string

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'colloquy-tls-'))
    certificate = join(directory, 'certificate.pem')
    const key = join(directory, 'key.pem')
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
    const output = ['-nodes', '-days', '2', '-keyout', key, '-out', certificate]
    await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', ...output, ...subject])
    const { hostname, port } = new URL(url)
    proxy = createServer({ key: await readFile(key), cert: await readFile(certificate) }, (client) => {
      const redis = connect(Number(port), hostname)
      client.pipe(redis).pipe(client)
      for (const socket of [client, redis]) socket.on('error', () => socket.destroy())
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    secure = `rediss://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    proxy?.close()
    await rm(directory, { recursive: true })
  })

  const runProgram = async (env: Record<string, string>) =>
    (
      await run(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', PROGRAM], {
        cwd: root,
        env: { ...process.env, BUS_URL: secure, ...env },
      })
    ).stdout.trim()

  test('delivers messages', async () => {
    expect(await runProgram({ NODE_EXTRA_CA_CERTS: certificate })).toBe('over TLS')
  })

  test('rejects a server whose certificate is not trusted', async () => {
    expect(await runProgram({})).toBe('self-signed certificate')
  })
})
