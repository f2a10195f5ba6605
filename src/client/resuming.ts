// Makes the clients of graphql-ws and graphql-sse resume subscriptions. By themselves, they repeat the original
// variables on a new connection, so that the server would deliver events twice.

/** A client of graphql-ws or graphql-sse. */
type Subscribing = { subscribe(request: any, sink: any, ...rest: any[]): () => void }

/**
 * Returns a copy of the client whose subscriptions to `conversationEvents` resume after the last entry they received.
 * The subscriptions must have a variable `afterSeq`, and select `seq` and `... on Gap { resumeAfterSeq }` without
 * aliases.
 */
export const resuming = <C extends Subscribing>(client: C): C => ({
  ...client,
  subscribe(request: any, sink: any, ...rest: any[]) {
    let last = request.variables?.afterSeq
    const variables = {
      ...request.variables,
      // The clients read the variables whenever they subscribe.
      get afterSeq() {
        return last
      },
    }
    return client.subscribe(
      { ...request, variables },
      {
        next(result: any) {
          const event = result.data?.conversationEvents
          last = event?.seq ?? event?.resumeAfterSeq ?? last
          sink.next(result)
        },
        error: (reason: unknown) => sink.error(reason),
        complete: () => sink.complete(),
      },
      ...rest,
    )
  },
})
