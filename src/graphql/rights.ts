// Adds the rights that each root field needs to its description, from the table in domain/rights.ts.

import type { GraphQLSchema } from 'graphql'
import { describeRule, VERBS, type Verb } from '../domain/rights.ts'

/** The verbs of root fields whose name is not that of their verb. */
const OTHER_NAMES: Readonly<Record<string, Verb>> = {
  apiKeys: 'getApiKeys',
  conversation: 'getConversations',
  conversations: 'getConversationPage',
  conversationEvents: 'readEventsOf',
  embedding: 'getEmbeddingProgress',
  facts: 'getFactPage',
  inbox: 'readInbox',
  jobs: 'getJobs',
  memoryAudit: 'auditMemory',
  userProfile: 'getProfiles',
}

/** Returns the verb of a root field; null for `viewer`, which needs no right, and for `node` and `nodes`, which read any object. */
export const verbOf = (field: string): Verb | null =>
  OTHER_NAMES[field] ?? (Object.hasOwn(VERBS, field) ? (field as Verb) : null)

/** Changes and returns the schema. */
export function describeRights(schema: GraphQLSchema): GraphQLSchema {
  for (const root of [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]) {
    for (const field of Object.values(root?.getFields() ?? {})) {
      const verb = verbOf(field.name)
      if (verb) field.description = `${field.description} ${describeRule(VERBS[verb])}`
    }
  }
  return schema
}
