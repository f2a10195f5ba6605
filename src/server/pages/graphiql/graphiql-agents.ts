// The last tabs of graphiql.ts: an agent that the server runs, and an agent that runs outside the server.

export const agentQueries: readonly string[] = [
  `
# 10. Let an agent of the server answer: run
# Invite, then Ask. Its provider "echo" needs no
# model: it quotes the sentence that shares the
# most words with the question. To ask again,
# change the clientId. A mention (@guide) also
# runs the agent.
mutation Invite {
  addParticipant(input: {
    conversationKey: "welcome"
    participant: {
      actor: "guide"
      respond: MENTIONED
      agent: { provider: "echo" }
    }
  }) {
    ... on AddParticipantPayload {
      participant { actor kind respond }
    }
    ... on UserError { code message }
  }
}

mutation Ask {
  runTurn(input: {
    conversationKey: "welcome"
    actor: "guide"
    clientId: "ask-1"
    turns: [{
      role: USER
      content: "What is on Monday at seven?"
    }]
  }) {
    ... on RunTurnPayload {
      run {
        state
        replies { actor text }
        tokenUsage { total }
      }
    }
    ... on UserError { code message }
  }
}`,
  `
# 11. Mention scout, an agent that runs outside
# the server: run Mention, then WakeUps. Its
# process finds the turn there, or in the
# subscription inbox, and claims it to answer.
mutation Mention {
  addParticipant(input: {
    conversationKey: "welcome"
    participant: {
      actor: "scout"
      respond: MENTIONED
    }
  }) {
    ... on AddParticipantPayload {
      participant { actor respond }
    }
    ... on UserError { code message }
  }
  appendTurn(input: {
    conversationKey: "welcome"
    turn: {
      role: USER
      content: "@scout Is the harbour open?"
    }
  }) {
    ... on AppendTurnPayload {
      turn { id mentions { actor } }
    }
    ... on UserError { code message }
  }
}

query WakeUps {
  wakeUps(first: 10, as: "scout") {
    nodes {
      createdAt
      turn { id actor text }
      claim { expiresAt }
    }
  }
}`,
]
