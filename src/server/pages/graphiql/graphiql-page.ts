// Serves GraphiQL from this server alone: a small page at /graphiql, and its files, compressed and cached, below
// /graphiql/. The page runs no inline scripts, and its content security policy allows no other origin.

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { cachedFiles, createStaticFile, digestOf, IMMUTABLE, type Files, type StaticFile } from '../static-file.ts'
import { defaultHeaders, tabs } from './graphiql.ts'

/** Path of the page. Its files are below it. */
export const GRAPHIQL = '/graphiql'

/** Files that the editor Monaco starts as workers, by Monaco's label of the worker. */
const WORKERS = { editorWorkerService: 'editor.js', json: 'json.js', graphql: 'graphql.js' }

/** Directives of the content security policy. Monaco needs inline styles. */
export const GRAPHIQL_POLICY = {
  'worker-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'font-src': "'self' data:",
}

/** Returns the page. `base` is the path of the directory with its files. */
const htmlOf = (base: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>Colloquy GraphiQL</title>
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

/** Returns the page and its files by their paths. Those of the files contain a digest. */
async function createFiles(): Promise<Files> {
  // Imported only when the page is requested, because the package has 9 MB.
  const source = await import('@graphql-yoga/render-graphiql/graphiql')
  const own = (name: string) => readFile(new URL(`./assets/${name}`, import.meta.url), 'utf8')
  // The package does not export its build for browsers.
  const manifest = createRequire(import.meta.url).resolve('graphql-ws/package.json')
  const client = join(dirname(manifest), 'umd/graphql-ws.min.js')
  const contents: [name: string, content: string][] = [
    ['graphiql.css', source.css],
    ['browser.css', await own('browser.css')],
    ['tabs.js', await own('tabs.js')],
    ['token.js', await own('token.js')],
    ['browser.js', await own('browser.js')],
    ['graphql-ws.js', await readFile(client, 'utf8')],
    ['graphiql.js', source.js],
    [WORKERS.editorWorkerService, source.editorWorkerService],
    [WORKERS.json, source.jsonWorker],
    [WORKERS.graphql, source.graphqlWorker],
  ]
  const base = `${GRAPHIQL}/${digestOf(...contents.map(([, content]) => content))}/`
  const files = contents.map(([name, content]): [string, StaticFile] => [
    base + name,
    createStaticFile(name, content, IMMUTABLE),
  ])
  return new Map([[GRAPHIQL, createStaticFile('graphiql.html', htmlOf(base), 'no-cache')], ...files])
}

const allFiles = cachedFiles(createFiles)

/** Returns the page for /graphiql, or the file at `path`; undefined if there is no such file. */
export const readGraphiQL = async (path: string): Promise<StaticFile | undefined> => (await allFiles()).get(path)
