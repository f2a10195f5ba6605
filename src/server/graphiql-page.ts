// Serves GraphiQL from this server alone: a small page at /graphql, and its files, compressed and cached, below
// /graphiql/. The page runs no inline scripts, and its content security policy allows no other origin.

import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { tabs } from './graphiql.ts'

/** Path below which the files are served. */
export const GRAPHIQL_PATH = '/graphiql/'

type File = { type: string; compressed: Buffer }
type Page = { html: string; files: Map<string, File> }

const SCRIPT = 'text/javascript; charset=utf-8'
/** Files that Monaco starts as workers, by the label that it passes. */
const WORKERS = { editorWorkerService: 'editor.js', json: 'json.js', graphql: 'graphql.js' }

const OPTIONS = JSON.stringify({ title: 'Colloquy', subscriptionsProtocol: 'WS', defaultTabs: tabs }).replaceAll(
  '<',
  '\\u003c',
)

const htmlOf = (base: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Colloquy</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${base}graphiql.css">
  </head>
  <body id="body" class="no-focus-outline">
    <noscript>You need to enable JavaScript to run this app.</noscript>
    <div id="root"></div>
    <script type="application/json" id="options">${OPTIONS}</script>
    <script src="${base}graphiql.js"></script>
  </body>
</html>
`

/** Compresses the files of the package. The path of each contains a digest, so browsers may cache it for a year. */
async function createPage(): Promise<Page> {
  // Imported here, because the package is 9 MB.
  const source = await import('@graphql-yoga/render-graphiql/graphiql')
  const { css, js, editorWorkerService, jsonWorker, graphqlWorker } = source
  const base = `${GRAPHIQL_PATH}${createHash('sha256').update(js).update(css).digest('base64url').slice(0, 16)}/`
  // Each statement ends with a semicolon, because the script of the package begins with a parenthesis.
  const app = `const workers = ${JSON.stringify(WORKERS)};
self.MonacoEnvironment = { globalAPI: false, getWorkerUrl: (_, label) => ${JSON.stringify(base)} + workers[label] };
${js};
YogaGraphiQL.renderYogaGraphiQL(document.querySelector('#root'), JSON.parse(document.querySelector('#options').textContent));
`
  const contents: [name: string, type: string, content: string][] = [
    ['graphiql.css', 'text/css; charset=utf-8', css],
    ['graphiql.js', SCRIPT, app],
    [WORKERS.editorWorkerService, SCRIPT, editorWorkerService],
    [WORKERS.json, SCRIPT, jsonWorker],
    [WORKERS.graphql, SCRIPT, graphqlWorker],
  ]
  const files = contents.map(async ([name, type, content]): Promise<[string, File]> => [
    base + name,
    { type, compressed: await promisify(gzip)(content, { level: 9 }) },
  ])
  return { html: htmlOf(base), files: new Map(await Promise.all(files)) }
}

let page: Promise<Page> | null = null

const HEADERS = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }

/** The policy of the page. Monaco needs inline styles; a WebSocket of the same origin is named for older browsers. */
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

/** Responds with the page for /graphql, or with the file at `path`; returns false if there is no such file. */
export async function answerGraphiQL(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<boolean> {
  const { html, files } = await (page ??= createPage())
  if (path === '/graphql') {
    const { host } = new URL(`http://${request.headers.host}`)
    response.writeHead(200, {
      ...HEADERS,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policyOf(host),
      'cache-control': 'no-cache',
    })
    response.end(html)
    return true
  }
  const file = files.get(path)
  if (!file) return false
  const isCompressed = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
  const body = isCompressed ? file.compressed : await promisify(gunzip)(file.compressed)
  response.writeHead(200, {
    ...HEADERS,
    'content-type': file.type,
    'content-length': body.length,
    ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
    vary: 'accept-encoding',
    'cache-control': 'public, max-age=31536000, immutable',
  })
  response.end(request.method === 'HEAD' ? undefined : body)
  return true
}
