// The turns that the transcript shows: the live end of the conversation or, after a jump to an older turn, a window
// around it, which grows in both directions until it meets the live end.

import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { Turn } from '../../client/index.ts'
import { errorText } from '../kit/text.ts'
import type { OpenConversation } from '../workspace/open-conversation.tsx'
import { useSession } from '../session/session.tsx'
import { changed, joined, reaches } from './joined.ts'
import { covers, followChanges, pagesOf, type Past } from './past.ts'

export type Window = {
  turns: readonly Turn[]
  /** Whether the turns around the requested position are among them, or those nearest to it. */
  isFound: boolean
  hasOlder: boolean
  /** Whether turns between the window and the live end are not read yet. */
  hasNewer: boolean
  error: string | null
  older(): Promise<void>
  newer(): Promise<void>
}

/** Returns the function that runs one read at a time, and the error of the newest one. */
function useReads() {
  const [error, setError] = useState<string | null>(null)
  const isReading = useRef(false)
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
  return { error, setError, once }
}

/** Keeps the turns of a window current. */
function useChanges(
  { conversation }: OpenConversation,
  past: Past | null,
  setPast: (change: (past: Past | null) => Past | null) => void,
  onError: (error: string) => void,
): void {
  const afterSeq = past?.afterSeq ?? null
  const target = past?.target ?? null
  useEffect(() => {
    if (afterSeq === null) return
    const ending = new AbortController()
    const { signal } = ending
    const onChange = (turn: Turn) =>
      setPast((shown) => shown && { ...shown, changes: new Map(shown.changes).set(turn.position, turn) })
    // The window is read again.
    const onGap = () => setPast(() => null)
    followChanges(conversation, afterSeq, { onChange, onGap }, signal).catch((failure: unknown) => {
      if (!signal.aborted) onError(errorText(failure))
    })
    return () => ending.abort()
  }, [conversation, afterSeq, target, setPast, onError])
}

/**
 * `position`: the turn that must be in the window; null for the newest one. `jumps`: changes when the window must be
 * read again if it could not be read.
 */
export function useWindow(open: OpenConversation, position: number | null, jumps: number): Window {
  const { id, transcript } = open
  const { client } = useSession()
  const [past, setPast] = useState<Past | null>(null)
  const { error, setError, once } = useReads()
  const live = transcript.turns
  const isLoading = transcript.conversation === null
  const isInLive =
    position === null || (live[0] !== undefined && (live[0].position <= position || !transcript.hasOlder))
  const isInPast = past !== null && position !== null && covers(past, position)
  const read = useMemo(() => pagesOf(client, id), [client, id])

  useEffect(() => {
    setError(null)
    if (isInLive) return setPast(null)
    if (isLoading || isInPast) return
    let isCurrent = true
    const afterSeq = transcript.lastSeq
    Promise.all([read({ before: position + 1 }), read({ after: position })])
      .then(([before, after]) => {
        if (!isCurrent) return
        const turns = [...before.turns, ...after.turns]
        setPast({ target: position, afterSeq, turns, hasOlder: before.isFull, changes: new Map() })
      })
      .catch((failure: unknown) => isCurrent && setError(errorText(failure)))
    return () => {
      isCurrent = false
    }
  }, [position, jumps, isLoading, isInLive, isInPast, read, setError])
  useChanges(open, past, setPast, setError)

  const shown = isInLive ? null : past
  const turns = useMemo(() => (shown ? joined(changed(shown.turns, shown.changes), live) : live), [shown, live])
  const hasNewer = shown !== null && !reaches(shown.turns, live)
  /** Adds turns, unless another window was read meanwhile. */
  const grow = (from: Past, changes: Partial<Past>) =>
    setPast((now) => (now && now.turns === from.turns ? { ...now, ...changes } : now))
  const older = useCallback(
    () =>
      once(async () => {
        if (!shown) return transcript.older()
        const before = shown.turns[0]?.position
        if (before === undefined || !shown.hasOlder) return
        const page = await read({ before })
        grow(shown, { turns: [...page.turns, ...shown.turns], hasOlder: page.isFull })
      }),
    [shown, transcript.older, read, once],
  )
  const newer = useCallback(
    () =>
      once(async () => {
        const after = shown?.turns.at(-1)?.position
        if (!shown || !hasNewer || after === undefined) return
        const page = await read({ after })
        grow(shown, { turns: [...shown.turns, ...page.turns] })
      }),
    [shown, hasNewer, read, once],
  )
  const hasOlder = shown?.hasOlder ?? transcript.hasOlder
  return { turns, isFound: isInLive || isInPast, hasOlder, hasNewer, error, older, newer }
}
