// The REST API through openapi-fetch, with the types that openapi-typescript makes from the server's OpenAPI document.

import assert from 'node:assert/strict'
import createClient from 'openapi-fetch'
import type { paths } from '../generated/openapi.ts'
import { check } from '../live.ts'

const client = createClient<paths>({ baseUrl: `http://${process.env.COLLOQUY}/api/v1`, headers: { 'x-actor': 'ada' } })
const conversation = 'key:rest-program'

await check('creates a conversation once', async () => {
  const create = () =>
    client.POST('/conversations', {
      params: { header: { 'Idempotency-Key': 'rest-program' } },
      body: { title: 'A trip', participants: [{ actor: 'ada' }, { actor: 'bot', kind: 'AGENT' }] },
    })
  const [first, second] = [await create(), await create()]
  assert.equal(first.data?.created, true)
  assert.equal(second.data?.created, false)
  assert.equal(second.data?.conversation.id, first.data?.conversation.id)
})

await check('appends turns and reads them in pages', async () => {
  for (const content of ['We fly to Lisbon.', 'In May.', 'For a week.']) {
    const { data } = await client.POST('/conversations/{conversation}/turns', {
      params: { path: { conversation } },
      body: { turn: { role: 'USER', content } },
    })
    assert.equal(data?.turn.text, content)
  }
  const texts: string[] = []
  for (let after: string | null | undefined; after !== null;) {
    const { data } = await client.GET('/conversations/{conversation}/turns', {
      params: { path: { conversation }, query: { first: 2, ...(after && { after }) } },
    })
    texts.push(...data!.nodes.map(({ text }) => text))
    after = data!.pageInfo.hasNextPage ? data!.pageInfo.endCursor : null
  }
  assert.deepEqual(texts, ['We fly to Lisbon.', 'In May.', 'For a week.'])
})

await check('narrows the memories of a recall by __typename', async () => {
  const { data } = await client.POST('/recall', {
    body: { conversationKey: 'rest-program', query: 'Where do we fly?', kinds: ['TURN'] },
  })
  const texts = data!.hits.map(({ memory }) => (memory.__typename === 'Turn' ? memory.text : memory.id))
  assert.equal(texts[0], 'We fly to Lisbon.')
})

await check('builds a context', async () => {
  const { data } = await client.POST('/conversations/{conversation}/context', {
    params: { path: { conversation } },
    body: { tokenBudget: 500 },
  })
  assert.equal(data?.messages.length, 3)
})

await check('receives problems with typed properties', async () => {
  const { error, response } = await client.GET('/conversations/{conversation}', {
    params: { path: { conversation: 'key:none' } },
  })
  assert.deepEqual([response.status, error?.status, error?.code], [404, 404, 'NOT_FOUND'])
})
