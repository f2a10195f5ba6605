// REDACT=turns: sensitive values are removed from everything that clients write into conversations, repeated calls are
// still recognised, and the removed values are counted.

import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { createConversation, updateConversation } from '../../../../src/domain/conversation/conversation.ts'
import { retractFact, recordFacts } from '../../../../src/domain/memory/fact/record.ts'
import { addParticipant } from '../../../../src/domain/conversation/participant/participant.ts'
import { redactInput, type RedactMode } from '../../../../src/domain/kernel/redaction.ts'
import { appendTurn, appendTurns } from '../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../src/domain/turn/supersede.ts'
import { updateParticipant } from '../../../../src/domain/conversation/participant/update-participant.ts'
import { backends } from '../../../support/backend.ts'
import { useWorld } from '../../../support/world.ts'
import { sql } from '../../../support/sql.ts'

const SECRET = 'ada.lovelace@example.org'
const ada = { tenant: 't', actor: 'ada' }

describe('redactInput', () => {
  const notes: unknown[] = []
  const redacted = (input: object, mode: RedactMode = 'turns') =>
    redactInput(
      {
        redaction: { least: mode, of: () => mode, changed() {} },
        detectors: [],
        audit: { note: (record) => void notes.push(record) },
      },
      ada,
      'v',
      input,
    )

  it('redacts texts and JSON, and keeps identifiers, names of actors, URLs and system prompts', async () => {
    const input = {
      conversationId: 'conv_1',
      title: `for ${SECRET}`,
      key: SECRET,
      owner: SECRET,
      systemPrompt: `Tell users to write to ${SECRET}.`,
      createdAt: new Date(0),
      turns: [
        {
          actor: SECRET,
          clientId: SECRET,
          content: null,
          metadata: { [SECRET]: [SECRET, 1, null, { deep: SECRET }] },
          parts: [
            { text: SECRET },
            { toolCall: { callId: SECRET, name: 'mail', arguments: { to: SECRET } } },
            {
              file: {
                url: `https://example.org/?to=${SECRET}`,
                fileName: SECRET,
                caption: SECRET,
                mediaType: 'text/plain',
              },
            },
            { reasoning: { reasoning: SECRET, signature: SECRET } },
          ],
        },
      ],
    }
    expect(await redacted(input)).toEqual({
      ...input,
      title: 'for [EMAIL]',
      turns: [
        {
          ...input.turns[0],
          metadata: { '[EMAIL]': ['[EMAIL]', 1, null, { deep: '[EMAIL]' }] },
          parts: [
            { text: '[EMAIL]' },
            { toolCall: { callId: SECRET, name: 'mail', arguments: { to: '[EMAIL]' } } },
            {
              file: {
                url: `https://example.org/?to=${SECRET}`,
                fileName: '[EMAIL]',
                caption: '[EMAIL]',
                mediaType: 'text/plain',
              },
            },
            { reasoning: { reasoning: '[EMAIL]' } },
          ],
        },
      ],
    })
    expect(notes).toMatchObject([
      { actor: 'ada', verb: 'redact', resources: ['conv_1'], details: { verb: 'v', email: 9 } },
    ])
  })

  it('keeps the signature of reasoning that it does not change', async () => {
    const input = { parts: [{ reasoning: { reasoning: 'hm', signature: 'c2ln' } }] }
    expect(await redacted(input)).toEqual(input)
  })

  it('keeps the values of keys that become the same', async () => {
    const emails = Array.from({ length: 5_000 }, (_, n) => `a${n}@b.cc`)
    const metadata = Object.fromEntries([['[EMAIL] 3', 'own'], ...emails.map((email, n) => [email, n] as const)])
    const result = (await redacted({ metadata })) as { metadata: Record<string, unknown> }
    expect(Object.values(result.metadata)).toEqual(['own', ...emails.keys()])
    expect(Object.keys(result.metadata).slice(0, 4)).toEqual(['[EMAIL] 3', '[EMAIL]', '[EMAIL] 2', '[EMAIL] 4'])
  })

  it('changes nothing in other modes', async () => {
    const input = { title: SECRET }
    expect([await redacted(input, 'off'), await redacted(input, 'facts')]).toEqual([input, input])
  })

  it('keeps the key `__proto__`', async () => {
    const input = JSON.parse('{ "metadata": { "__proto__": { "a": "x" } } }') as object
    expect(JSON.stringify(await redacted(input))).toBe(JSON.stringify(input))
  })
})

describe.each(backends)('redaction of turns on $name', (backend) => {
  const world = useWorld(backend, { redact: 'turns', detectors: [{ kind: 'badge', pattern: /B-\d{4}/ }] })

  it('stores none of the values in any table, and counts them in the audit log', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const viewer = tenant.as('ada')
    const text = `write to ${SECRET}, B-1234`
    const { conversation } = await createConversation(deps, viewer, {
      title: text,
      metadata: { text },
      participants: [{ actor: 'bob', displayName: text, metadata: { text } }],
    })
    const conversationId = conversation.id
    await updateConversation(deps, viewer, { conversationId, title: text, metadataPatch: { more: text } })
    await addParticipant(deps, viewer, { conversationId, participant: { actor: 'cy', displayName: text } })
    await updateParticipant(deps, viewer, { conversationId, actor: 'cy', metadataPatch: { text } })
    const turn = { role: 'USER' as const, content: text, clientId: 'c1', metadata: { text } }
    const { turn: written } = await appendTurn(deps, viewer, { conversationId, turn })
    expect(written).toMatchObject({
      text: 'write to [EMAIL], [BADGE]',
      metadata: { text: 'write to [EMAIL], [BADGE]' },
    })
    await appendTurns(deps, viewer, {
      conversationId,
      turns: [
        {
          role: 'ASSISTANT',
          parts: [{ toolCall: { callId: '1', name: 'mail', arguments: { text } } }],
          citations: [{ chunk: text, documentName: text }],
        },
        { role: 'TOOL', parts: [{ toolResult: { callId: '1', name: 'mail', result: text } }, { data: [text] }] },
      ],
    })
    await supersedeTurn(deps, viewer, { turnId: written.id, turn: { role: 'USER', content: `again ${text}` } })
    const { facts } = await recordFacts(deps, viewer, {
      conversationId,
      facts: [{ subject: 'ada', predicate: 'writes from', object: SECRET }],
    })
    await retractFact(deps, viewer, { factId: facts[0]!.id, reason: text })
    await deps.audit.flush()
    const { rows: tables } = await sql(deps.pool).query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
    )
    for (const { name } of tables) {
      const { rows } = await sql(deps.pool).query(
        `SELECT t::text FROM ${pg.escapeIdentifier(name)} t WHERE t::text ILIKE $1 OR t::text LIKE '%B-1234%'`,
        [`%${SECRET}%`],
      )
      expect(rows, name).toEqual([])
    }
    const { rows: audited } = await sql(deps.pool).query(
      `SELECT details FROM audit_line WHERE tenant = $1 AND verb = 'redact' ORDER BY seq`,
      [tenant.name],
    )
    expect(JSON.stringify(audited)).toMatch(/email/)
  })

  it('recognises a repeated call, and a retry with another value in the place of the removed one', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const append = (content: string) =>
      appendTurn(world.deps, tenant.as('ada'), { conversationId, turn: { role: 'USER', content, clientId: 'c1' } })
    const first = await append(`mail ${SECRET}`)
    expect(await append(`mail ${SECRET}`)).toMatchObject({ deduplicated: true, turn: { id: first.turn.id } })
    expect(await append('mail bob@example.org')).toMatchObject({ turn: { id: first.turn.id } })
    await expect(append('mail nobody')).rejects.toThrow('different content')
  })
})
