// The data layer of a chat front end with a bare client of graphql-ws.

import { ask, open, type Options } from './connection.graphql-ws.ts'

type Turn = { id: string; seq: number; position: number; actor: string; status: string; text: string }

const TURN = 'turn { id seq position actor status text }'
const READ = `query ($id: ID!) {
  conversation(id: $id) { lastSeq history { ... on Turn { id seq position actor status text } } }
}`
const FOLLOW = `subscription ($id: ID!, $afterSeq: Int) {
  conversationEvents(conversationId: $id, afterSeq: $afterSeq) {
    __typename
    seq
    ... on TurnAppended { ${TURN} }
    ... on TurnOpened { ${TURN} }
    ... on TurnCommitted { ${TURN} }
    ... on TurnAborted { ${TURN} }
    ... on TurnErased { ${TURN} }
    ... on TurnSuperseded { turn: by { id seq position actor status text } }
    ... on TurnDelta { turnId start text }
    ... on Gap { resumeAfterSeq }
  }
}`
const APPEND = `mutation ($input: AppendTurnInput!) {
  appendTurn(input: $input) { ... on AppendTurnPayload { turn { id } } ... on UserError { code message } }
}`

export function openChat(options: Options, id: string, onChange: () => void) {
  const client = open(options)
  const turns = new Map<number, Turn>()
  let last = 0
  let close = () => {}

  function merge(turn: Turn): void {
    const shown = turns.get(turn.position)
    if (shown && turn.seq < shown.seq) return
    if (shown?.seq === turn.seq && turn.status === 'STREAMING') {
      if (shown.status !== 'STREAMING' || shown.text.length > turn.text.length) return
    }
    turns.set(turn.position, turn)
  }
  function apply(event: any): void {
    last = event.seq ?? event.resumeAfterSeq ?? last
    if (event.turn) merge(event.turn)
    if (event.__typename === 'TurnDelta') {
      const turn = [...turns.values()].find((each) => each.id === event.turnId)
      const end = event.start + event.text.length
      if (turn && end > turn.text.length) turn.text = turn.text.slice(0, event.start) + event.text
    }
    if (event.__typename === 'ConversationDeleted') turns.clear()
    if (event.__typename === 'Gap') void read()
    onChange()
  }
  async function read(): Promise<void> {
    const conversation = await ask(client, READ, { id })
    turns.clear()
    conversation.history.forEach(merge)
    last = Math.max(last, conversation.lastSeq)
    onChange()
  }
  const variables = {
    id,
    get afterSeq() {
      return last
    },
  }
  void read().then(() => {
    const next = ({ data }: any) => apply(data.conversationEvents)
    close = client.subscribe({ query: FOLLOW, variables }, { next, error: console.error, complete: () => {} })
  })
  return {
    lines: () => {
      const sorted = [...turns.values()].sort((a, b) => a.position - b.position)
      return sorted.map(({ actor, text }) => `${actor}: ${text}`)
    },
    send: (content: string) => {
      const turn = { role: 'USER', content, clientId: crypto.randomUUID() }
      return ask(client, APPEND, { input: { conversationId: id, turn } })
    },
    close: () => {
      close()
      void client.dispose()
    },
  }
}
