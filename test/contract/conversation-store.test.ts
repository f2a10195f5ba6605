// Runs the contract of the conversation stores of document 002 on the in-memory store, and on ColloquyConversationStore
// in the process and over GraphQL. Each test uses its own tenant.

import { describe } from 'vitest'
import {
  ColloquyConversationStore,
  connectTranscript,
  InMemoryConversationStore,
} from '../../src/conversation-store/index.ts'
import { openTranscript } from '../../src/open-transcript.ts'
import { backends } from '../support/backend.ts'
import { useServer } from '../support/server.ts'
import { testConversationStore } from './conversation-store.ts'

testConversationStore('InMemoryConversationStore', () => new InMemoryConversationStore())

describe.each(backends)('ColloquyConversationStore on $name', (backend) => {
  const server = useServer(backend)
  testConversationStore('in the process', () => {
    return new ColloquyConversationStore(openTranscript(server.deps, server.tenant().as('service')))
  })
  testConversationStore('over GraphQL', () => {
    const { name: tenant } = server.tenant()
    return new ColloquyConversationStore(connectTranscript({ url: `${server.url}/graphql`, tenant, actor: 'service' }))
  })
})
