import { buildSchema, parse, validate } from 'graphql'
import { describe, expect, it } from 'vitest'
import { selectsPerViewer } from '../../src/graphql/per-viewer.ts'
import { schema } from '../../src/graphql/schema.ts'

const asks = (text: string, operationName?: string) => {
  const document = parse(text)
  const errors = validate(schema, document).filter(({ message }) => !/never used/.test(message))
  expect(errors).toEqual([])
  return selectsPerViewer(schema, document, operationName)
}
const following = (selection: string) => `subscription { conversationEvents(conversationId: "c") { ${selection} } }`

describe('selectsPerViewer', () => {
  it('lets what is the same for a class of viewers be executed once', () => {
    expect(asks(following('__typename seq at'))).toBe(false)
    expect(
      asks(
        following(`
      ... on TurnAppended { turn { id actor text parts { ... on TextPart { text } } conversation { title lastSeq } } }
      ... on TurnSuperseded { turn { id } by { id text } }
      ... on FactsChanged { facts { id object sourceTurn { text } } }
      ... on ParticipantRead { participant { actor lastReadSeq presence } }`),
      ),
    ).toBe(false)
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
    '... on TurnAppended { turn { conversation { participants { unread: unreadCount } } } }',
    '... on TurnAppended @skip(if: true) { turn { supersededBy { id } } }',
  ])('tells viewers apart for { %s }', (selection) => {
    expect(asks(following(selection))).toBe(true)
  })

  it('looks into fragments, also those within fragments', () => {
    const fragments = `
      fragment Outer on TurnAppended { turn { ...Inner } }
      fragment Inner on Turn { id supersededBy { id } }`
    expect(asks(following('...Outer') + fragments)).toBe(true)
    expect(asks(following('seq') + fragments)).toBe(false)
  })

  it('looks at the operation that is asked for, and at no other', () => {
    const document = `
      subscription Plain { conversationEvents(conversationId: "c") { seq } }
      query Counts { conversation(id: "c") { turnCount } }`
    expect(asks(document, 'Plain')).toBe(false)
    expect(asks(document, 'Counts')).toBe(true)
    expect(asks(document, 'None')).toBe(false)
  })

  it('goes by the mark on the field, whatever the schema', () => {
    const other = buildSchema('type Query { plain: Int marked: Int }')
    Object.assign(other.getQueryType()!.getFields().marked!, { extensions: { perViewer: true } })
    expect(selectsPerViewer(other, parse('{ plain }'))).toBe(false)
    expect(selectsPerViewer(other, parse('query Named { marked }'))).toBe(true)
  })
})
