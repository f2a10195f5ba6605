// The GraphQL documents of connect.ts. A test validates them against schema.graphql.

import { operationOf, USER_ERROR_FRAGMENT, withFragments } from '../client/verbs/fragments.ts'

const FRAGMENTS = {
  UserError: USER_ERROR_FRAGMENT,
  StoredConversation: `Conversation {
  id key owner agentName title metadata createdAt updatedAt turnCount
}`,
  StoredTurn: `Turn {
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
    ... on SourcePart { url title }
  }
}`,
}
const query = (text: string): string => withFragments(text, FRAGMENTS)
const mutation = (field: string, selection: string): string => query(operationOf('mutation', field, selection))

export const CREATE_CONVERSATION = mutation('createConversation', 'created conversation { ...StoredConversation }')
export const UPDATE_CONVERSATION = mutation('updateConversation', 'conversation { ...StoredConversation }')
export const DELETE_CONVERSATION = mutation('deleteConversation', 'deletedConversationId')
export const APPEND_TURNS = mutation('appendTurns', 'lastSeq')

export const FIND_CONVERSATION = query(`query FindStoredConversation($id: ID, $key: String, $as: String) {
  conversation(id: $id, key: $key, as: $as) { ...StoredConversation }
}`)

export const LIST_CONVERSATIONS = query(`query ListStoredConversations(
  $filter: ConversationFilter, $after: String, $as: String
) {
  conversations(filter: $filter, after: $after, orderBy: UPDATED_AT, as: $as) {
    nodes { ...StoredConversation }
    pageInfo { hasNextPage endCursor }
  }
}`)

export const READ_TURNS = query(`query ReadStoredTurns($id: ID!, $last: Int!, $before: String, $as: String) {
  conversation(id: $id, as: $as) {
    turns(last: $last, before: $before) {
      nodes { ...StoredTurn }
      pageInfo { hasPreviousPage startCursor }
    }
  }
}`)
