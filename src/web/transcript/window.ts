// The turns that the transcript shows: the live end of the conversation or, after a jump to an older turn, a window
// around it, which grows in both directions until it meets the live end.

import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { Turn } from '../../client/index.ts'
import { FRAGMENTS, withFragments } from '../../client/verbs/fragments.ts'
import { errorText } from '../kit/text.ts'
import type { OpenConversation } from '../workspace/open-conversation.tsx'
import { useSession } from '../session/session.tsx'
import { joined, reaches } from './joined.ts'

/** Number of turns that are read at once. */
const PAGE = 50

const READ_PAGE = withFragments(
  `query Page($id: ID!, $as: String, $limit: Int!, $before: Int, $after: Int) {
  conversation(id: $id, as: $as) {
    history(limit: $limit, beforePosition: $before, afterPosition: $after) { ... on Turn { ...Turn } }
  }
}`,
  FRAGMENTS,
)
type Page = { conversation: { history: Turn[] } | null }

/** A window of old turns. */
type Past = { turns: readonly Turn[]; hasOlder: boolean }

export type Window = {
  turns: readonly Turn[]
  hasOlder: boolean
  /** Whether turns between the window and the live end are not read yet. */
  hasNewer: boolean
  error: string | null
  older(): Promise<void>
  newer(): Promise<void>
}

/** `position`: the turn that must be in the window; null for the newest one. */
export function useWindow({ id, transcript }: OpenConversation, position: number | null): Window {
  const { client } = useSession()
  const [past, setPast] = useState<Past | null>(null)
  const [error, setError] = useState<string | null>(null)
  const isReading = useRef(false)
  const live = transcript.turns
  const isInLive =
    position === null || (live[0] !== undefined && (live[0].position <= position || !transcript.hasOlder))
  const isInPast = past !== null && position !== null && past.turns.some((turn) => turn.position === position)

  const read = useCallback(
    async (bounds: { before?: number; after?: number }) => {
      const variables = { id, as: client.as, limit: PAGE, ...bounds }
      return (await client.request<Page>(READ_PAGE, variables)).conversation?.history ?? []
    },
    [client, id],
  )
  /** Runs one read at a time. */
  const once = useCallback(async (act: () => Promise<void>) => {
    if (isReading.current) return
    isReading.current = true
    try {
      await act()
      setError(null)
    } catch (failure) {
      setError(errorText(failure))
    } finally {
      isReading.current = false
    }
  }, [])

  useEffect(() => {
    if (position === null) return setPast(null)
    if (transcript.status === 'loading' || isInLive || isInPast) return
    let isCurrent = true
    const around = Promise.all([read({ before: position + 1 }), read({ after: position })])
    around
      .then(([before, after]) => {
        if (isCurrent) setPast({ turns: [...before, ...after], hasOlder: before.length === PAGE })
      })
      .catch((failure: unknown) => isCurrent && setError(errorText(failure)))
    return () => {
      isCurrent = false
    }
  }, [position, transcript.status === 'loading', isInLive, isInPast, read])

  const shown = position === null ? null : past
  const turns = useMemo(() => (shown ? joined(shown.turns, live) : live), [shown, live])
  const hasNewer = shown !== null && !reaches(shown.turns, live)
  const older = useCallback(
    () =>
      once(async () => {
        if (!shown) return transcript.older()
        const before = shown.turns[0]?.position
        if (before === undefined || !shown.hasOlder) return
        const page = await read({ before })
        setPast({ turns: [...page, ...shown.turns], hasOlder: page.length === PAGE })
      }),
    [shown, transcript.older, read, once],
  )
  const newer = useCallback(
    () =>
      once(async () => {
        const after = shown?.turns.at(-1)?.position
        if (!shown || !hasNewer || after === undefined) return
        const page = await read({ after })
        setPast({ ...shown, turns: [...shown.turns, ...page] })
      }),
    [shown, hasNewer, read, once],
  )
  return { turns, hasOlder: shown?.hasOlder ?? transcript.hasOlder, hasNewer, error, older, newer }
}
