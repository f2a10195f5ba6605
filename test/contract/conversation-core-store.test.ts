// Runs the contract of the conversation stores of document 003 (docs/library.md) on the in-memory store, and on
// ColloquyConversationStore in the process and over GraphQL.

import { describe } from 'vitest'
import {
  ColloquyConversationStore,
  connectTranscript,
  InMemoryConversationStore,
} from '../../src/conversation-core/index.ts'
import { openTranscript } from '../../src/open-transcript.ts'
import { backends } from '../support/backend.ts'
import { useServer } from '../support/server.ts'
import { testConversationCoreStore } from './conversation-core-store.ts'

testConversationCoreStore('InMemoryConversationStore', () => new InMemoryConversationStore())

describe.each(backends)('ColloquyConversationStore on $name', (backend) => {
  const server = useServer(backend)
  testConversationCoreStore('in the process', () => {
    return new ColloquyConversationStore(openTranscript(server.deps, server.tenant().as('owner')))
  })
  testConversationCoreStore('over GraphQL', () => {
    const { name: tenant } = server.tenant()
    return new ColloquyConversationStore(connectTranscript({ url: `${server.url}/graphql`, tenant, actor: 'owner' }))
  })
})
