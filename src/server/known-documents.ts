// Keeps documents that yoga has parsed and validated, so that post.ts can execute them without repeating this.

import type { DocumentNode, ExecutionResult } from 'graphql'
import type { GraphQLParams, Plugin } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import { shapeOf } from '../graphql/limits/document.ts'

/** Maximum weight of the documents in one cache, in bytes. */
const MAX_CACHE_BYTES = 32 * 1024 * 1024
/** Estimated size of a token with its syntax nodes, and of a field with its cost and its step of a plan, in bytes. */
const TOKEN_BYTES = 500
const FIELD_BYTES = 1_000

/** Valid documents by their text. */
export type KnownDocuments = LRUCache<string, DocumentNode>
/** Context with a finished result, which yoga formats and sends instead of executing the operation. */
export type WithResult = { result?: ExecutionResult }

/** Returns the estimated memory of a cached document, with everything that is computed from it, in bytes. */
function weightOf(document: DocumentNode, text: string): number {
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
