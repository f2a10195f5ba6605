// Gives yoga the body that post.ts has already parsed, so that yoga does not parse a large body again at once.

import type { GraphQLParams, Plugin } from 'graphql-yoga'

/** Context with the parsed body of a request that contains an object in JSON. */
export type WithBody = { parsedBody?: GraphQLParams }

export const useParsedBody = (): Plugin<object, WithBody> => ({
  onRequestParse({ serverContext: { parsedBody }, setRequestParser }) {
    if (parsedBody !== undefined) setRequestParser(() => parsedBody)
  },
})
