// GraphiQL as a browser loads it: only from this server, small, cached, and under a policy without inline scripts.

import { describe, expect, test } from 'vitest'
import { tabs } from '../../../../../src/server/pages/graphiql/graphiql.ts'
import { embedded } from '../../../../support/backend.ts'
import { getPage as get } from '../../../../support/get-page.ts'
import { useServer } from '../../../../support/server.ts'

const html = { accept: 'text/html' }

describe('GraphiQL', () => {
  const server = useServer(embedded)

  test('loads from this server only, at most 3 MB, compressed and cached', async () => {
    const page = await get(`${server.url}/graphiql`, html)
    const text = String(page.body)
    const paths = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path!)
    expect(paths.map((path) => path.split('/').pop())).toEqual([
      ...['graphiql.css', 'browser.css', 'tabs.js', 'token.js', 'browser.js', 'graphql-ws.js', 'graphiql.js'],
    ])
    const directory = paths[0]!.replace('graphiql.css', '')
    paths.push(...['editor.js', 'json.js', 'graphql.js'].map((name) => directory + name))
    let bytes = 0
    for (const path of ['/graphiql', ...paths]) {
      const file = await get(server.url + path, { ...html, 'accept-encoding': 'gzip, br' })
      expect(file.status).toBe(200)
      expect(file.headers).toMatchObject({
        'content-encoding': 'br',
        'cache-control': path === '/graphiql' ? 'no-cache' : 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      })
      bytes += file.body.length
      const again = await get(server.url + path, { ...html, 'if-none-match': String(file.headers.etag) })
      expect(again.status).toBe(304)
      expect(again.body.length).toBe(0)
      expect(again.headers.etag).toBe(file.headers.etag)
      expect((await get(server.url + path, { ...html, 'if-none-match': 'W/"older", *' })).status).toBe(304)
      expect((await get(server.url + path, { ...html, 'if-none-match': 'W/"older"' })).status).toBe(200)
    }
    expect(bytes).toBeLessThan(3_000_000)
    const plain = await get(server.url + paths[0], {})
    expect(plain.headers['content-encoding']).toBeUndefined()
    expect(plain.body.length).toBeGreaterThan(500_000)
    expect((await get(`${server.url}/graphiql/elsewhere.js`, {})).status).toBe(404)
  })

  test('is where a browser gets to that opens the endpoint', async () => {
    const { status, headers } = await get(`${server.url}/graphql`, html)
    expect({ status, location: headers.location }).toEqual({ status: 302, location: '/graphiql' })
  })

  test('runs no inline script, and cannot be framed', async () => {
    const { headers, body } = await get(`${server.url}/graphiql`, html)
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
    expect(JSON.parse(options!).tabs).toHaveLength(tabs.length)
  })
})

describe('GraphiQL, when disabled,', () => {
  const server = useServer(embedded, { GRAPHIQL: '0' })

  test('is not served', async () => {
    expect((await get(`${server.url}/graphiql`, html)).status).toBe(404)
    expect((await get(`${server.url}/graphiql/graphiql.js`, {})).status).toBe(404)
    expect((await get(`${server.url}/graphql`, html)).status).toBe(406)
  })
})
