// Creates the sample conversation, and speaks in it as a person.

import type { ConversationHandle } from '../../client/index.ts'
import type { Session } from '../session/session.tsx'
import { agents, LINES, SAMPLE, TITLE } from './sample-script.ts'

/** Name of the person for whom the page speaks, if the viewer may act as others. */
const ADA = 'ada'

/** Resolves when the agent has committed a turn. */
async function answered(conversation: ConversationHandle, afterSeq: number, actor: string): Promise<void> {
  for await (const event of conversation.follow({ afterSeq, types: ['TURN_COMMITTED'] })) {
    if (event.__typename === 'TurnCommitted' && event.turn.actor === actor) return
  }
}

/** Speaks as the person: first in private, which the researcher never sees, and then to everybody. */
async function speak({ client, clientOf, mayViewAs, viewer }: Session, id: string): Promise<void> {
  const person = (mayViewAs ? clientOf(ADA) : client).conversation(id)
  const { seq } = await person.append({ content: LINES.private, audience: ['planner', viewer.actor] })
  await answered(person, seq, 'planner')
  await person.append(LINES.request)
}

/** Creates the sample conversation, and starts to play it. Returns its id. @throws ColloquyError */
export async function createSample(session: Session): Promise<string> {
  const { client, viewer, mayViewAs } = session
  const { id } = await client.createConversation({
    title: TITLE,
    metadata: SAMPLE,
    visibility: 'MEMBERS',
    maxAgentTurns: 12,
    factExtraction: true,
    participants: [
      { actor: viewer.actor, kind: 'HUMAN' },
      ...(mayViewAs && viewer.actor !== ADA ? [{ actor: ADA, displayName: 'Ada', kind: 'HUMAN' as const }] : []),
      ...agents(),
    ],
  })
  // The transcript shows what was said until a failure.
  void speak(session, id).catch(() => {})
  return id
}
