// The default tabs of GraphiQL: a tour of the API in the conversation with the key "welcome". After the first tab, each
// tab can be run unchanged. The headers of a tab name its actor.

import { agentQueries } from './graphiql-agents.ts'

const headersOf = (actor: string) => JSON.stringify({ 'x-actor': actor }, null, 2)

/** GraphiQL shows the headers first only if the tab that it selects on loading has no variables, not even `{}`. */
const tab = (query: string, { actor = 'ada', variables }: { actor?: string; variables?: object } = {}) => ({
  query: query.trim(),
  variables: variables ? JSON.stringify(variables, null, 2) : '',
  headers: headersOf(actor),
})

/** Headers of the first tab, because GraphiQL does not load its own headers, and of the tabs that the user adds. */
export const defaultHeaders = headersOf('ada')

export const tabs = [
  tab(`
# 1. Create a conversation: press the button, or
# Ctrl-Enter. Run it again: the key returns the
# same conversation. The tab "Headers" names the
# actor, percent-encoded: Zo%C3%AB for Zoë.
mutation Create {
  createConversation(input: {
    key: "welcome"
    title: "Welcome"
    participants: [
      { actor: "ada", displayName: "Ada" }
      { actor: "scout", kind: AGENT }
      { actor: "scribe", kind: AGENT }
    ]
  }) {
    ... on CreateConversationPayload {
      conversation {
        id
        title
        lastSeq
        participants { nodes { actor kind } }
      }
    }
    ... on UserError { code message }
  }
}`),
  tab(
    `
# 2. Watch the conversation from its start. The
# panel at the bottom lists the events, also
# while you run the next tabs.
subscription Watch($afterSeq: Int) {
  conversationEvents(
    conversationKey: "welcome"
    afterSeq: $afterSeq
  ) {
    __typename
    seq
    ... on TurnAppended { turn { actor text } }
    ... on TurnOpened { turn { actor } }
    ... on TurnDelta { start text }
    ... on TurnCommitted { turn { text } }
    ... on ParticipantJoined {
      participant { actor }
    }
  }
}`,
    { variables: { afterSeq: 0 } },
  ),
  tab(`
# 3. Append a turn. Because of the clientId, a
# retry returns the same turn. To append another
# turn, change the clientId.
mutation Append {
  appendTurn(input: {
    conversationKey: "welcome"
    turn: {
      role: USER
      content: "When do we sail?"
      clientId: "hello-1"
    }
  }) {
    ... on AppendTurnPayload {
      turn { id seq text tokenCount }
    }
    ... on UserError { code message }
  }
}`),
  tab(
    `
# 4. Stream a turn as the agent scout: run Open,
# Write (several times), and Commit. The button
# asks which one to run. This page replaces an
# empty turnId with the id of the turn that Open
# returned. Run Write within 30 s, or the server
# aborts the turn.
mutation Open($writerToken: String!) {
  openTurn(input: {
    conversationKey: "welcome"
    writerToken: $writerToken
    turn: { role: ASSISTANT }
  }) {
    ... on OpenTurnPayload {
      turn { id seq status }
    }
    ... on UserError { code message }
  }
}

mutation Write(
  $turnId: ID!
  $writerToken: String!
  $text: String!
) {
  appendDelta(input: {
    turnId: $turnId
    writerToken: $writerToken
    text: $text
  }) {
    ... on AppendDeltaPayload { end }
    ... on UserError { code message }
  }
}

mutation Commit(
  $turnId: ID!
  $writerToken: String!
) {
  commitTurn(input: {
    turnId: $turnId
    writerToken: $writerToken
  }) {
    ... on CommitTurnPayload {
      turn { seq status text }
    }
    ... on UserError { code message }
  }
}`,
    { actor: 'scout', variables: { turnId: '', writerToken: 'a-secret-of-the-writer', text: 'On Monday, at seven. ' } },
  ),
  tab(`
# 5. Append a turn with an audience: only ada
# and scout see it. Queries of scribe do not
# return it.
mutation Whisper {
  appendTurn(input: {
    conversationKey: "welcome"
    turn: {
      role: USER
      content: "The date is not fixed yet."
      audience: ["scout"]
    }
  }) {
    ... on AppendTurnPayload {
      turn { id seq audience }
    }
    ... on UserError { code message }
  }
}`),
  tab(`
# 6. Read the conversation as another
# participant: change \`as\`, and compare.
query Read {
  conversation(key: "welcome", as: "scribe") {
    title
    turns(last: 20) {
      edges {
        cursor
        node { seq actor role text createdAt }
      }
      pageInfo { hasPreviousPage startCursor }
    }
  }
}`),
  tab(`
# 7. Search by meaning. With \`as: "scribe"\` in
# the input, the turn with an audience is not
# found.
query Recall {
  recall(input: {
    conversationKey: "welcome"
    query: "Is there a date yet?"
    k: 3
    neighbours: 1
  }) {
    ... on Recall {
      hits {
        relevance
        similarity
        textScore
        memory {
          ... on Turn { seq actor text }
          ... on Fact { predicate object }
        }
        neighbours { seq actor text }
      }
      plan { vectorSearch candidates }
    }
    ... on UserError { code message }
  }
}`),
  tab(`
# 8. Record a fact. Run it again: a duplicate is
# counted but not stored, even if its letter
# case differs.
mutation Record {
  recordFacts(input: {
    conversationKey: "welcome"
    facts: [
      {
        subject: "Ada"
        predicate: "lives in"
        object: "Rome"
      }
    ]
  }) {
    ... on RecordFactsPayload {
      facts { subject predicate object saidBy }
      exactDuplicatesSkipped
    }
    ... on UserError { code message }
  }
}`),
  tab(`
# 9. Build the messages for a model: within a
# token budget, in the agent's view, with facts
# and recalled turns.
query Context {
  buildContext(input: {
    conversationKey: "welcome"
    as: "scribe"
    tokenBudget: 2000
    includeFacts: true
    semanticRecall: { k: 3 }
  }) {
    ... on Context {
      tokenCount
      stablePrefixTokens
      messages { role name content }
      items { kind included reason }
    }
    ... on UserError { code message }
  }
}`),
  ...agentQueries.map((query) => tab(query)),
]
