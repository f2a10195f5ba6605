// The hash of a tool call: its canonical form, which clients compute too, and the differences that it detects.

import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { callHash, hashOfCall } from '../../../../../../src/domain/agent/run/tools/call-hash.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const call = { id: 'c1', name: 'pay', arguments: { amount: 5 } as unknown }

describe('callHash', () => {
  it('is the SHA-256 hash of the call in the canonical form of RFC 8785', () => {
    expect(callHash(call)).toBe(sha256('{"arguments":{"amount":5},"callId":"c1","toolName":"pay"}'))
    const given = { b: 1e21, 9: [1.5, 'é\n'], 10: null, a: { z: -0, y: true } }
    const canonical = '{"10":null,"9":[1.5,"é\\n"],"a":{"y":true,"z":0},"b":1e+21}'
    expect(callHash({ ...call, arguments: given })).toBe(
      sha256(`{"arguments":${canonical},"callId":"c1","toolName":"pay"}`),
    )
  })

  it('depends on the tool, the id and each argument, but not on the order of keys', () => {
    const others = [
      { ...call, id: 'c2' },
      { ...call, name: 'order' },
      ...[{ amount: 5_000 }, { amount: '5' }, { amount: 5, to: null }, {}, [5], null].map((given) => ({
        ...call,
        arguments: given,
      })),
    ]
    expect(new Set([call, ...others].map(callHash)).size).toBe(others.length + 1)
    const ordered = (given: object) => callHash({ ...call, arguments: given })
    expect(ordered({ a: 1, b: { c: 2, d: 3 } })).toBe(ordered({ b: { d: 3, c: 2 }, a: 1 }))
  })

  it('is null for a turn that does not make the call', () => {
    const parts = [{ type: 'toolCall', callId: 'c1', name: 'pay', arguments: { amount: 5 } }]
    expect(hashOfCall({ text: '', parts }, 'c1')).toBe(callHash(call))
    expect([
      hashOfCall({ text: '', parts }, 'c2'),
      hashOfCall({ text: 'c1', parts: null }, 'c1'),
      hashOfCall(null, 'c1'),
    ]).toEqual([null, null, null])
  })
})
