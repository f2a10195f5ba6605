// The columns of the access matrix: operations for each field of Query, Mutation and Subscription. Most are generated
// from the schema; crafted-operations.ts adds inputs that cannot be generated.

import { Kind as Syntax, parse, print, type FieldNode } from 'graphql'
import { schema } from '../../../src/graphql/schema.ts'
import { rootFieldsOf, type Leaf, type RootField } from '../../support/generated-operations.ts'
import { isExhaustive } from '../../support/long.ts'
import { choicesOf, valuesOf } from '../driven-server.ts'
import { CRAFTED } from './crafted-operations.ts'
import { unknownIds, type Ids } from './filled-world.ts'
import type { Row } from './rows.ts'

export type Request = { query: string; variables?: Record<string, unknown> }
export type Operation = {
  field: string
  /** The optional argument that the operation contains, or the number of a crafted operation. */
  label: string
  isPlain: boolean
  /** @param text part of each text argument */
  request(row: Row, ids: Ids, text: string): Request
}

/** Whether the argument identifies a conversation, or an object of one. */
const isId = ({ type, name }: Leaf) => type === 'ID' || name === 'conversationKey'

/** Fields that act on every conversation of the tenant, whether or not the actor sees it. */
const OF_OPERATORS = [
  'Mutation.eraseUser',
  'Mutation.pruneConversations',
  'Mutation.setLegalHold',
  'Mutation.startExport',
]
/** Fields that a viewer of a whisper may use on its conversation, and that remove private turns or their audience. */
const OF_CONVERSATIONS = ['Mutation.deleteConversation', 'Mutation.removeParticipant']
/** Is accepted in the conversation of a whisper, so whisper-events.ts tests it. */
const OF_EVENTS = 'Subscription.conversationEvents'
/** Reports the progress of all tenants together. */
const OF_ALL_TENANTS = 'Query.embedding'
/** Fields whose effect on a tenant changes the answers to later operations, so they come last, in this order. */
const LAST = [
  'Mutation.updateTenantSettings',
  'Mutation.createConversation',
  'Mutation.deleteConversation',
  ...OF_OPERATORS.toReversed(),
]
/** Comes before recall, which marks facts as recalled a moment later. */
const FIRST = 'Query.memoryAudit'

const rankOf = ({ name }: RootField) => (name === FIRST ? -1 : LAST.indexOf(name) + 1)
/** Every field of the root types, in the order in which the matrix sends its operations. */
export const fields: readonly RootField[] = rootFieldsOf(schema, 3).toSorted((a, b) => rankOf(a) - rankOf(b))

/** Whether a row sends the operations of the field. */
const isAsked = ({ of }: Row, field: RootField): boolean =>
  field.name !== OF_ALL_TENANTS
  && (of === 'FOREIGN' || !OF_OPERATORS.includes(field.name))
  && (of !== 'WHISPER' || ![...OF_CONVERSATIONS, OF_EVENTS].includes(field.name))

/**
 * Whether the row sends operations with the argument. `as` and `actor` make a viewer of the tenant act as another actor.
 * A viewer of a whisper may let its conversation expire, which deletes the private turns, and may change its visibility,
 * which is stored in each fact.
 */
function isAllowed({ of }: Row, chosen: readonly string[]): boolean {
  const last = chosen.at(-1)?.split('.').at(-1) ?? ''
  if (of === 'FOREIGN') return true
  const ofConversation = of === 'WHISPER' ? ['retention', 'ttlSeconds', 'expiresAt', 'visibility'] : []
  return !['as', 'actor', ...ofConversation].includes(last)
}

function generatedFor(row: Row, field: RootField): Operation[] {
  const as = row.as === undefined ? undefined : field.leaves.find(({ name }) => name === 'as')
  const choices = choicesOf(field)
  const isInteresting = (chosen: string[]) => field.leaves.some((leaf) => isId(leaf) && chosen.at(-1) === leaf.path)
  // The first choice is the plain call; the others add one argument each. The arguments of subscriptions that are no ids
  // only select events, so that the event that the test waits for may not arrive.
  const isEvery = isExhaustive && field.kind !== 'subscription'
  const others = choices.slice(1).filter((chosen) => isEvery || ((isExhaustive || row.isFull) && isInteresting(chosen)))
  const sent = [choices[0]!, ...others]
  return sent
    .filter((chosen) => isAllowed(row, chosen))
    .map((chosen, index) => ({
      field: field.name,
      label: chosen.at(-1) ?? 'without arguments',
      isPlain: index === 0,
      request(_, ids, text) {
        const valueOf = valuesOf(schema, field, ids, text, ids.writerToken)
        const variables = field.variables(as ? [...chosen, as.path] : chosen, (leaf) =>
          leaf === as ? row.as : valueOf(leaf),
        )
        return { query: field.query, variables }
      },
    }))
}

/** Returns the operation with `as` in each root field that accepts it. */
function actingAs(query: string, actor: string): string {
  const as = { name: { kind: Syntax.NAME, value: 'as' }, value: { kind: Syntax.STRING, value: actor } } as const
  const document = parse(query)
  const accepts = (type: string, field: string) =>
    fields.some(({ name, leaves }) => name === `${type}.${field}` && leaves.some((leaf) => leaf.name === 'as'))
  const named = (type: string, field: FieldNode): FieldNode => {
    if (!accepts(type, field.name.value)) return field
    const [input] = field.arguments ?? []
    if (input?.value.kind !== Syntax.OBJECT || input.name.value !== 'input') {
      return { ...field, arguments: [...(field.arguments ?? []), { kind: Syntax.ARGUMENT, ...as }] }
    }
    const given = [...input.value.fields, { kind: Syntax.OBJECT_FIELD, ...as } as const]
    return { ...field, arguments: [{ ...input, value: { ...input.value, fields: given } }] }
  }
  return print({
    ...document,
    definitions: document.definitions.map((each) => {
      if (each.kind !== Syntax.OPERATION_DEFINITION) return each
      const type = each.operation === 'query' ? 'Query' : 'Mutation'
      const selections = each.selectionSet.selections.map((selection) => named(type, selection as FieldNode))
      return { ...each, selectionSet: { ...each.selectionSet, selections } }
    }),
  })
}

function craftedFor(row: Row, field: RootField): Operation[] {
  // A key with all rights permits what a client without authentication may do.
  if (row.key === 'ALL_RIGHTS') return []
  const count = CRAFTED[field.name]?.(unknownIds(), 'nobody').length ?? 0
  return Array.from({ length: count }, (_, index) => ({
    field: field.name,
    label: `crafted operation ${index + 1}`,
    isPlain: false,
    request(_, ids) {
      const query = CRAFTED[field.name]!(ids, row.as ?? row.actor ?? 'anonymous')[index]!
      return { query: row.as === undefined ? query : actingAs(query, row.as) }
    },
  }))
}

/** Returns the operations of a field that the viewer of the row sends, in their order. */
export const operationsFor = (row: Row, field: RootField): Operation[] =>
  isAsked(row, field) ? [...craftedFor(row, field), ...generatedFor(row, field)] : []
