// A read below a root field that a credential may not make is recorded in the audit log.

import { describe, expect, it } from 'vitest'
import { createApiKey } from '../../../../../src/domain/trust/api-key/api-key.ts'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { getAuditLog } from '../../../../../src/domain/trust/audit-page.ts'
import { backends } from '../../../../support/backend.ts'
import { useServer } from '../../../../support/server.ts'

describe.each(backends)('the audit log of a server on $name', (backend) => {
  const server = useServer(backend, { AUTH_MODE: 'keys' })

  it('records a refused read below a root field: its verb, field and right, but no alias or argument', async () => {
    const admin = { tenant: 'acme', actor: 'admin' }
    const { token } = await createApiKey(server.deps, admin, { name: 'writer', actor: 'una', rights: ['write'] })
    const { conversation } = await createConversation(server.deps, admin, { participants: [{ actor: 'una' }] })
    const query = `mutation ($input: AppendTurnInput!) { appendTurn(input: $input) { ... on AppendTurnPayload {
      turn { canary: conversation { turns { nodes { id } } } } } } }`
    const input = { conversationId: conversation.id, turn: { role: 'USER', content: 'canary' } }
    for (let call = 0; call < 3; call++) {
      const { body } = await server.post({ query, variables: { input } }, { authorization: `Bearer ${token}` })
      expect(body.errors).toMatchObject([{ path: ['appendTurn', 'turn', 'canary'] }])
    }
    const { items } = await getAuditLog(server.deps, admin, { filter: { actor: 'una' } })
    const lines = new Map<string, number>()
    for (const { verb, outcome, credential, count, details } of items) {
      const line = JSON.stringify([verb, outcome, credential?.slice(0, 4), details])
      lines.set(line, (lines.get(line) ?? 0) + count)
    }
    const details = JSON.stringify({ field: 'conversation', right: 'read' })
    expect([...lines]).toEqual([[JSON.stringify(['getConversations', 'DENIED', 'key:', details]), 3]])
  })
})
