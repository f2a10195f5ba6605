// Serves the web app: its page at /, and its files below /web/. scripts/build-web.ts builds both from src/web, and the
// names of the files contain a digest. The content security policy of the page allows no other origin, no inline script
// and no HTML that DOMPurify has not sanitized.

import { readdir, readFile, stat } from 'node:fs/promises'
import { GRAPHIQL } from './graphiql/graphiql-page.ts'
import { cachedFiles, createStaticFile, IMMUTABLE, type Files, type StaticFile } from './static-file.ts'

/** Path below which the files are served. */
export const WEB_FILES = '/web/'

/** Name of the page, and the paths by which it is kept: for a server with GraphiQL, and for one without it. */
const PAGE = 'index.html'
const PATHS = { withGraphiql: '/?graphiql', plain: '/' }

/** Directives of the content security policy. `data:` is needed for the icon. */
export const WEB_POLICY = {
  'style-src': "'self'",
  'img-src': "'self' data:",
  'font-src': "'self'",
  'manifest-src': "'self'",
  'require-trusted-types-for': "'script'",
  'trusted-types': 'dompurify',
}

/** Reads the page and the files. On a server with GraphiQL, the page names its path. */
async function readFiles(directory: URL): Promise<Files> {
  const names = (await readdir(directory)).filter((name) => name !== PAGE)
  const files = names.map(async (name): Promise<[string, StaticFile]> => {
    const content = await readFile(new URL(name, directory))
    return [WEB_FILES + name, createStaticFile(name, content, IMMUTABLE)]
  })
  const html = await readFile(new URL(PAGE, directory), 'utf8')
  const named = html.replace('<head>', `<head>\n    <meta name="graphiql" content="${GRAPHIQL}" />`)
  return new Map([
    [PATHS.plain, createStaticFile(PAGE, html, 'no-cache')],
    [PATHS.withGraphiql, createStaticFile(PAGE, named, 'no-cache')],
    ...(await Promise.all(files)),
  ])
}

export type WebApp = {
  /** Returns the page. */
  page(pages: { graphiql: boolean }): Promise<StaticFile>
  /** Returns the file at `path`; undefined if there is no such file. */
  file(path: string): Promise<StaticFile | undefined>
}

/**
 * Returns the web app of the newest build in the directory: `npm run web` builds it again while the server runs. Each
 * build writes the page last. While a build replaces the files, those of the previous one are served.
 */
export function openWebApp(directory = new URL('./web/', import.meta.url)): WebApp {
  let version: number | null = null
  const newestVersion = async () =>
    (version = (await stat(new URL(PAGE, directory)).catch(() => null))?.mtimeMs ?? version)
  const allFiles = cachedFiles(() => readFiles(directory), newestVersion)
  return {
    page: async ({ graphiql }) => (await allFiles()).get(graphiql ? PATHS.withGraphiql : PATHS.plain)!,
    file: async (path) => (await allFiles()).get(path),
  }
}
