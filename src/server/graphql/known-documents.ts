// The cache of documents that yoga has parsed and validated, so that doors/graphql.ts can execute them without doing so
// again.

import { BREAK, Kind, OperationTypeNode, visit, type ASTNode, type DocumentNode, type ExecutionResult } from 'graphql'
import type { GraphQLParams, Plugin } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import { kindOf } from '../../domain/kernel/id.ts'
import { shapeOf } from '../../graphql/kernel/limits/document.ts'

/** Maximum weight of the documents in one cache, in bytes. */
const MAX_CACHE_BYTES = 32 * 1024 * 1024
/** Estimated size of a token with its syntax nodes, and of a field with its cost and its selection, in bytes. */
const TOKEN_BYTES = 500
const FIELD_BYTES = 1_000

/** Valid documents by their text. */
export type KnownDocuments = LRUCache<string, DocumentNode>
/** Context with a finished result, which yoga formats and sends instead of executing the operation. */
export type WithResult = { result?: ExecutionResult }

/** Maximum length of a string literal in a cached document, in UTF-16 units: enough for ids and keys. */
const MAX_LITERAL = 64

/** Arguments and input fields of mutations whose values are names or keys. Erasure does not remove such values. */
const NAMES = new Set(['actor', 'as', 'clientId', 'conversationKey', 'key', 'model', 'provider', 'writerToken'])

/** Arguments and input fields whose objects may have fields in NAMES. Others, such as metadata, may have any fields. */
const INPUTS = new Set(['input', 'turn', 'participant'])

const isWord = (value: string): boolean => value.length <= MAX_LITERAL && !/[\s@]/.test(value)

/** Whether a value with these ancestors is the value of an argument or field in NAMES. */
function isName(ancestors: readonly (ASTNode | readonly ASTNode[])[]): boolean {
  const names = ancestors.flatMap((each) =>
    'kind' in each && (each.kind === Kind.ARGUMENT || each.kind === Kind.OBJECT_FIELD) ? each.name.value : [],
  )
  return NAMES.has(names.pop() ?? '') && names.every((name) => INPUTS.has(name))
}

/**
 * Whether the document contains a string literal that may be content, because the cache would keep it after its
 * erasure: a literal that is long, or contains white space or an `@`; in a mutation, also any other literal, except ids
 * and the values of NAMES. For a document to be cached, clients must send content as variables.
 */
function containsText(document: DocumentNode): boolean {
  const isMutation = document.definitions.some(
    (each) => each.kind === Kind.OPERATION_DEFINITION && each.operation === OperationTypeNode.MUTATION,
  )
  let found = false
  visit(document, {
    StringValue({ value }, _key, parent, ...[, ancestors]) {
      if (value === '' || kindOf(value) !== null) return
      if (isWord(value) && (!isMutation || isName([...ancestors, parent!]))) return
      found = true
      return BREAK
    },
  })
  return found
}

/**
 * Returns the estimated memory of a cached document and of everything that is computed from it, in bytes. For a
 * document that may contain content, returns more than the size of the cache, so that it is not cached.
 */
function weightOf(document: DocumentNode, text: string): number {
  if (containsText(document)) return MAX_CACHE_BYTES + 1
  return text.length * 2 + (document.tokenCount ?? 0) * TOKEN_BYTES + shapeOf(document).fields * FIELD_BYTES
}

/** Creates a cache of at most MAX_CACHE_BYTES. It drops the documents that were used least recently. */
export const createDocumentCache = (): KnownDocuments =>
  new LRUCache({ maxSize: MAX_CACHE_BYTES, sizeCalculation: weightOf })

/** A yoga plugin: adds each valid document to `documents`, and sends `result` if the context has one. */
export const useKnownDocuments = (documents: KnownDocuments): Plugin<object, WithResult> => ({
  onValidate:
    ({ params: { documentAST }, context }) =>
    ({ valid }) => {
      const text = (context.params as GraphQLParams | undefined)?.query
      if (valid && text && !documents.has(text)) documents.set(text, documentAST)
    },
  onParams({ context, setResult }) {
    if (context.result) setResult(context.result)
  },
})
