// The sweep that aborts streaming turns whose lease has expired: a tenant's silent turn, which receives no delta, is
// aborted in time, even if another tenant has many silent turns.

import { check, newConversation, sleep, type Attack } from './attack.ts'
import type { Target } from './target.ts'

const LEASE_SECONDS = 8
/** Number of silent turns of the attacking tenant. The server limits the open turns per conversation and per viewer. */
const SILENT_TURNS = 1_500
const CONVERSATION_TURNS = 100
const VIEWERS = 2

const OPEN = `mutation ($input: OpenTurnInput!) {
  openTurn(input: $input) { ... on OpenTurnPayload { turn { id } } ... on UserError { message } }
}`
const STATUS = 'query ($id: ID!) { node(id: $id) { ... on Turn { status } } }'
const input = (conversationId: string) => ({
  conversationId,
  writerToken: 'a-token-of-sixteen-or-more',
  turn: { role: 'ASSISTANT' },
})

async function openMany(target: Target): Promise<void> {
  for (let opened = 0; opened < SILENT_TURNS; opened += CONVERSATION_TURNS) {
    const conversationId = await newConversation(target)
    const actor = `writer ${(opened / CONVERSATION_TURNS) % VIEWERS}`
    await Promise.all(
      Array.from({ length: CONVERSATION_TURNS }, () =>
        target.get(OPEN, { input: input(conversationId) }, { tenant: 'attacked', actor }),
      ),
    )
  }
}

export const leaseAttack: Attack = {
  section: 'A9',
  name: `a silent turn after ${SILENT_TURNS} silent turns of another tenant`,
  env: { STREAM_LEASE_SECONDS: String(LEASE_SECONDS) },
  async run(target) {
    await openMany(target)
    const options = { tenant: 'neighbour', actor: 'nina' }
    const { conversation } = await target.get<{ conversation: { id: string } }>(
      'mutation { createConversation(input: {}) { ... on CreateConversationPayload { conversation { id } } } }',
      {},
      options,
    )
    const opening = { input: input(conversation.id) }
    const { id } = (await target.get<{ turn: { id: string } }>(OPEN, opening, options)).turn
    const openedAt = performance.now()
    const seconds = () => (performance.now() - openedAt) / 1000
    for (;;) {
      const { status } = await target.get<{ status: string }>(STATUS, { id }, options)
      if (status === 'ABORTED') break
      check(seconds() <= 2 * LEASE_SECONDS, `was open for more than two leases of ${LEASE_SECONDS} s`)
      await sleep(50)
    }
    return `aborted after ${(seconds() / LEASE_SECONDS).toFixed(2)} leases of ${LEASE_SECONDS} s`
  },
}
