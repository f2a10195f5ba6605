// The server that http.ts uses as the baseline: a bare node:http server that runs one statement on `pg` per request and
// sends the result, without GraphQL, views or checks. Its SQL renders pages and lists as the same bytes that our server
// sends.

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createPool } from '../../src/store/db/db.ts'
import { appendByCall, insertTurn } from './raw-append.ts'

const pool = createPool({ databaseUrl: process.env.DATABASE_URL!, poolSize: 10 }, console.error)
const scope = 'default'

const TURN = (t: string) => `
  '{"node":{"id":"' || ${t}.id || '","seq":' || ${t}.seq || ',"actor":' || to_json(${t}.actor)
  || ',"role":"' || ${t}.role || '","text":' || to_json(${t}.text) || ',"createdAt":"'
  || to_char(${t}.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"}}'`

const LAST = (conversationId: string, limit: number) => `
  SELECT * FROM turn WHERE conversation_id = ${conversationId} ORDER BY root_seq DESC, seq DESC LIMIT ${limit}`

const EDGES = `'{"edges":[' || coalesce(string_agg(${TURN('t')}, ',' ORDER BY t.root_seq, t.seq), '') || ']}'`

const PAGE = `
  SELECT '{"data":{"conversation":{"turns":' || ${EDGES} || '}}}' AS body FROM (${LAST('$1', 50)}) t`

const LIST = `
  SELECT '{"data":{"conversations":{"edges":[' || string_agg(
    '{"node":{"id":"' || c.id || '","title":' || to_json(c.title) || ',"turns":' || l.turns || '}}',
    ',' ORDER BY c.created_at DESC, c.id DESC) || ']}}}' AS body
  FROM (SELECT * FROM conversation WHERE tenant = 'default' ORDER BY created_at DESC, id DESC LIMIT 50) c
  CROSS JOIN LATERAL (SELECT ${EDGES} AS turns FROM (${LAST('c.id', 20)}) t) l`

type Parameters = { conversationId: string }

const handlers: Record<string, (parameters: Parameters) => Promise<string>> = {
  '/append': async ({ conversationId }) =>
    JSON.stringify({ data: { appendTurn: { turn: await appendByCall(pool, conversationId) } } }),
  '/plain': async ({ conversationId }) =>
    JSON.stringify({ data: { appendTurn: { turn: await insertTurn(pool, conversationId) } } }),
  async '/page'({ conversationId }) {
    const { rows } = await pool.query<{ body: string }>({ scope, name: 'page', text: PAGE, values: [conversationId] })
    return rows[0]!.body
  },
  async '/list'() {
    const { rows } = await pool.query<{ body: string }>({ scope, name: 'list', text: LIST })
    return rows[0]!.body
  },
}

function read(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    request.on('data', (part) => parts.push(part)).on('end', () => resolve(Buffer.concat(parts).toString()))
    request.on('error', reject)
  })
}

const server = createServer((request, response) => {
  const answer = async () => handlers[request.url!]!(JSON.parse(await read(request)) as Parameters)
  answer().then(
    (body) => {
      const bytes = Buffer.from(body)
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': bytes.length })
      response.end(bytes)
    },
    (error: Error) => {
      response.writeHead(500)
      response.end(error.message)
    },
  )
})
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }))
})
process.once('SIGTERM', () => process.exit())
