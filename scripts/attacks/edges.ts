// Attacks outside of GraphQL operations: a provider whose errors quote secrets, and the files and headers of pages.
// GraphiQL and introspection must be off on a network address.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { APPEND, check, newConversation, sleep, type Attack, type Prepared } from './attack.ts'
import type { Target } from './target.ts'

const KEY = 'sk-canary-5d41402abc4b2a76'
const TEXT = 'My canary PIN is 4711.'
const ADDRESS = 'http://10.1.2.3:8080/canary'
/** Matches every secret. */
const SECRET = /canary/i

/**
 * Starts a provider that answers requests for embeddings without a secret, because the server tests its embedder when
 * it starts. It rejects all other requests, with an error that quotes the key, the request and an internal address.
 */
async function startLeakyProvider(): Promise<Prepared> {
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    request.on('end', () => {
      const { input } = JSON.parse(text) as { input?: string[] }
      if (input && !SECRET.test(text)) {
        const embedding = Buffer.from(new Float32Array(1536).fill(0.025).buffer).toString('base64')
        return void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ data: input.map((_, index) => ({ object: 'embedding', index, embedding })) }))
      }
      const message = `Incorrect API key ${request.headers.authorization} at ${ADDRESS}: ${text}`
      response.writeHead(401, { 'content-type': 'application/json', 'x-request-id': 'req_7' })
      response.end(JSON.stringify({ error: { message, code: 'invalid_api_key', type: message, param: message } }))
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    env: {
      OPENAI_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      OPENAI_API_KEY: KEY,
      EMBEDDER: 'openai',
      SUMMARIZER: 'openai',
      EXTRACTOR: 'openai',
      THREAD_SUMMARY_EVERY_N: '2',
      FACT_EXTRACTION_EVERY_N: '2',
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const CALLS = [
  'mutation ($id: ID!) { extractFacts(input: { conversationId: $id }) { __typename ... on UserError { message } } }',
  'mutation ($id: ID!) { compact(input: { conversationId: $id }) { __typename ... on UserError { message } } }',
  'query ($id: ID!) { recall(input: { conversationId: $id, query: "canary" }) { __typename ... on UserError { message } } }',
]
const JOBS = 'query { jobs(first: 50) { nodes { name state lastError } } }'

async function callLeakyProvider(target: Target): Promise<string> {
  const id = await newConversation(target, { factExtraction: true })
  for (let n = 0; n < 4; n++) {
    await target.get(APPEND, { input: { conversationId: id, turn: { role: 'USER', content: `${n}: ${TEXT}` } } })
  }
  const answers: string[] = []
  for (const query of CALLS) answers.push((await target.post(query, { id })).body)
  let jobs = ''
  for (let n = 0; n < 30 && !jobs.includes('401'); n++) {
    await sleep(500)
    jobs = (await target.post(JOBS)).body
  }
  const log = target.log()
  const failures = answers.filter((answer) => answer.includes('status 401'))
  for (const [where, text] of Object.entries({ client: answers.join('\n'), job: jobs, log })) {
    check(!SECRET.test(text), `a secret reached the ${where}: ${text.split('\n').find((line) => SECRET.test(line))}`)
  }
  check(failures.length > 0, `no call failed: ${answers.join('; ')}`)
  check(jobs.includes('status 401'), `no job failed: ${jobs}`)
  check(log.includes('status 401'), 'no failure was logged')
  return `masked in ${failures.length} answers, jobs and log`
}

const HTML = { accept: 'text/html', 'accept-encoding': 'gzip' }
/**
 * Loads a page and its files as a browser does.
 * @param maxBytes maximum compressed size of all of them
 */
async function loadPage(target: Target, address: string, maxBytes: number): Promise<string> {
  const page = await target.load(address, HTML)
  const policy = String(page.headers['content-security-policy'])
  check(page.status === 200, `the page was answered with status ${page.status}`)
  check(/frame-ancestors 'none'/.test(policy), `other sites may frame the page: ${policy}`)
  check(!/script-src[^;]*'unsafe-inline'/.test(policy), `inline scripts may run: ${policy}`)
  check(page.headers['x-content-type-options'] === 'nosniff', 'the page lacks X-Content-Type-Options: nosniff')
  const html = (await target.load(address, { accept: 'text/html' })).body
  const paths = [...html.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)].map(([, path]) => path!)
  check(
    paths.length > 1 && paths.every((path) => path.startsWith('/')),
    `the page loads files from elsewhere: ${paths.join(', ')}`,
  )
  let bytes = page.bytes
  for (const path of paths) {
    const file = await target.load(path, HTML)
    check(file.status === 200 && file.headers['content-encoding'] === 'gzip', `${path} is not compressed`)
    check(/max-age=\d{5,}/.test(String(file.headers['cache-control'])), `${path} is not cached`)
    check(file.headers['x-content-type-options'] === 'nosniff', `${path} lacks X-Content-Type-Options: nosniff`)
    bytes += file.bytes
  }
  check(bytes <= maxBytes, `the files have ${bytes} bytes`)
  return `${(bytes / 1e6).toFixed(1)} MB, not framed, no inline script`
}

async function loadNoGraphiql(target: Target): Promise<string> {
  for (const path of ['/graphql', '/graphiql']) {
    const page = await target.load(path, HTML)
    check(!String(page.headers['content-type']).includes('text/html'), `GraphiQL is served at ${path}`)
  }
  const { body } = await target.post('{ __schema { types { name } } }')
  check(body.includes('INTROSPECTION_DISABLED'), `the schema is shown: ${body.slice(0, 200)}`)
  const wrong = (await target.post('{ conversatoin { id } }')).body
  check(!wrong.includes('conversation"'), `an error suggests a name: ${wrong}`)
  return 'off'
}

export const edgeAttacks: Attack[] = [
  { section: 'C', name: 'a provider that quotes secrets', prepare: startLeakyProvider, run: callLeakyProvider },
  { section: 'C', name: 'GraphiQL on loopback', run: (target) => loadPage(target, '/graphiql', 3_000_000) },
  { section: 'C', name: 'the web app', run: (target) => loadPage(target, '/', 200_000) },
  {
    section: 'C',
    name: 'GraphiQL and introspection on a network',
    prepare: async () => ({ env: { HOST: '0.0.0.0', ALLOW_UNAUTHENTICATED: '1' }, close: async () => {} }),
    run: loadNoGraphiql,
  },
]
