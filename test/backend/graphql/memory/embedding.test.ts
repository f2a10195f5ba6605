// The progress of embedding through the API.

import { describe, expect, it, vi } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { useClients } from '../client.ts'

describe.each(backends)('Query.embedding, on $name', (backend) => {
  const { as, newConversation, append } = useClients(backend)

  it('reports the number of journal entries that the embedder has processed', async () => {
    const conversationId = await newConversation(['ada'])
    await append(conversationId, 'hello there')
    await vi.waitFor(
      async () => {
        const { embedding } = await as('ada')('{ embedding { embedder serving done remaining perSecond etaSeconds } }')
        expect(embedding).toEqual({
          embedder: 'static-2',
          serving: 'static-2',
          done: 2,
          remaining: 0,
          perSecond: 0,
          etaSeconds: 0,
        })
      },
      { interval: 200 },
    )
  })
})
