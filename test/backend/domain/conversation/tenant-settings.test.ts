// The setting `redact` of a tenant, in one process and in two.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createConversation } from '../../../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../../../src/domain/deps.ts'
import { recordFacts } from '../../../../src/domain/memory/fact/record.ts'
import { appendDelta } from '../../../../src/domain/turn/streaming/append-delta.ts'
import { commitTurn } from '../../../../src/domain/turn/streaming/stream.ts'
import { getTenantSettings, updateTenantSettings } from '../../../../src/domain/conversation/tenant-settings.ts'
import { appendTurn, openTurn } from '../../../../src/domain/turn/append/append.ts'
import type { Viewer } from '../../../../src/domain/kernel/view.ts'
import { InvalidInput } from '../../../../src/errors.ts'
import { backends } from '../../../support/backend.ts'
import { newViewer, openSite, type Site } from '../../../support/process.ts'
import { sql } from '../../../support/sql.ts'
import { useWorld } from '../../../support/world.ts'
import { WRITER } from '../../../support/writer.ts'

const SECRET = 'ada.lovelace@example.org'

async function append(deps: Deps, viewer: Viewer, conversationId: string): Promise<string> {
  const { turn } = await appendTurn(deps, viewer, { conversationId, turn: { role: 'USER', content: `mail ${SECRET}` } })
  return turn.text
}

async function newConversation(deps: Deps, viewer: Viewer): Promise<string> {
  return (await createConversation(deps, viewer, {})).conversation.id
}

/** Opens a streaming turn. `write` appends the text in two deltas without waiting, and returns the committed text. */
async function open(deps: Deps, viewer: Viewer, conversationId: string) {
  const turn = { role: 'ASSISTANT' as const }
  const { turn: opened } = await openTurn(deps, viewer, { conversationId, turn, writerToken: WRITER })
  const given = { turnId: opened.id, writerToken: WRITER }
  return {
    turnId: opened.id,
    async write(first = 'mail ada.love', second = 'lace@example.org') {
      await Promise.all([
        appendDelta(deps, viewer, { ...given, text: first, start: 0 }),
        appendDelta(deps, viewer, { ...given, text: second, start: first.length }),
      ])
      return (await commitTurn(deps, viewer, given)).text
    },
  }
}

describe.each(backends)('the setting redact of a tenant on $name', (backend) => {
  const world = useWorld(backend)
  const facts = useWorld(backend, { redact: 'facts' })

  it('applies to all later writes of the tenant, and to no other tenant', async () => {
    const { deps } = world
    const [ada, other] = [newViewer(), newViewer()]
    const conversationId = await newConversation(deps, ada)
    expect(await append(deps, ada, conversationId)).toContain(SECRET)
    expect(await getTenantSettings(deps, ada)).toMatchObject({ redact: null, redactInEffect: 'off' })

    const settings = await updateTenantSettings(deps, ada, { redact: 'turns' })
    expect(settings).toMatchObject({ redact: 'turns', redactInEffect: 'turns', retention: 'FULL' })
    expect(await append(deps, ada, conversationId)).toBe('mail [EMAIL]')
    expect(await (await open(deps, ada, conversationId)).write()).toBe('mail [EMAIL]')
    const statement = { subject: 'ada', predicate: 'writes from', object: SECRET }
    expect((await recordFacts(deps, ada, { conversationId, facts: [statement] })).facts[0]!.object).toBe('[EMAIL]')
    expect(await append(deps, other, await newConversation(deps, other))).toContain(SECRET)

    await updateTenantSettings(deps, ada, { redact: null })
    expect(await append(deps, ada, conversationId)).toContain(SECRET)
  })

  it('cannot be weaker than the setting of the server', async () => {
    const { deps } = facts
    const ada = newViewer()
    await expect(updateTenantSettings(deps, ada, { redact: 'off' })).rejects.toThrow(InvalidInput)
    await expect(updateTenantSettings(deps, ada, { redact: 'off' })).rejects.toThrow('REDACT=facts')
    expect(await updateTenantSettings(deps, ada, { redact: 'facts' })).toMatchObject({ redactInEffect: 'facts' })
    // Simulates that the operator has strengthened the server's setting since.
    await deps.db.of(ada.tenant).tenantSettings.update({ where: { tenant: ada.tenant }, data: { redact: 'off' } })
    expect(await getTenantSettings(deps, ada)).toMatchObject({ redact: 'off', redactInEffect: 'facts' })
  })

  it('does not change for a turn that is already open', async () => {
    const { deps } = world
    const ada = newViewer()
    const conversationId = await newConversation(deps, ada)
    const before = await open(deps, ada, conversationId)
    await updateTenantSettings(deps, ada, { redact: 'turns' })
    const after = await open(deps, ada, conversationId)
    await updateTenantSettings(deps, ada, { redact: null })
    expect([await before.write(), await after.write()]).toEqual([`mail ${SECRET}`, 'mail [EMAIL]'])
  })

  it('keeps the order of the deltas of a redacted turn that are sent concurrently', async () => {
    const { deps } = world
    const ada = newViewer()
    await updateTenantSettings(deps, ada, { redact: 'turns' })
    const turn = await open(deps, ada, await newConversation(deps, ada))
    const pieces = [...`write to ${SECRET} or call +1 212 555 0123`]
    const given = { turnId: turn.turnId, writerToken: WRITER }
    await Promise.all(pieces.map((text) => appendDelta(deps, ada, { ...given, text })))
    expect((await commitTurn(deps, ada, given)).text).toBe('write to [EMAIL] or call [PHONE]')
  })

  it('is recorded in the audit log when it changes', async () => {
    const { deps } = world
    const ada = newViewer()
    await updateTenantSettings(deps, ada, { redact: 'turns' })
    const { rows } = await sql(deps.pool).query('SELECT verb, details FROM audit_line WHERE tenant = $1', [ada.tenant])
    expect(rows).toMatchObject([{ verb: 'updateTenantSettings', details: expect.stringContaining('"redact":"turns"') }])
  })
})

describe.each(backends)('the setting redact of a tenant in two processes on $name', (backend) => {
  let site: Site
  beforeAll(async () => {
    site = await openSite(backend)
  })
  afterAll(() => site.close())

  it('applies in the other process once it is announced, and to an open turn that both processes write', async () => {
    const [one, two] = [await site.start(), await site.start()]
    const ada = newViewer()
    const conversationId = await newConversation(one.deps, ada)
    expect(await append(two.deps, ada, conversationId)).toContain(SECRET)
    await updateTenantSettings(one.deps, ada, { redact: 'turns' })
    await expect.poll(() => append(two.deps, ada, conversationId)).toBe('mail [EMAIL]')
    const turn = { role: 'ASSISTANT' as const, clientId: 'c' }
    const opening = { conversationId, turn, writerToken: WRITER }
    const opened = await openTurn(one.deps, ada, opening)
    const given = { turnId: opened.turn.id, writerToken: WRITER }
    await appendDelta(one.deps, ada, { ...given, text: 'mail ada.love' })
    await openTurn(two.deps, ada, opening)
    await appendDelta(two.deps, ada, { ...given, text: 'lace@example.org', start: 13 })
    expect((await commitTurn(one.deps, ada, given)).text).toBe('mail [EMAIL]')
  })
})
