// Determines the participants of a new conversation from the input of createConversation.

import type { z } from 'zod'
import { InvalidInput } from '../../../errors.ts'
import type { ConversationVisibility } from '../../../store/generated/enums.ts'
import type { FirstParticipant } from '../../../store/sql/conversation/participant/write-first-participants.ts'
import { kindOnJoining, requireAgentKind } from '../../agent/definition/agent-settings.ts'
import { windowsAfterJoining, type participantInput } from './participant.ts'
import type { Viewer } from '../../kernel/view.ts'

/**
 * Returns the given participants in order. In a MEMBERS conversation, adds the creator first unless it is given.
 * @throws InvalidInput if an actor occurs twice, or if a participant of a kind other than AGENT has agent settings
 */
export function firstParticipants(
  given: readonly z.output<typeof participantInput>[],
  visibility: ConversationVisibility,
  creator: Viewer,
): FirstParticipant[] {
  if (new Set(given.map(({ actor }) => actor)).size < given.length) {
    throw InvalidInput.at('participants', 'must name each actor only once')
  }
  const isListed = visibility === 'OPEN' || given.some(({ actor }) => actor === creator.actor)
  const all = isListed ? given : [{ actor: creator.actor }, ...given]
  return all.map((each, index) => {
    const kind = kindOnJoining(creator, each)
    requireAgentKind(kind, each.agent, `participants.${isListed ? index : index - 1}.agent`)
    const historyVisibility = each.historyVisibility ?? 'ALL'
    return {
      actor: each.actor,
      kind,
      displayName: each.displayName ?? null,
      historyVisibility,
      administrator: each.administrator ?? false,
      metadata: each.metadata ?? {},
      respond: each.respond ?? 'NEVER',
      agent: each.agent ?? null,
      windowStart: windowsAfterJoining([], historyVisibility, index + 1)[0]!,
    }
  })
}
