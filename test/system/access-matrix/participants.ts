// Participants see and change the objects that the access matrix hides from others, so that their text can show a leak.

import { expect, it } from 'vitest'
import { addParticipant, removeParticipant } from '../../../src/domain/conversation/participant/participant.ts'
import type { TestServer } from '../../support/server.ts'
import type { Tenant } from '../../support/world.ts'
import { mutation } from './crafted-operations.ts'
import { CANARY, type FilledWorld } from './filled-world.ts'

async function ask(server: TestServer, tenant: Tenant, actor: string, query: string): Promise<string> {
  const { body } = await server.post({ query }, { 'x-tenant': tenant.name, 'x-actor': actor })
  return JSON.stringify(body)
}

/** Adds a test that must run before others change the conversation of the whisper. */
export function testAudience(server: TestServer, filled: () => FilledWorld): void {
  it('a whisper is read by its audience, so the canary can show a leak', async () => {
    const { tenant, ids } = filled().whisper.subject
    const { conversation, turn, fact, run, approval, others } = ids
    const nodes = JSON.stringify([turn, fact, run, approval, ...others])
    const queries = [
      `{ conversation(id: "${conversation}") { turns(first: 50) { nodes { text } } } }`,
      `{ conversation(id: "${conversation}") { history(limit: 50) { ... on Turn { text } } } }`,
      '{ facts(filter: { includeSuperseded: true }) { nodes { object } } }',
      `{ recall(input: { scope: TENANT, query: "${CANARY} secret", k: 20 }) { ... on Recall { hits { memory {
        ... on Turn { text } } } } } }`,
    ]
    for (const actor of ['ann', 'bob']) {
      for (const query of queries) expect(await ask(server, tenant, actor, query), query).toContain(CANARY)
      const found = await ask(server, tenant, actor, `{ nodes(ids: ${nodes}) { __typename } }`)
      expect(found, actor).not.toContain('null')
    }
  })
}

/** Adds the tests. They change the participants of the MEMBERS conversation. */
export function testParticipants(server: TestServer, filled: () => FilledWorld): void {
  it('a MEMBERS conversation is read and written by its participants, and read by former participants', async () => {
    const { tenant, ids } = filled().members.subject
    const { conversation } = ids
    for (const actor of ['ann', 'bob', 'gone']) {
      expect(await ask(server, tenant, actor, `{ conversation(id: "${conversation}") { title } }`)).toContain(CANARY)
      expect(await ask(server, tenant, actor, '{ conversation(key: "hidden") { title } }')).toContain(CANARY)
    }
    const turn = `conversationId: "${conversation}", turn: { role: USER, content: "hello" }`
    expect(await ask(server, tenant, 'bob', mutation('appendTurn', turn))).toContain('"AppendTurnPayload"')
    expect(await ask(server, tenant, 'gone', mutation('appendTurn', turn))).toContain('NOT_ALLOWED')
    await removeParticipant(server.deps, tenant.as('bob'), { conversationId: conversation, actor: 'bob' })
    expect(await ask(server, tenant, 'bob', mutation('appendTurn', turn))).toContain('NOT_ALLOWED')
    const add = `conversationId: "${conversation}", participant: { actor: "eve" }`
    for (const actor of ['gone', 'bob']) {
      expect(await ask(server, tenant, actor, mutation('addParticipant', add))).toContain('NOT_ALLOWED')
      expect(
        await ask(
          server,
          tenant,
          actor,
          mutation('updateConversation', `conversationId: "${conversation}", title: "x"`),
        ),
      ).toContain('NOT_ALLOWED')
      expect(
        await ask(server, tenant, actor, mutation('deleteConversation', `conversationId: "${conversation}"`)),
      ).toContain('NOT_ALLOWED')
    }
    expect(await ask(server, tenant, 'ann', mutation('addParticipant', add))).toContain('"AddParticipantPayload"')
    expect(await ask(server, tenant, 'eve', mutation('appendTurn', turn))).toContain('"AppendTurnPayload"')
    await addParticipant(server.deps, tenant.as('eve'), { conversationId: conversation, participant: { actor: 'bob' } })
    expect(await ask(server, tenant, 'bob', mutation('appendTurn', turn))).toContain('"AppendTurnPayload"')
  })
}
