// The conversation that is open: what its transcript, its composer and its panels share.

import { createContext, useCallback, useContext, useMemo, useState, type ReactNode } from 'react'
import type { ConversationHandle, Participant, Transcript, TranscriptState } from '../../client/index.ts'
import { useConversation, useTranscript } from '../../react/index.ts'
import { navigate } from '../session/route.ts'

export type OpenConversation = {
  id: string
  conversation: ConversationHandle
  transcript: TranscriptState & Pick<Transcript, 'older'>
  /** The participants that have not left, in the order in which they joined. */
  present: readonly Participant[]
  /** Returns the name to show for an actor. */
  nameOf(actor: string): string
  /** Whether the actor is an agent or a tool. */
  isAgent(actor: string): boolean
  /** Shows the turn at this position in the transcript, again if it was shown before. */
  jumpTo(position: number): void
  /** Number of calls of `jumpTo`. */
  jumps: number
}

const OpenContext = createContext<OpenConversation | null>(null)

/** Opens the conversation for the components below. */
export function OpenConversationProvider({ id, children }: { id: string; children: ReactNode }) {
  const conversation = useConversation(id)
  const transcript = useTranscript(conversation)
  const { participants } = transcript
  const people = useMemo(() => {
    const byActor = new Map(participants.map((each) => [each.actor, each]))
    return {
      present: participants.filter(({ leftAt }) => leftAt === null),
      nameOf: (actor: string) => byActor.get(actor)?.displayName ?? actor,
      isAgent: (actor: string) => (byActor.get(actor)?.kind ?? 'HUMAN') !== 'HUMAN',
    }
  }, [participants])
  const [jumps, setJumps] = useState(0)
  const jumpTo = useCallback((position: number) => {
    setJumps((count) => count + 1)
    navigate({ position })
  }, [])
  const value = useMemo(
    () => ({ id, conversation, transcript, ...people, jumpTo, jumps }),
    [id, conversation, transcript, people, jumpTo, jumps],
  )
  return <OpenContext value={value}>{children}</OpenContext>
}

/** Returns the open conversation. @throws Error outside of an OpenConversationProvider */
export function useOpenConversation(): OpenConversation {
  const open = useContext(OpenContext)
  if (!open) throw new Error('Render an OpenConversationProvider around the components that use the conversation.')
  return open
}
