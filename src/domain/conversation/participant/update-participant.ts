// Changes the fields of a participant, and its history windows if its history visibility changes.

import { z } from 'zod'
import { InvalidInput, NotFound } from '../../../errors.ts'
import type { Tx } from '../../../store/db/db.ts'
import type { Prisma } from '../../../store/generated/client.ts'
import { HistoryVisibility, Respond } from '../../../store/generated/enums.ts'
import { writeEntry } from '../../../store/sql/turn/journal/write-entry.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import { agentInput, changeResponse, jsonOrNull, requireAgentKind } from '../../agent/definition/agent-settings.ts'
import { authorize, lockConversation, requirePermits } from '../../kernel/rights/authorize.ts'
import { id, metadata, name, parse, text } from '../../kernel/input.ts'
import { redactInput } from '../../kernel/redaction.ts'
import { isSameJson, patchMetadata } from '../../kernel/merge-patch.ts'
import { conditionsOfChanging } from './participant-conditions.ts'
import { ownerOf, participantNow, type Participant } from './participant.ts'
import type { Platform } from '../../kernel/platform.ts'
import { announceEntries } from '../../kernel/live/publisher.ts'
import type { Viewer } from '../../kernel/view.ts'

const updateParticipantInput = z.object({
  conversationId: id('conversation'),
  actor: name,
  displayName: text(200).nullish(),
  historyVisibility: z.enum(HistoryVisibility).nullish(),
  administrator: z.boolean().nullish(),
  metadata: metadata.nullish(),
  metadataPatch: metadata.nullish(),
  respond: z.enum(Respond).nullish(),
  agent: agentInput.nullish(),
})
export type UpdateParticipantInput = z.input<typeof updateParticipantInput>

/** A journal entry about joining or leaving. */
export type Membership = { kind: 'JOINED' | 'LEFT'; seq: number }

/**
 * Returns the history windows of a participant after a change of its history visibility. ALL shows all entries or, to a
 * former participant, those up to its last leaving. SINCE_JOINED shows the entries from each joining to the next leaving.
 * @param memberships the participant's entries about joining and leaving, ascending by seq
 * @internal
 */
export function windowsOf(visibility: HistoryVisibility, memberships: readonly Membership[]): number[] {
  const boundaries = memberships.map(({ kind, seq }) => (kind === 'JOINED' ? seq : seq + 1))
  if (visibility === 'SINCE_JOINED') return boundaries
  return memberships.at(-1)?.kind === 'LEFT' ? [1, boundaries.at(-1)!] : [1]
}

/** Reads the entries about joining and leaving. Uses the index entry_participant. */
async function readMemberships(tx: Tx, conversationId: string, actor: string): Promise<Membership[]> {
  const entries = await tx.entry.findMany({
    where: { conversationId, actor, kind: { in: ['JOINED', 'LEFT'] } },
    orderBy: { seq: 'asc' },
    select: { kind: true, seq: true },
  })
  return entries as Membership[]
}

/**
 * Updates the given fields of a present or former participant and returns it. A null displayName, metadata or agent
 * clears the field; a null respond restores NEVER. `metadataPatch` is merged into the metadata (RFC 7396). A new
 * history visibility changes the view immediately, for open subscriptions too. Without a principal, any actor that may
 * change the conversation may update any participant. Writes nothing if nothing changes.
 * @throws InvalidInput @throws NotFound for an actor who was never a participant
 * @throws NotAllowed if the conversation is MEMBERS and the viewer has left it, or if rights.ts denies the call
 */
export async function updateParticipant(
  deps: Platform,
  viewer: Viewer,
  input: UpdateParticipantInput,
): Promise<Participant> {
  authorize(viewer, 'updateParticipant', input)
  const given = await redactInput(deps, viewer, 'updateParticipant', parse(updateParticipantInput, input))
  const { conversationId, actor, displayName, historyVisibility, metadataPatch } = given
  if (given.administrator === null) throw InvalidInput.at('administrator', 'must not be null')
  if (historyVisibility === null) throw InvalidInput.at('historyVisibility', 'must not be null')
  if (metadataPatch != null && given.metadata !== undefined) {
    throw InvalidInput.at('metadataPatch', 'must not be given with metadata')
  }
  const key = { conversationId_actor: { conversationId, actor } }
  await withTransaction(deps.db, viewer.tenant, async (tx, afterCommit) => {
    await lockConversation(tx, viewer, conversationId)
    const before = await tx.participant.findUnique({ where: key })
    const conditions = conditionsOfChanging(viewer, given, before, await ownerOf(tx, viewer, conversationId))
    await requirePermits(tx, viewer, 'updateParticipant', { conversationId, conditions })
    if (!before) throw new NotFound('participant', actor)
    if (given.administrator && before.leftAt !== null) {
      throw InvalidInput.at('administrator', 'must not be true for a participant who has left')
    }
    const after = {
      displayName: displayName === undefined ? before.displayName : displayName,
      historyVisibility: historyVisibility ?? before.historyVisibility,
      administrator: given.administrator ?? before.administrator,
      metadata: (metadataPatch
        ? patchMetadata(before.metadata, metadataPatch)
        : given.metadata === undefined
          ? before.metadata
          : (given.metadata ?? {})) as Prisma.InputJsonObject,
      respond: given.respond === undefined ? before.respond : (given.respond ?? 'NEVER'),
      agent: given.agent === undefined ? before.agent : given.agent,
    }
    const { displayName: name, historyVisibility: visibility, administrator, metadata: data, respond, agent } = before
    const stored = { displayName: name, historyVisibility: visibility, administrator, metadata: data, respond, agent }
    requireAgentKind(before.kind, given.agent, 'agent')
    if (isSameJson(after, stored)) return
    const windows =
      after.historyVisibility === visibility
        ? before.windows
        : windowsOf(after.historyVisibility, await readMemberships(tx, conversationId, actor))
    const seq = await writeEntry(tx, conversationId, 'UPDATED', { actor })
    await tx.participant.update({ where: key, data: { ...after, agent: jsonOrNull(after.agent), windows } })
    if (after.respond !== respond) await changeResponse(tx, conversationId, actor, after.respond)
    afterCommit(() => announceEntries(deps, [{ tenant: viewer.tenant, conversationId, first: seq, last: seq }]))
  })
  return participantNow(deps, viewer.tenant, conversationId, actor)
}
