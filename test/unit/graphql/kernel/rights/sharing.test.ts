// The marks of fields that have the same value for all viewers of a view class, and the check of selections by these
// marks.

import {
  buildSchema,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isUnionType,
  parse,
  validate,
  type GraphQLCompositeType,
  type GraphQLSchema,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { schema } from '../../../../../src/graphql/schema.ts'
import type { Sharing } from '../../../../../src/graphql/kernel/field-options.ts'
import { selectsOnlyShareable, sharingOf } from '../../../../../src/graphql/kernel/rights/sharing.ts'

const isShared = (text: string, operationName?: string) => {
  const document = parse(text)
  const errors = validate(schema, document).filter(({ message }) => !/never used/.test(message))
  expect(errors).toEqual([])
  return selectsOnlyShareable(schema, document, operationName)
}
const following = (selection: string) => `subscription { conversationEvents(conversationId: "c") { ${selection} } }`

/** The fields that a subscription to a conversation's events can select, at any depth, with their sharing. */
function selectable(schema: GraphQLSchema): Map<string, Sharing | null> {
  const root = schema.getSubscriptionType()!.getFields().conversationEvents!
  const found = new Map([['Subscription.conversationEvents', sharingOf(root)]])
  const seen = new Set<GraphQLCompositeType>()
  const visit = (type: GraphQLCompositeType) => {
    if (seen.has(type)) return
    seen.add(type)
    if (isAbstractType(type)) schema.getPossibleTypes(type).forEach(visit)
    if (isUnionType(type)) return
    for (const field of Object.values(type.getFields())) {
      found.set(`${type.name}.${field.name}`, sharingOf(field))
      const result = getNamedType(field.type)
      if (isCompositeType(result)) visit(result)
    }
  }
  visit(getNamedType(root.type) as GraphQLCompositeType)
  return found
}

describe('sharingOf', () => {
  const fields = selectable(schema)
  const fieldsWith = (sharing: Sharing | null) =>
    [...fields]
      .filter(([, each]) => each === sharing)
      .map(([name]) => name)
      .sort()

  it('is not null for any field that a subscription to events can select', () => {
    expect(fields.size).toBeGreaterThan(100)
    expect(fieldsWith(null), 'give each of these the option sharing (src/graphql/kernel/field-options.ts)').toEqual([])
  })

  it('is PER_VIEWER for the fields that are read in a view', () => {
    expect(fieldsWith('PER_VIEWER')).toEqual([
      'Approval.run',
      'Conversation.facts',
      'Conversation.history',
      'Conversation.lastTurn',
      'Conversation.pendingAnswers',
      'Conversation.runs',
      'Conversation.sharedState',
      'Conversation.sharedStates',
      'Conversation.summaries',
      'Conversation.summarizedThrough',
      'Conversation.summary',
      'Conversation.tokenCount',
      'Conversation.tokenUsage',
      'Conversation.turnCount',
      'Conversation.turns',
      'Conversation.viewerParticipant',
      'Conversation.viewerUnreadCount',
      'Fact.sourceConversation',
      'Fact.sourceTurn',
      'Fact.sources',
      'Fact.supersededBy',
      'Fact.usedIn',
      'FactSource.conversation',
      'FactSource.turn',
      'Participant.tokenUsage',
      'Participant.unreadCount',
      'PendingAnswer.run',
      'PendingAnswer.turn',
      'ProviderCall.reply',
      'Run.approvals',
      'Run.calls',
      'Run.replies',
      'Run.replyTo',
      'SharedStateChanged.state',
      'Turn.context',
      'Turn.replyTo',
      'Turn.supersededBy',
      'Turn.supersedes',
      'Turn.usedIn',
      'Turn.version',
    ])
  })

  it('is SHAREABLE for an exposed column, unless the column is marked or its resolver is wrapped', () => {
    const [field] = Object.values(buildSchema('type Query { column: Int }').getQueryType()!.getFields())
    const sharing = (extensions: object) => sharingOf({ ...field!, extensions: extensions as never })
    const exposed = { pothosExposedField: 'column', pothosResolveWrapped: false }
    expect(sharing({})).toBeNull()
    expect(sharing(exposed)).toBe('SHAREABLE')
    expect(sharing({ ...exposed, pothosResolveWrapped: true })).toBeNull()
    expect(sharing({ ...exposed, sharing: 'PER_VIEWER' })).toBe('PER_VIEWER')
    expect(sharing({ sharing: 'SHAREABLE' })).toBe('SHAREABLE')
  })
})

describe('selectsOnlyShareable', () => {
  it('is true for selections with equal results for all viewers of a view class', () => {
    expect(isShared(following('__typename seq at'))).toBe(true)
    expect(
      isShared(
        following(`
      ... on TurnAppended { turn { id actor author { displayName } position isEdited text parts { ... on TextPart { text } } conversation { title lastSeq } } }
      ... on TurnSuperseded { turn { id } by { id text } }
      ... on FactsChanged { facts { id object assertedBy } }
      ... on ParticipantRead { participant { actor lastReadSeq presence } }`),
      ),
    ).toBe(true)
  })

  it.each([
    '... on ParticipantRead { participant { unreadCount } }',
    '... on ConversationUpdated { conversation { turnCount } }',
    '... on ConversationUpdated { conversation { tokenCount } }',
    '... on ConversationUpdated { conversation { turns(last: 1) { pageInfo { hasNextPage } } } }',
    '... on ConversationUpdated { conversation { history { ... on Turn { id } } } }',
    '... on TurnSuperseded { turn { supersededBy { id } } }',
    '... on FactsChanged { facts { supersededBy { id } } }',
    '... on ConversationUpdated { conversation { facts { pageInfo { hasNextPage } } } }',
    '... on TurnAppended { turn { conversation { participants { nodes { unread: unreadCount } } } } }',
    '... on TurnAppended @skip(if: true) { turn { supersededBy { id } } }',
  ])('is false for { %s }', (selection) => {
    expect(isShared(following(selection))).toBe(false)
  })

  it('checks fragments, including nested fragments', () => {
    const fragments = `
      fragment Outer on TurnAppended { turn { ...Inner } }
      fragment Inner on Turn { id supersededBy { id } }`
    expect(isShared(following('...Outer') + fragments)).toBe(false)
    expect(isShared(following('seq') + fragments)).toBe(true)
  })

  it('checks the named operation only, and is false if it does not exist', () => {
    const document = `
      subscription Plain { conversationEvents(conversationId: "c") { seq } }
      query Counts { conversation(id: "c") { turnCount } }`
    expect(isShared(document, 'Plain')).toBe(true)
    expect(isShared(document, 'Counts')).toBe(false)
    expect(isShared(document, 'None')).toBe(false)
  })

  it('is false for a field without a mark', () => {
    const other = buildSchema('type Query { marked: Int unmarked: Int }')
    Object.assign(other.getQueryType()!.getFields().marked!, { extensions: { sharing: 'SHAREABLE' } })
    expect(selectsOnlyShareable(other, parse('{ marked }'))).toBe(true)
    expect(selectsOnlyShareable(other, parse('{ marked unmarked }'))).toBe(false)
  })

  it('checks the field of every type that a selection on an interface or union may execute', () => {
    const other = buildSchema(`
      interface Named { name: Int }
      type Plain implements Named { name: Int }
      type Odd implements Named { name: Int }
      type Query { named: Named }`)
    const mark = (type: string, field: string) =>
      Object.assign((other.getType(type) as never as { getFields(): Record<string, object> }).getFields()[field]!, {
        extensions: { sharing: 'SHAREABLE' },
      })
    mark('Query', 'named')
    mark('Named', 'name')
    mark('Plain', 'name')
    expect(selectsOnlyShareable(other, parse('{ named { ... on Plain { name } } }'))).toBe(true)
    expect(selectsOnlyShareable(other, parse('{ named { name } }'))).toBe(false)
    mark('Odd', 'name')
    expect(selectsOnlyShareable(other, parse('{ named { name } }'))).toBe(true)
  })
})
