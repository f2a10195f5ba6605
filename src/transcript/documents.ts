// The GraphQL documents of connect.ts. A test validates them against schema.graphql.

const CONVERSATION = `fragment StoredConversation on Conversation {
  id key owner agentName title metadata createdAt updatedAt turnCount
}`

const FAILURE = `... on UserError { code message }`

export const CREATE_CONVERSATION = `mutation CreateStoredConversation($input: CreateConversationInput!) {
  result: createConversation(input: $input) {
    ... on CreateConversationPayload { created conversation { ...StoredConversation } }
    ${FAILURE}
  }
}
${CONVERSATION}`

export const FIND_CONVERSATION = `query FindStoredConversation($id: ID, $key: String, $as: String) {
  conversation(id: $id, key: $key, as: $as) { ...StoredConversation }
}
${CONVERSATION}`

export const UPDATE_CONVERSATION = `mutation UpdateStoredConversation($input: UpdateConversationInput!) {
  result: updateConversation(input: $input) {
    ... on UpdateConversationPayload { conversation { ...StoredConversation } }
    ${FAILURE}
  }
}
${CONVERSATION}`

export const LIST_CONVERSATIONS = `query ListStoredConversations(
  $filter: ConversationFilter, $after: String, $as: String
) {
  conversations(filter: $filter, after: $after, orderBy: UPDATED_AT, as: $as) {
    pageInfo { hasNextPage endCursor }
    edges { node { ...StoredConversation } }
  }
}
${CONVERSATION}`

export const APPEND_TURNS = `mutation AppendStoredTurns($input: AppendTurnsInput!) {
  result: appendTurns(input: $input) {
    ... on AppendTurnsPayload { lastSeq }
    ${FAILURE}
  }
}`

export const READ_TURNS = `query ReadStoredTurns($id: ID!, $last: Int!, $before: String, $as: String) {
  conversation(id: $id, as: $as) {
    id
    turns(last: $last, before: $before) {
      pageInfo { hasPreviousPage startCursor }
      edges {
        node {
          id actor role status metadata createdAt traceId
          citations { documentId documentName chunk score }
          parts {
            __typename
            ... on TextPart { text }
            ... on ToolCallPart { callId name arguments }
            ... on ToolResultPart { callId name result }
            ... on DataPart { data }
            ... on FilePart { mediaType url fileName caption }
            ... on ReasoningPart { reasoning }
          }
        }
      }
    }
  }
}`

export const DELETE_CONVERSATION = `mutation DeleteStoredConversation($input: DeleteConversationInput!) {
  result: deleteConversation(input: $input) {
    ... on DeleteConversationPayload { deletedConversationId }
    ${FAILURE}
  }
}`
