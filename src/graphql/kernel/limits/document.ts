// The limits of a document that need no schema, checked after parsing and before validation, because the validation of
// many repeated fields takes quadratic time. Pure; the result is cached per document.

import {
  BREAK,
  GraphQLError,
  Kind,
  visit,
  type DirectiveNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  type SelectionSetNode,
} from 'graphql'
import { JSON_DEPTH, TOO_DEEP } from '../../../domain/kernel/input.ts'
import { directiveRepeated, introspectionDisabled, tooCostly, type OperationLimits } from './limits.ts'

/** The counts of a document, one for each limit of the same name, and its first introspection field. */
export type DocumentShape = {
  depth: number
  fields: number
  aliases: number
  directives: number
  repeats: number
  /** The first field that queries the schema; null if there is none. */
  introspection: string | null
  /** The first directive that is repeated at one location; null if there is none. */
  repeatedDirective: string | null
  /** Whether a literal is nested more than LITERAL_DEPTH levels deep. */
  hasDeepLiteral: boolean
}

/**
 * Maximum nesting depth of a literal. The input objects around a JSON value have fewer levels than the 16 that are
 * added here, so this limit rejects no literal that the limit of JSON accepts.
 */
const LITERAL_DEPTH = JSON_DEPTH + 16

type Extent = { depth: number; fields: number }

const shapes = new WeakMap<DocumentNode, DocumentShape>()

/** Returns the shape of a document, which need not be valid. Takes time linear in its length. */
export function shapeOf(document: DocumentNode): DocumentShape {
  let shape = shapes.get(document)
  if (!shape) shapes.set(document, (shape = computeShape(document)))
  return shape
}

/** Whether a literal is too deep for functions that call themselves for each level, such as those of graphql-js. */
function hasDeepLiteral(document: DocumentNode): boolean {
  let depth = 0
  let found = false
  const level = {
    enter() {
      depth += 1
      if (depth <= LITERAL_DEPTH) return
      found = true
      return BREAK
    },
    leave: () => void (depth -= 1),
  }
  visit(document, { ListValue: level, ObjectValue: level })
  return found
}

function computeShape(document: DocumentNode): DocumentShape {
  const shape: DocumentShape = {
    depth: 0,
    fields: 0,
    aliases: 0,
    directives: 0,
    repeats: 0,
    introspection: null,
    repeatedDirective: null,
    hasDeepLiteral: hasDeepLiteral(document),
  }
  const countDirectives = (directives: readonly DirectiveNode[] = []) => {
    shape.directives += directives.length
    const names = directives.map(({ name }) => name.value)
    shape.repeatedDirective ??= names.find((name, at) => names.indexOf(name) < at) ?? null
  }
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const each of document.definitions) {
    if (each.kind === Kind.FRAGMENT_DEFINITION) fragments.set(each.name.value, each)
  }
  // A fragment counts as empty while its own selections are counted: validation then rejects the cycle.
  const extents = new Map<string, Extent>()
  const extentOfFragment = (name: string): Extent => {
    const cached = extents.get(name)
    if (cached) return cached
    extents.set(name, { depth: 0, fields: 0 })
    const fragment = fragments.get(name)
    const extent = fragment ? extentOf(fragment.selectionSet, new Set()) : { depth: 0, fields: 0 }
    extents.set(name, extent)
    return extent
  }

  /** `keys` contains the response names and fragment names of the selection set and of its inline fragments. */
  function extentOf({ selections }: SelectionSetNode, keys: Set<string>): Extent {
    const total: Extent = { depth: 0, fields: 0 }
    const add = (depth: number, fields: number) => {
      total.depth = Math.max(total.depth, depth)
      total.fields += fields
    }
    const countKey = (key: string) => {
      if (keys.has(key)) shape.repeats += 1
      else keys.add(key)
    }
    for (const selection of selections) {
      countDirectives(selection.directives)
      if (selection.kind === Kind.FIELD) {
        const { name, alias, selectionSet } = selection
        if (alias) shape.aliases += 1
        if (name.value === '__schema' || name.value === '__type') shape.introspection ??= name.value
        countKey(alias?.value ?? name.value)
        const below = selectionSet ? extentOf(selectionSet, new Set()) : { depth: 0, fields: 0 }
        add(below.depth + 1, below.fields + 1)
      } else if (selection.kind === Kind.FRAGMENT_SPREAD) {
        countKey(`...${selection.name.value}`)
        const spread = extentOfFragment(selection.name.value)
        add(spread.depth, spread.fields)
      } else {
        const inline = extentOf(selection.selectionSet, keys)
        add(inline.depth, inline.fields)
      }
    }
    return total
  }

  for (const each of document.definitions) {
    if (each.kind === Kind.FRAGMENT_DEFINITION) extentOfFragment(each.name.value)
    if (each.kind !== Kind.OPERATION_DEFINITION) continue
    countDirectives(each.directives)
    const { depth, fields } = extentOf(each.selectionSet, new Set())
    shape.depth = Math.max(shape.depth, depth)
    shape.fields += fields
  }
  return shape
}

const literalTooDeep = () =>
  new GraphQLError(`A literal of the document is too deep: JSON ${TOO_DEEP}.`, {
    extensions: { code: 'INVALID_INPUT', issues: [{ path: [], message: TOO_DEEP }] },
  })

const LIMITS = ['depth', 'fields', 'aliases', 'directives', 'repeats'] as const

/** Returns the error of a document that exceeds a limit, or uses introspection that is disabled; otherwise null. */
export function documentError(document: DocumentNode, limits: OperationLimits): GraphQLError | null {
  const shape = shapeOf(document)
  if (shape.introspection !== null && !limits.introspection) return introspectionDisabled(shape.introspection)
  for (const limit of LIMITS) {
    if (shape[limit] > limits[limit]) return tooCostly(limit, limits[limit], shape[limit])
  }
  if (shape.hasDeepLiteral) return literalTooDeep()
  if (shape.repeatedDirective !== null) return directiveRepeated(shape.repeatedDirective)
  return null
}
