// The tabs GraphiQL opens with: the conversation's story in seven steps, each ready to run.

const tab = (query: string, variables: object = {}) => ({
  query: query.trim(),
  variables: JSON.stringify(variables, null, 2),
  headers: '{\n  "x-actor": "ada"\n}',
})

export const tabs = [
  tab(`
# 1. A conversation for three. Run it (Ctrl-Enter), and note its id.
# Again, it gives the same conversation: the key is yours.
mutation CreateRoom {
  createConversation(input: {
    key: "welcome"
    title: "Welcome"
    participants: [
      { actor: "ada", displayName: "Ada" }
      { actor: "scout", kind: AGENT }
      { actor: "scribe", kind: AGENT }
    ]
  }) {
    ... on Conversation {
      id title lastSeq
      participants { actor kind }
    }
    ... on Error { code message }
  }
}`),
  tab(
    `
# 2. Watch it live: put the conversation's id into the variables,
# run this, then say something in the next tab.
subscription Watch($conversationId: ID!) {
  conversationEvents(conversationId: $conversationId, after: 0) {
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
# 3. Say something. With a clientId, sending it again
# gives back the first turn.
mutation Say($conversationId: ID!) {
  appendTurn(input: {
    conversationId: $conversationId
    turn: {
      role: USER
      content: "Good morning. What did we decide?"
      clientId: "hello-1"
    }
  }) {
    ... on Turn { id seq text tokenCount }
    ... on Error { code message }
  }
}`,
    { conversationId: 'conv_…' },
  ),
  tab(
    `
# 4. A whisper: only scout sees it.
# Read back as scribe, and it is not there.
mutation Whisper($conversationId: ID!) {
  appendTurn(input: {
    conversationId: $conversationId
    turn: {
      role: USER
      content: "Between us: the date is not fixed yet."
      audience: ["scout"]
    }
  }) {
    ... on Turn { id seq audience }
    ... on Error { code message }
  }
}`,
    { conversationId: 'conv_…' },
  ),
  tab(
    `
# 5. Read back as somebody: change \`as\`, see what they see.
query ReadBack($conversationId: ID!) {
  conversation(id: $conversationId) {
    title
    turns(last: 20, as: "scribe") {
      edges { cursor node { seq actor role text createdAt } }
      pageInfo { hasPreviousPage startCursor }
    }
  }
}`,
    { conversationId: 'conv_…' },
  ),
  tab(
    `
# 6. Find it again, in your own words. With \`as: "scribe"\`
# in the input, the whisper is not found.
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
    ... on Error { code message }
  }
}`,
    { conversationId: 'conv_…' },
  ),
  tab(
    `
# 7. Write down what is known. Again, it is counted and
# not written twice, however it is spelt.
mutation Remember($conversationId: ID!) {
  recordFacts(input: {
    conversationId: $conversationId
    facts: [
      { subject: "Ada", predicate: "lives in", object: "Rome" }
    ]
  }) {
    ... on FactExtraction {
      facts { id userId subject predicate object saidBy }
      exactDuplicatesSkipped
    }
    ... on Error { code message }
  }
}`,
    { conversationId: 'conv_…' },
  ),
  tab(
    `
# 8. What a model is sent: under its budget, as the agent
# sees it, with what is known and what is recalled.
query Context($conversationId: ID!) {
  buildContext(input: {
    conversationId: $conversationId
    as: "scribe"
    tokenBudget: 2000
    includeFacts: true
    semanticRecall: { k: 3 }
  }) {
    ... on Context {
      tokens stablePrefixTokens
      messages { role name content }
      items { kind included reason tokens }
    }
    ... on Error { code message }
  }
}`,
    { conversationId: 'conv_…' },
  ),
]
