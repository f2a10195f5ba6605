// The requests of graphql-cop (https://github.com/dolevf/graphql-cop) and of nuclei's templates for GraphQL
// (https://github.com/projectdiscovery/nuclei-templates, http/misconfiguration/graphql), rewritten here, with the
// condition under which each scanner reports a finding.

export type Probe = {
  scanner: 'graphql-cop' | 'nuclei'
  name: string
  /** Sends the request to the endpoint. Returns whether the scanner would report it. */
  isFound(url: string): Promise<boolean>
}

type Answer = { status: number; text: string; json: any }

async function ask(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, init)
  const text = await response.text()
  let json: unknown = null
  try {
    json = JSON.parse(text)
  } catch {
    // The answer is not JSON, for example the page of GraphiQL.
  }
  return { status: response.status, text, json }
}

const post = (url: string, body: unknown) =>
  ask(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  })
const get = (url: string, query: string, accept = 'application/json') =>
  ask(`${url}?${new URLSearchParams({ query })}`, { headers: { accept } })

const repeat = (count: number, part: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => part(n)).join(' ')

const messages = ({ json }: Answer): string =>
  ((json?.errors ?? []) as { message: string }[]).map(({ message }) => message).join('\n')

const CIRCULAR = `query { __schema { types { fields { type { fields { type { fields { type { fields { type { name } } } } } } } } } } }`
const PAGES = ['', '/graphiql', '/playground', '/console', '/altair']

const isPage = async (url: string): Promise<boolean> => {
  for (const path of PAGES) {
    const { text } = await ask(`${url}${path}`, { headers: { accept: 'text/html' } })
    if (/graphiql|graphql-playground|altair/i.test(text)) return true
  }
  return false
}

const cop = (name: string, isFound: Probe['isFound']): Probe => ({ scanner: 'graphql-cop', name, isFound })
const nuclei = (name: string, isFound: Probe['isFound']): Probe => ({ scanner: 'nuclei', name, isFound })

export const PROBES: readonly Probe[] = [
  cop('alias overloading', async (url) => {
    const { json } = await post(url, { query: `query cop { ${repeat(101, (n) => `alias${n}: __typename`)} }` })
    return Boolean(json?.data?.alias100)
  }),
  cop('array-based query batching', async (url) => {
    const { json } = await post(
      url,
      Array.from({ length: 10 }, () => ({ query: 'query cop { __typename }' })),
    )
    return Array.isArray(json) && json.length >= 10
  }),
  cop('directive overloading', async (url) => {
    const { json } = await post(url, { query: `query cop { __typename ${repeat(10, () => '@aa')} }` })
    return json?.errors?.length === 10
  }),
  cop('circular query by introspection', async (url) => {
    const { json } = await post(url, { query: CIRCULAR })
    return (json?.data?.__schema?.types?.length ?? 0) > 25
  }),
  cop('mutation by GET', async (url) =>
    Boolean((await get(url, 'mutation cop { __typename }')).json?.data?.__typename),
  ),
  cop('query by GET', async (url) => Boolean((await get(url, 'query cop { __typename }')).json?.data?.__typename)),
  cop('POST of a form', async (url) => {
    const { json } = await ask(url, {
      method: 'POST',
      body: new URLSearchParams({ query: 'query cop { __typename }' }),
    })
    return Boolean(json?.data?.__typename)
  }),
  cop('trace mode', async (url) => {
    const { json } = await post(url, { query: 'query cop { __typename }' })
    return Boolean(json?.errors?.[0]?.extensions?.tracing ?? json?.extensions?.tracing)
  }),
  cop('unhandled error', async (url) => {
    const { json, text } = await post(url, { query: 'qwerty cop { abc }' })
    return Boolean(json?.errors?.[0]?.extensions?.exception) || text.includes('node_modules')
  }),
  cop('field suggestions', async (url) =>
    /did you mean/i.test(messages(await post(url, { query: 'query cop { __schema { directive } }' }))),
  ),
  cop('introspection', async (url) => {
    const { json } = await post(url, { query: 'query cop { __schema { types { name fields { name } } } }' })
    return Boolean(json?.data?.__schema?.types)
  }),
  cop('GraphiQL', isPage),
  cop('field duplication', async (url) => {
    const { json } = await post(url, { query: `query cop { ${repeat(500, () => '__typename')} }` })
    return Boolean(json?.data?.__typename)
  }),
  nuclei('graphql-alias-batching', async (url) => {
    const { json } = await post(url, { query: `query { ${repeat(100, (n) => `a${n}: __typename`)} }` })
    return Boolean(json?.data?.a99)
  }),
  nuclei('graphql-array-batching', async (url) => {
    const { json } = await post(url, [{ query: '{ __typename }' }, { query: '{ __typename }' }])
    return Array.isArray(json) && Boolean(json[1]?.data)
  }),
  nuclei('graphql-directive-overloading', async (url) => {
    const { json } = await post(url, { query: `query { __typename ${repeat(30, () => '@aa')} }` })
    return (json?.errors?.length ?? 0) >= 10
  }),
  nuclei('graphql-field-suggestion', async (url) =>
    /did you mean/i.test(messages(await post(url, { query: '{ conversationz { id } viewers { actor } }' }))),
  ),
  nuclei('graphql-get-method', async (url) => Boolean((await get(url, '{ __typename }', '*/*')).json?.data)),
  nuclei('graphql-post-form', async (url) => {
    const body = new FormData()
    body.set('operations', JSON.stringify({ query: '{ __typename }' }))
    return Boolean((await ask(url, { method: 'POST', body })).json?.data)
  }),
  nuclei('graphql-playground', isPage),
  nuclei('graphql-introspection', async (url) =>
    Boolean((await post(url, { query: '{ __type(name: "Query") { fields { name } } }' })).json?.data?.__type),
  ),
  nuclei('graphql-circular-fragment', async (url) => {
    const query = 'query { ...A } fragment A on Query { ...B } fragment B on Query { ...A }'
    const { status } = await post(url, { query })
    return status >= 500
  }),
]
