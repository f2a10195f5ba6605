// The path of GraphiQL, which the page names if the server has it.

/** Returns the path of GraphiQL, which the server writes into the page; null if the server does not have it. */
export const graphiqlPath = (): string | null =>
  document.querySelector<HTMLMetaElement>('meta[name=graphiql]')?.content ?? null
