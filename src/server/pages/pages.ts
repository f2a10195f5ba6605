// Answers the requests of browsers for pages: the web app at /, GraphiQL at /graphiql, and the files of both. Other
// clients get the paths of the server at /.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { GRAPHIQL, GRAPHIQL_POLICY, readGraphiQL } from './graphiql/graphiql-page.ts'
import { answerFile, HEADERS, policyOf } from './static-file.ts'
import { openWebApp, WEB_FILES, WEB_POLICY } from './web-app.ts'

/** Which pages the server has. */
export type Pages = { graphiql: boolean; webApp: boolean }

const webApp = openWebApp()

/** Whether a browser asks for a page: it accepts `text/html`. */
const acceptsPage = ({ headers }: IncomingMessage) => headers.accept?.includes('text/html') === true

const redirect = (response: ServerResponse, location: string) =>
  void response.writeHead(302, { ...HEADERS, location, vary: 'accept' }).end()

function answerPaths(request: IncomingMessage, response: ServerResponse): void {
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

/** Answers a request for `/`: with the web app for a browser, or else GraphiQL, or else the paths of the server. */
async function answerRoot(request: IncomingMessage, response: ServerResponse, pages: Pages): Promise<void> {
  if (!acceptsPage(request)) return answerPaths(request, response)
  if (pages.webApp) {
    const page = await webApp.page(pages)
    const policy = policyOf(request.headers.host, WEB_POLICY)
    return answerFile(request, response, page, { vary: 'accept, accept-encoding', 'content-security-policy': policy })
  }
  if (pages.graphiql) return redirect(response, GRAPHIQL)
  answerPaths(request, response)
}

/** Answers a GET or HEAD request for a page or one of its files; returns false for any other request. */
export async function answerPage(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  pages: Pages,
): Promise<boolean> {
  if (path === '/') {
    await answerRoot(request, response, pages)
    return true
  }
  // A browser that opens the endpoint itself.
  if (path === '/graphql' && pages.graphiql && acceptsPage(request)) {
    redirect(response, GRAPHIQL)
    return true
  }
  const isGraphiQL = pages.graphiql && (path === GRAPHIQL || path.startsWith(`${GRAPHIQL}/`))
  const isWebApp = pages.webApp && path.startsWith(WEB_FILES)
  const file = isGraphiQL ? await readGraphiQL(path) : isWebApp ? await webApp.file(path) : undefined
  if (!file) return false
  const policy = path === GRAPHIQL ? policyOf(request.headers.host, GRAPHIQL_POLICY) : null
  await answerFile(request, response, file, policy === null ? {} : { 'content-security-policy': policy })
  return true
}
