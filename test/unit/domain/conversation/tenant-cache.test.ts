// The settings of tenants are cached, and read again when a change is announced on the bus or may have been missed.

import { beforeEach, describe, expect, it } from 'vitest'
import { BUILT_IN_DEFAULTS } from '../../../../src/domain/kernel/call-defaults.ts'
import { createTenantCache, TENANT_SETTINGS_TOPIC } from '../../../../src/domain/conversation/tenant-cache.ts'
import { REDACT_MODES, strongerMode, type RedactMode } from '../../../../src/domain/kernel/redaction.ts'
import type { Db } from '../../../../src/store/db/db.ts'

describe('strongerMode', () => {
  it('returns the mode that removes more', () => {
    const table = REDACT_MODES.map((one) => [null, ...REDACT_MODES].map((other) => strongerMode(one, other)))
    expect(table).toEqual([
      ['off', 'off', 'facts', 'turns'],
      ['facts', 'facts', 'facts', 'turns'],
      ['turns', 'turns', 'turns', 'turns'],
    ])
  })
})

describe('createTenantCache', () => {
  let stored: RedactMode | null
  let own: object
  let reads: number
  /** Functions that finish the waiting reads; null to finish each read at once. */
  let held: (() => void)[] | null
  let announce: (tenant: string) => void
  let restore: () => void
  const published: [string, string][] = []

  const openCache = (least: RedactMode, server = BUILT_IN_DEFAULTS) => {
    const findFirst = async () => {
      reads += 1
      const redact = stored
      if (held) await new Promise<void>((resolve) => held!.push(resolve))
      if (redact === ('fails' as RedactMode)) throw new Error('unreachable')
      return { redact, ...own }
    }
    return createTenantCache(
      {
        db: { of: () => ({ tenantSettings: { findFirst } }) } as unknown as Db,
        bus: {
          publish: (topic, message) => void published.push([topic, message]),
          subscribe: async (topic, receive) => {
            expect(topic).toBe(TENANT_SETTINGS_TOPIC)
            announce = (tenant) => receive(JSON.stringify(tenant))
            return async () => {}
          },
          onRestored: (callback) => {
            restore = callback
            return () => {}
          },
        },
        log: { error: () => {} },
      },
      { redact: least, defaults: server },
    )
  }
  const open = (least: RedactMode) => openCache(least).redaction
  beforeEach(() => {
    stored = null
    own = {}
    reads = 0
    held = null
  })

  it('reads a tenant once, also for simultaneous calls', async () => {
    stored = 'turns'
    const redaction = open('off')
    expect(await Promise.all([redaction.of('a'), redaction.of('a'), redaction.of('b')])).toEqual(Array(3).fill('turns'))
    expect(redaction.of('a')).toBe('turns')
    expect(reads).toBe(2)
  })

  it('never returns a mode weaker than that of the server', async () => {
    stored = 'off'
    expect(await open('facts').of('a')).toBe('facts')
    stored = 'turns'
    expect(await open('facts').of('a')).toBe('turns')
    reads = 0
    expect(open('turns').of('a')).toBe('turns')
    expect(reads).toBe(0)
  })

  it('reads the mode of a tenant again after its announcement, and all modes after an outage of the bus', async () => {
    const redaction = open('off')
    await Promise.all([redaction.of('a'), redaction.of('b')])
    stored = 'turns'
    announce('a')
    expect([await redaction.of('a'), await redaction.of('b')]).toEqual(['turns', 'off'])
    restore()
    expect(await redaction.of('b')).toBe('turns')
  })

  it('announces a change, and reads the mode again before the announcement arrives', async () => {
    const redaction = open('off')
    await redaction.of('a')
    stored = 'turns'
    redaction.changed('a')
    expect(published).toEqual([[TENANT_SETTINGS_TOPIC, '"a"']])
    expect(await redaction.of('a')).toBe('turns')
  })

  it('does not cache a mode that was read before an announcement', async () => {
    const redaction = open('off')
    held = []
    const before = redaction.of('a')
    await Promise.resolve()
    stored = 'turns'
    announce('a')
    const after = redaction.of('a')
    await Promise.resolve()
    for (const release of held) release()
    expect([await before, await after]).toEqual(['off', 'turns'])
    expect(redaction.of('a')).toBe('turns')
  })

  it('returns the defaults of the tenant on top of those of the server, from the same read', async () => {
    const server = { ...BUILT_IN_DEFAULTS, tokenBudget: 9, recallHits: 3, recallThreshold: 0.5, ttlSeconds: 60 }
    own = { tokenBudget: 7, recallThreshold: 0, contextStrategy: 'SIMPLE', retention: 'EPHEMERAL', ttlSeconds: null }
    const { defaults, redaction } = openCache('off', server)
    const expected = {
      tokenBudget: 7,
      contextStrategy: 'SIMPLE',
      recallHits: 3,
      recallThreshold: 0,
      retention: 'EPHEMERAL',
      ttlSeconds: 60,
    }
    expect(await Promise.all([defaults.of('a'), redaction.of('a')])).toEqual([expected, 'off'])
    expect(defaults.of('a')).toEqual(expected)
    expect(reads).toBe(1)
    own = {}
    announce('a')
    expect(await defaults.of('a')).toEqual(server)
  })

  it('does not cache a failure', async () => {
    stored = 'fails' as RedactMode
    const redaction = open('off')
    await expect(redaction.of('a')).rejects.toThrow('unreachable')
    stored = 'facts'
    expect(await redaction.of('a')).toBe('facts')
  })
})
