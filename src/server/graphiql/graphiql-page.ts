// Serves GraphiQL from this server alone: a small page at /graphql, and its files, compressed and cached, below
// /graphiql/. The page runs no inline scripts, and its content security policy allows no other origin.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { defaultHeaders, tabs } from './graphiql.ts'

/** Path below which the files are served. */
export const GRAPHIQL_PATH = '/graphiql/'

type File = { type: string; cacheControl: string; etag: string; compressed: Buffer }

const SCRIPT = 'text/javascript; charset=utf-8'
const STYLE = 'text/css; charset=utf-8'
/** Files that the editor Monaco starts as workers, by Monaco's label of the worker. */
const WORKERS = { editorWorkerService: 'editor.js', json: 'json.js', graphql: 'graphql.js' }

/** Returns the page. `base` is the path of the directory with its files. */
const htmlOf = (base: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>Colloquy</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${base}graphiql.css">
    <link rel="stylesheet" href="${base}browser.css">
  </head>
  <body id="body" class="no-focus-outline">
    <noscript>You need to enable JavaScript to run this app.</noscript>
    <div id="root"></div>
    <section id="live" class="graphiql-container" aria-label="Live subscriptions" hidden></section>
    <script type="application/json" id="options">${JSON.stringify({ tabs, defaultHeaders, workers: WORKERS, base }).replaceAll('<', '\\u003c')}</script>
    <script src="${base}tabs.js"></script>
    <script src="${base}token.js"></script>
    <script src="${base}browser.js"></script>
    <script src="${base}graphql-ws.js"></script>
    <script src="${base}graphiql.js"></script>
  </body>
</html>
`

const digestOf = (...texts: string[]) => createHash('sha256').update(texts.join('\0')).digest('base64url').slice(0, 16)

async function createFile(type: string, cacheControl: string, content: string): Promise<File> {
  const compressed = await promisify(gzip)(content, { level: 9 })
  // The tag is weak, because the compressed and the plain file have the same tag.
  return { type, cacheControl, etag: `W/"${digestOf(content)}"`, compressed }
}

/** Compresses the page and its files. The path of each file contains a digest, so browsers may cache it for a year. */
async function createFiles(): Promise<Map<string, File>> {
  // Imported only when the page is requested, because the package has 9 MB.
  const source = await import('@graphql-yoga/render-graphiql/graphiql')
  const own = (name: string) => readFile(new URL(`./assets/${name}`, import.meta.url), 'utf8')
  // The package does not export its build for browsers.
  const manifest = createRequire(import.meta.url).resolve('graphql-ws/package.json')
  const client = join(dirname(manifest), 'umd/graphql-ws.min.js')
  const contents: [name: string, type: string, content: string][] = [
    ['graphiql.css', STYLE, source.css],
    ['browser.css', STYLE, await own('browser.css')],
    ['tabs.js', SCRIPT, await own('tabs.js')],
    ['token.js', SCRIPT, await own('token.js')],
    ['browser.js', SCRIPT, await own('browser.js')],
    ['graphql-ws.js', SCRIPT, await readFile(client, 'utf8')],
    ['graphiql.js', SCRIPT, source.js],
    [WORKERS.editorWorkerService, SCRIPT, source.editorWorkerService],
    [WORKERS.json, SCRIPT, source.jsonWorker],
    [WORKERS.graphql, SCRIPT, source.graphqlWorker],
  ]
  const base = `${GRAPHIQL_PATH}${digestOf(...contents.map(([, , content]) => content))}/`
  const files = contents.map(async ([name, type, content]): Promise<[string, File]> => [
    base + name,
    await createFile(type, 'public, max-age=31536000, immutable', content),
  ])
  const page = await createFile('text/html; charset=utf-8', 'no-cache', htmlOf(base))
  return new Map([['/graphql', page], ...(await Promise.all(files))])
}

let allFiles: Promise<Map<string, File>> | null = null

const HEADERS = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }

/**
 * Returns the content security policy of the page. Monaco needs inline styles. The WebSocket URLs of the same origin
 * are listed for older browsers, in which 'self' does not include them.
 */
const policyOf = (host: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "worker-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    `connect-src 'self' ws://${host} wss://${host}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/** Whether the request asks for the page: GET with `text/html` in Accept. */
export const asksForGraphiQL = ({ method, headers }: IncomingMessage) =>
  method === 'GET' && headers.accept?.includes('text/html') === true

/** Whether the client already has the file, according to the tags in If-None-Match. */
const hasFile = (tags: string | undefined, { etag }: File) =>
  tags?.split(',').some((tag) => tag.trim() === '*' || tag.trim() === etag) === true

/** Responds with the page for /graphql, or with the file at `path`; returns false if there is no such file. */
export async function answerGraphiQL(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<boolean> {
  const file = (await (allFiles ??= createFiles())).get(path)
  if (!file) return false
  const { headers, method } = request
  const { host } = new URL(`http://${headers.host}`)
  const cached = {
    ...HEADERS,
    etag: file.etag,
    vary: path === '/graphql' ? 'accept, accept-encoding' : 'accept-encoding',
    'cache-control': file.cacheControl,
    ...(path === '/graphql' ? { 'content-security-policy': policyOf(host) } : {}),
  }
  if (hasFile(headers['if-none-match'], file)) {
    response.writeHead(304, cached).end()
    return true
  }
  const isCompressed = /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))
  const body = isCompressed ? file.compressed : await promisify(gunzip)(file.compressed)
  response.writeHead(200, {
    ...cached,
    'content-type': file.type,
    'content-length': body.length,
    ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
  })
  response.end(method === 'HEAD' ? undefined : body)
  return true
}

/** Answers a request for `/`: redirects a browser to GraphiQL, and sends any other client the paths of the server. */
export function answerRoot(request: IncomingMessage, response: ServerResponse, hasGraphiQL: boolean): void {
  if (hasGraphiQL && asksForGraphiQL(request)) {
    return void response.writeHead(302, { ...HEADERS, location: '/graphql', vary: 'accept' }).end()
  }
  const paths = { graphql: '/graphql', health: '/health', ready: '/ready' }
  const body = `${JSON.stringify({ name: 'colloquy', paths })}\n`
  response.writeHead(200, {
    ...HEADERS,
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
    vary: 'accept',
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
