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
  /**
   * Shows the turn at this position in the transcript, or the newest one if it is null; again if it was shown before.
   */
  jumpTo(position: number | null): void
  /** Opens the conversation again, after a permanent failure. */
  reopen(): void
}

const jumpTo = (position: number | null) => navigate({ position })

const OpenContext = createContext<OpenConversation | null>(null)

type OpenProps = { id: string; children: ReactNode }

/** Opens the conversation for the components below. */
export function OpenConversationProvider(props: OpenProps) {
  const [attempt, setAttempt] = useState(0)
  const reopen = useCallback(() => setAttempt((before) => before + 1), [])
  return <Opened key={attempt} {...props} reopen={reopen} />
}

function Opened({ id, reopen, children }: OpenProps & Pick<OpenConversation, 'reopen'>) {
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
  const value = useMemo(
    () => ({ id, conversation, transcript, ...people, jumpTo, reopen }),
    [id, conversation, transcript, people, reopen],
  )
  return <OpenContext value={value}>{children}</OpenContext>
}

/** Returns the open conversation. @throws Error outside of an OpenConversationProvider */
export function useOpenConversation(): OpenConversation {
  const open = useContext(OpenContext)
  if (!open) throw new Error('Render an OpenConversationProvider around the components that use the conversation.')
  return open
}
