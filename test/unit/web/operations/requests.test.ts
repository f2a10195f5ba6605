// The requests of operators: valid by the schema, and the verification of the audit log.

import { parse, validate } from 'graphql'
import { expect, it } from 'vitest'
import type { Client } from '../../../../src/client/index.ts'
import * as requests from '../../../../src/web/operations/requests.ts'
import { schema } from '../../../../src/graphql/schema.ts'

const documents = Object.entries(requests).filter((each): each is [string, string] => typeof each[1] === 'string')

it.each(documents)('%s is valid', (_, text) =>
  expect(validate(schema, parse(text)).map(({ message }) => message)).toEqual([]),
)

/** A client of a server that verifies two lines in each call. The lines from `keyedFrom` on have keyed hashes. */
function verifying({ lines, broken, keyedFrom }: { lines: number; broken?: number; keyedFrom: number | null }) {
  const sent: string[] = []
  const request = async (text: string, { after }: { after?: string | null }) => {
    expect(validate(schema, parse(text))).toEqual([])
    if (text.includes('NewestAuditLine')) return { auditLog: { nodes: lines > 0 ? [{ seq: lines }] : [] } }
    sent.push(String(after))
    const start = Number(after ?? 0)
    const end = Math.min(start + 2, lines)
    const isBroken = broken !== undefined && broken <= end
    const isKeyed = keyedFrom !== null && keyedFrom <= end
    const part = {
      brokenReason: isBroken ? 'CHANGED' : null,
      brokenSeq: isBroken ? broken : null,
      endCursor: String(end),
      hash: 'h',
      isComplete: end === lines,
      keyedFrom: isKeyed ? Math.max(keyedFrom, start + 1) : null,
      verifiedThrough: end,
    }
    return { verifyAuditLog: part }
  }
  return { sent, client: { request } as unknown as Client }
}

it.each([
  { name: 'no lines', log: { lines: 0, keyedFrom: null }, sent: ['null'], through: 0, broken: null, keyed: null },
  { name: 'one part', log: { lines: 2, keyedFrom: 1 }, sent: ['null'], through: 2, broken: null, keyed: 1 },
  {
    name: 'three parts',
    log: { lines: 5, keyedFrom: 2 },
    sent: ['null', '2', '4'],
    through: 5,
    broken: null,
    keyed: 2,
  },
  {
    name: 'a broken line',
    log: { lines: 9, broken: 3, keyedFrom: 1 },
    sent: ['null', '2'],
    through: 4,
    broken: 3,
    keyed: 1,
  },
])('verifies a log with $name', async ({ log, sent, through, broken, keyed }) => {
  const server = verifying(log)
  const results: requests.Verified[] = []
  for await (const result of requests.verifyLog(server.client, new AbortController().signal)) results.push(result)
  expect(server.sent).toEqual(sent)
  expect(results).toHaveLength(sent.length)
  expect(results.at(-1)).toMatchObject({
    newest: log.lines,
    part: { verifiedThrough: through, brokenSeq: broken, keyedFrom: keyed },
  })
})
