// The header Link (RFC 8288) of a page of a list: the URLs of the next and the previous page. Pure.

import { DEFAULT_PAGE_SIZE } from '../../domain/kernel/page.ts'

type PageInfo = { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null }

const pageInfoOf = (answer: object): PageInfo | null =>
  'pageInfo' in answer && 'nodes' in answer ? (answer.pageInfo as PageInfo) : null

/** Returns the URL of the page of the same size on that side of the cursor. */
function urlOf(path: string, query: URLSearchParams, side: 'after' | 'before', cursor: string): string {
  const page = new URLSearchParams(query)
  for (const name of ['first', 'last', 'after', 'before']) page.delete(name)
  const size = query.get('first') ?? query.get('last')
  if (size !== null) page.set(side === 'after' ? 'first' : 'last', size)
  else if (side === 'before') page.set('last', String(DEFAULT_PAGE_SIZE))
  page.set(side, cursor)
  return `${path}?${page}`
}

/** Returns the header for the answer; undefined if the answer is not a page, or the only one. */
export function linkOf(path: string, query: URLSearchParams, answer: object): string | undefined {
  const info = pageInfoOf(answer)
  if (!info) return undefined
  const { hasNextPage, hasPreviousPage, startCursor, endCursor } = info
  const links = [
    ...(hasNextPage && endCursor !== null ? [`<${urlOf(path, query, 'after', endCursor)}>; rel="next"`] : []),
    ...(hasPreviousPage && startCursor !== null ? [`<${urlOf(path, query, 'before', startCursor)}>; rel="prev"`] : []),
  ]
  return links.length > 0 ? links.join(', ') : undefined
}
