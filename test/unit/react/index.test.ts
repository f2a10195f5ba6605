// The hooks in server-side rendering. test/system/client-bundle.test.ts runs them in a browser.

import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { expect, it } from 'vitest'
import { connect, type Client } from '../../../src/client/index.ts'
import {
  ColloquyProvider,
  useApprovals,
  useConversation,
  useFacts,
  useInbox,
  useParticipants,
  useRecall,
  useRuns,
  useSharedState,
  useSummaries,
  useTranscript,
} from '../../../src/react/index.ts'

const client: Client = connect({
  url: 'http://127.0.0.1:9/graphql',
  fetch: () => Promise.reject(new Error('A server must not request anything while it renders.')),
})

function Chat() {
  const { turns, status } = useTranscript(useConversation({ key: 'planning' }))
  const { unreadCount } = useInbox()
  return createElement('p', null, `${status}, ${turns.length} turns, ${unreadCount} unread`)
}

it('the hooks render the state before the first read, without a request', () => {
  const page = createElement(ColloquyProvider, { client }, createElement(Chat))
  expect(renderToString(page)).toBe('<p>loading, 0 turns, 0 unread</p>')
})

function Memory() {
  const conversation = useConversation({ key: 'planning' })
  const watched = [
    useFacts(conversation),
    useSummaries(conversation),
    useParticipants(conversation),
    useRuns(conversation),
    useApprovals(conversation, { state: 'PENDING' }),
    useRecall(conversation, 'When?'),
    useSharedState(conversation, 'board'),
  ]
  return createElement('p', null, watched.map(({ status, value }) => `${status} ${value}`).join(', '))
}

it('the hooks of values render no value before the first read', () => {
  const page = createElement(ColloquyProvider, { client }, createElement(Memory))
  expect(renderToString(page)).toBe(`<p>${Array(7).fill('loading null').join(', ')}</p>`)
})

it('the hooks fail outside of a ColloquyProvider, with an error that names the component to add', () => {
  expect(() => renderToString(createElement(Chat))).toThrow('Render a ColloquyProvider with a client')
})
