// The default tabs of GraphiQL: a tour of the API, with one runnable operation per step.

const tab = (query: string, variables: object = {}) => ({
  query: query.trim(),
  variables: JSON.stringify(variables, null, 2),
  headers: '{\n  "x-actor": "ada"\n}',
})

export const tabs = [
  tab(`
# 1. Create a conversation. Run it (Ctrl-Enter), and copy its id.
# Run it again: the key returns the same conversation.
# The tab "Headers" names the actor, percent-encoded: Zo%C3%AB for Zoë.
mutation CreateConversation {
  createConversation(input: {
    key: "welcome"
    title: "Welcome"
    participants: [
      { actor: "ada", displayName: "Ada" }
      { actor: "scout", kind: AGENT }
      { actor: "scribe", kind: AGENT }
    ]
  }) {
    ... on CreateConversationPayload { conversation {
      id title lastSeq
      participants { nodes { actor kind } }
    } }
    ... on UserError { code message }
  }
}`),
  tab(
    `
# 2. Watch it live: set the conversation's id in the variables,
# run this, then append a turn in the next tab.
subscription Watch($conversationId: ID!) {
  conversationEvents(conversationId: $conversationId, afterSeq: 0) {
    __typename
    seq
    ... on TurnAppended { turn { actor text } }
    ... on TurnDelta { turnId start text }
    ... on TurnCommitted { turn { actor text } }
    ... on ParticipantJoined { participant { actor } }
  }
}`,
    { conversationId: 'conv_…' },
  ),
  tab(
    `
# 3. Append a turn. Because of the clientId, a retry
# returns the first turn.
mutation Append($conversationId: ID!) {
  appendTurn(input: {
    conversationId: $conversationId
    turn: {
      role: USER
      content: "Good morning. What did we decide?"
      clientId: "hello-1"
    }
  }) {
    ... on AppendTurnPayload { turn { id seq text tokenCount } }
    ... on UserError { code message }
  }
}`,
    { conversationId: 'conv_…' },
  ),
  tab(
    `
# 4. Append a turn with an audience: only ada and scout
# see it. Queries of scribe do not return it.
mutation Whisper($conversationId: ID!) {
  appendTurn(input: {
    conversationId: $conversationId
    turn: {
      role: USER
      content: "Between us: the date is not fixed yet."
      audience: ["scout"]
    }
  }) {
    ... on AppendTurnPayload { turn { id seq audience } }
    ... on UserError { code message }
  }
}`,
    { conversationId: 'conv_…' },
  ),
  tab(
    `
# 5. Read the conversation as another participant:
# change \`as\`, and compare.
query Read($conversationId: ID!) {
  conversation(id: $conversationId, as: "scribe") {
    title
    turns(last: 20) {
      edges { cursor node { seq actor role text createdAt } }
      pageInfo { hasPreviousPage startCursor }
    }
  }
}`,
    { conversationId: 'conv_…' },
  ),
  tab(
    `
# 6. Search by meaning. With \`as: "scribe"\` in the input,
# the turn with an audience is not found.
query Recall($conversationId: ID!) {
  recall(input: {
    conversationId: $conversationId
    query: "Is there a date yet?"
    k: 3
    neighbours: 1
  }) {
    ... on Recall {
      hits {
        score similarity textScore
        memory {
          ... on Turn { seq actor text }
          ... on Fact { subject predicate object }
        }
        neighbours { seq actor text }
      }
      plan { vectorSearch candidates }
    }
    ... on UserError { code message }
  }
}`,
    { conversationId: 'conv_…' },
  ),
  tab(
    `
# 7. Record a fact. Run it again: the duplicate is counted,
# not stored, even if its letter case differs.
mutation Record($conversationId: ID!) {
  recordFacts(input: {
    conversationId: $conversationId
    facts: [
      { subject: "Ada", predicate: "lives in", object: "Rome" }
    ]
  }) {
    ... on RecordFactsPayload {
      facts { id userId subject predicate object saidBy }
      exactDuplicatesSkipped
    }
    ... on UserError { code message }
  }
}`,
    { conversationId: 'conv_…' },
  ),
  tab(
    `
# 8. Build the messages for a model: within a token budget,
# in the agent's view, with facts and recalled turns.
query Context($conversationId: ID!) {
  buildContext(input: {
    conversationId: $conversationId
    as: "scribe"
    tokenBudget: 2000
    includeFacts: true
    semanticRecall: { k: 3 }
  }) {
    ... on Context {
      tokenCount stablePrefixTokens
      messages { role name content }
      items { kind included reason tokenCount }
    }
    ... on UserError { code message }
  }
}`,
    { conversationId: 'conv_…' },
  ),
]
