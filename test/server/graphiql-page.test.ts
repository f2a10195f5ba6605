// GraphiQL as a browser loads it: only from this server, small, cached, and under a policy without inline scripts.

import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { backends } from '../support/backend.ts'
import { useServer } from '../support/server.ts'

const html = { accept: 'text/html' }

/** GETs without decompression. */
const get = (url: string, headers: Record<string, string>) =>
  new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
    request(url, { headers, agent: false }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(parts) }),
      )
    })
      .on('error', reject)
      .end()
  })

describe('GraphiQL', () => {
  const server = useServer(backends[0]!)

  test('loads from this server only, at most 3 MB, compressed and cached', async () => {
    const page = await get(`${server.url}/graphql`, html)
    const text = String(page.body)
    const paths = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path!)
    expect(paths.map((path) => path.split('/').pop())).toEqual(['graphiql.css', 'graphiql.js'])
    const directory = paths[0]!.replace('graphiql.css', '')
    paths.push(...['editor.js', 'json.js', 'graphql.js'].map((name) => directory + name))
    let bytes = page.body.length
    for (const path of paths) {
      const file = await get(server.url + path, { 'accept-encoding': 'gzip, br' })
      expect(file.status).toBe(200)
      expect(file.headers).toMatchObject({
        'content-encoding': 'gzip',
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      })
      bytes += file.body.length
    }
    expect(bytes).toBeLessThan(3_000_000)
    const script = String((await get(server.url + paths[1], {})).body)
    // A line break does not end a statement before a parenthesis.
    expect(script).not.toMatch(/[^;{}\s]\s*\n\(function|\}\s*\n\(function/)
    expect(script).toMatch(/^const workers = .*;\nself\.MonacoEnvironment = .*;\n\(function/)
    const plain = await get(server.url + paths[0], {})
    expect(plain.headers['content-encoding']).toBeUndefined()
    expect(plain.body.length).toBeGreaterThan(500_000)
    expect((await get(`${server.url}/graphiql/elsewhere.js`, {})).status).toBe(404)
  })

  test('runs no inline script, and cannot be framed', async () => {
    const { headers, body } = await get(`${server.url}/graphql`, html)
    const policy = String(headers['content-security-policy'])
    const directives = Object.fromEntries(policy.split('; ').map((each) => each.split(/ (.*)/)))
    expect(directives).toMatchObject({ 'default-src': "'none'", 'script-src': "'self'", 'frame-ancestors': "'none'" })
    expect(policy.replace(/ws:\/\/\S+|wss:\/\/\S+/g, '')).not.toMatch(/https?:|\*|unsafe-eval/)
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' })
    for (const [script] of String(body).matchAll(/<script[^>]*>/g)) {
      expect(script).toMatch(/ src="\/|type="application\/json"/)
    }
    expect(String(body)).not.toMatch(/ on\w+="/)
    const [, options] = /id="options">(.*)<\/script>/.exec(String(body))!
    expect(JSON.parse(options!)).toMatchObject({ title: 'Colloquy', subscriptionsProtocol: 'WS' })
  })
})

describe('GraphiQL, when disabled,', () => {
  const server = useServer(backends[0]!, { GRAPHIQL: '0' })

  test('is not served', async () => {
    const page = await get(`${server.url}/graphql`, html)
    expect(page.status).toBe(406)
    expect((await get(`${server.url}/graphiql/graphiql.js`, {})).status).toBe(404)
  })
})
