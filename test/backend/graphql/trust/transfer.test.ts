// Transfers over GraphQL: a large file in pages and batches, within the limits of a request.

import { describe, expect, it } from 'vitest'
import * as documents from '../../../../src/client/verbs/documents.ts'
import { backends } from '../../../support/backend.ts'
import { useClients } from '../client.ts'

describe.each(backends)('a transfer on $name', (backend) => {
  const clients = useClients(backend)
  const [ada, eve] = [clients.as('ada'), clients.as('eve')]

  it('is read by its id, by the actor who started it', async () => {
    await clients.newConversation(['ada', 'eve'])
    const { startExport } = await ada(documents.START_EXPORT, { input: { scope: 'USER', userId: 'ada' } })
    const { id } = startExport.transfer
    const NODE = 'query ($id: ID!) { node(id: $id) { __typename id } }'
    expect(await ada(NODE, { id })).toEqual({ node: { __typename: 'Transfer', id } })
    expect(await eve(NODE, { id })).toEqual({ node: null })
  })

  it('returns pages of a thousand long turns, and writes them in batches', async () => {
    const conversationId = await clients.newConversation(['ada'])
    for (let n = 0; n < 3; n++) await clients.append(conversationId, `${n} ${'ö'.repeat(100_000)}`)
    const input = { scope: 'CONVERSATION', conversationId }
    const { startExport } = await ada(documents.START_EXPORT, { input })
    const { id: transferId } = startExport.transfer
    const lines: string[] = []
    for (let after: string | null = null; ;) {
      const { continueExport } = await ada(documents.CONTINUE_EXPORT, { input: { transferId, after } })
      lines.push(...continueExport.lines)
      after = continueExport.cursor
      if (after === null) break
    }
    const manifest = lines.shift()
    const { startImport } = await ada(documents.START_IMPORT, { input: { manifest, fileKey: 'long' } })
    let { transfer } = startImport
    while (transfer.state === 'RUNNING') {
      const offset = transfer.lines
      const batch = { transferId: transfer.id, offset, lines: lines.slice(offset, offset + 2) }
      ;({ transfer } = (await ada(documents.CONTINUE_IMPORT, { input: batch })).continueImport)
    }
    expect(transfer).toMatchObject({ state: 'COMPLETED', report: { 'turn.unchanged': 3 } })
  })
})
