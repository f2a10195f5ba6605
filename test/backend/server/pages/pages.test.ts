// The answers to requests for `/`: the web app for browsers, small, cached, and under a strict policy; the paths of the
// server for other clients.

import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { embedded } from '../../../support/backend.ts'
import { getPage as get } from '../../../support/get-page.ts'
import { useServer } from '../../../support/server.ts'

/** Maximum size of what a browser loads before it shows the page, compressed, in bytes: 160 KiB. */
const MAX_FIRST_LOAD = 160 * 1024

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const PATHS = { name: 'colloquy', paths: { graphql: '/graphql', health: '/health', ready: '/ready' } }
const filesIn = (page: string) => [...page.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path!)

describe('/', () => {
  const server = useServer(embedded)

  test('is the web app for browsers, at most 160 KiB compressed, whose files are cached for a year', async () => {
    const page = await get(`${server.url}/?from=bookmark`, { ...html, 'accept-encoding': 'gzip, br' })
    expect(page.headers).toMatchObject({ 'cache-control': 'no-cache', vary: 'accept, accept-encoding' })
    const text = String(brotliDecompressSync(page.body))
    const paths = filesIn(text)
    const names = new Set(paths.map((path) => path.replace(/-[A-Z0-9]{8}/, '')))
    expect([...names].sort()).toEqual(['/web/chunk.js', '/web/main.css', '/web/main.js'])
    let bytes = page.body.length
    for (const path of paths) {
      const file = await get(server.url + path, { 'accept-encoding': 'gzip, br' })
      expect(file.headers).toMatchObject({
        'content-encoding': 'br',
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
      })
      bytes += file.body.length
      const again = await get(server.url + path, { 'if-none-match': String(file.headers.etag) })
      expect([again.status, again.body.length]).toEqual([304, 0])
      const plain = await get(server.url + path, { 'accept-encoding': 'br;q=0, identity' })
      expect(plain.headers['content-encoding']).toBeUndefined()
      expect(plain.body).toEqual(brotliDecompressSync(file.body))
      expect(gunzipSync((await get(server.url + path, { 'accept-encoding': 'gzip' })).body)).toEqual(plain.body)
    }
    expect(bytes).toBeLessThan(MAX_FIRST_LOAD)
    expect(bytes).toBeGreaterThan(MAX_FIRST_LOAD / 4)
  })

  test.each([
    ['br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['br;q=1', 'br'],
    ['br;q=0.9, gzip;q=0.8', 'br'],
    ['br ; q=0.5', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0.0, gzip;q=0.001', 'gzip'],
    ['br;q=0.000', undefined],
    ['gzip;q=0', undefined],
    ['brotli, x-gzip', undefined],
    ['', undefined],
  ])('is encoded for a browser that accepts "%s" as %s', async (accepted, encoding) => {
    const { headers } = await get(`${server.url}/`, { ...html, 'accept-encoding': accepted })
    expect(headers['content-encoding']).toBe(encoding)
  })

  test('names GraphiQL', async () => {
    expect(String((await get(`${server.url}/`, html)).body)).toContain('<meta name="graphiql" content="/graphiql" />')
  })

  test('runs only the scripts of the server, and no HTML that is not sanitized', async () => {
    const { headers, body } = await get(`${server.url}/`, html)
    const policy = Object.fromEntries(
      String(headers['content-security-policy'])
        .split('; ')
        .map((each) => each.split(/ (.*)/)),
    )
    const { host } = new URL(server.url)
    expect(policy).toMatchObject({
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': "'self'",
      'connect-src': `'self' ws://${host} wss://${host}`,
      'frame-ancestors': "'none'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'require-trusted-types-for': "'script'",
      'trusted-types': 'dompurify',
    })
    expect(String(body)).not.toMatch(/<script(?![^>]* src="\/)|<style| on\w+="| style="/)
  })

  test('has only the files of the build', async () => {
    for (const path of [
      '/web/',
      '/web/index.html',
      '/web/../package.json',
      '/web/main.js',
      '/web/%2e%2e/static-file.ts',
    ])
      expect((await get(server.url + path, {})).status, path).toBe(404)
  })

  test('returns the paths of the server to other clients', async () => {
    const { status, headers, body } = await get(`${server.url}/`, { accept: '*/*' })
    expect([status, headers['content-type'], headers.vary]).toEqual([200, 'application/json; charset=utf-8', 'accept'])
    expect(JSON.parse(String(body))).toEqual(PATHS)
    expect(String(body)).toMatch(/\n$/)
    const head = await fetch(`${server.url}/`, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect((await fetch(`${server.url}/`, { method: 'POST' })).status).toBe(404)
  })
})

describe('without the web app, /', () => {
  const server = useServer(embedded, { WEB_APP: '0' })

  test('redirects browsers to GraphiQL', async () => {
    const { status, headers } = await get(`${server.url}/`, html)
    expect({ status, location: headers.location }).toEqual({ status: 302, location: '/graphiql' })
  })
})

describe('without GraphiQL, /', () => {
  const server = useServer(embedded, { GRAPHIQL: '0' })

  test('is a page with a tag of its own that does not name it', async () => {
    const page = await get(`${server.url}/`, html)
    expect(String(page.body)).not.toContain('/graphiql')
    const again = await get(`${server.url}/`, { ...html, 'if-none-match': String(page.headers.etag) })
    expect(again.status).toBe(304)
  })
})

describe('without the web app and GraphiQL, /', () => {
  const server = useServer(embedded, { WEB_APP: '0', GRAPHIQL: '0' })

  test('returns the paths of the server to browsers, too', async () => {
    const { status, body } = await get(`${server.url}/`, html)
    expect([status, JSON.parse(String(body))]).toEqual([200, PATHS])
  })
})
