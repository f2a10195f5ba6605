// Exports and imports for tests: whole files as lines, and a tenant with everything that an export contains.

import type { Deps } from '../../src/domain/deps.ts'
import { eraseTurn } from '../../src/domain/trust/erasure/erase-turn.ts'
import { setLegalHold } from '../../src/domain/trust/erasure/legal-hold.ts'
import { recordFacts, retractFact } from '../../src/domain/memory/fact/record.ts'
import { addParticipant, removeParticipant } from '../../src/domain/conversation/participant/participant.ts'
import { refreshUserProfile } from '../../src/domain/memory/profile/refresh.ts'
import { uploadPng } from './files.ts'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { updateSharedState } from '../../src/domain/conversation/shared-state/update-shared-state.ts'
import { summarize } from '../../src/domain/memory/summary/compact.ts'
import { appendTurn } from '../../src/domain/turn/append/append.ts'
import { pinTurn } from '../../src/domain/turn/pin.ts'
import { supersedeTurn } from '../../src/domain/turn/supersede.ts'
import { chainHash, FIRST_HASH } from '../../src/domain/trust/transfer/format.ts'
import { continueExport } from '../../src/domain/trust/transfer/export.ts'
import { continueImport } from '../../src/domain/trust/transfer/import/import.ts'
import {
  startExport,
  startImport,
  type StartExportInput,
  type Transfer,
} from '../../src/domain/trust/transfer/transfer.ts'
import type { Viewer } from '../../src/domain/kernel/view.ts'
import type { Tenant } from './world.ts'

let files = 0

/** Returns all lines of a new export. */
export async function exportLines(deps: Deps, viewer: Viewer, input: StartExportInput): Promise<string[]> {
  const { id: transferId } = await startExport(deps, viewer, input)
  const lines: string[] = []
  for (let after: string | null = null; ;) {
    const page = await continueExport(deps, viewer, { transferId, after })
    lines.push(...page.lines)
    if (page.cursor === null) return lines
    after = page.cursor
  }
}

/** Imports the lines in batches, and returns the transfer. `fileKey` is that of a new file by default. */
export async function importLines(
  deps: Deps,
  viewer: Viewer,
  [manifest, ...lines]: readonly string[],
  { fileKey = `file ${++files}`, batch = 500 }: { fileKey?: string; batch?: number } = {},
): Promise<Transfer> {
  let transfer = await startImport(deps, viewer, { manifest: manifest!, fileKey })
  while (transfer.lines < lines.length && transfer.state === 'RUNNING') {
    const offset = transfer.lines
    const given = lines.slice(offset, offset + batch)
    transfer = await continueImport(deps, viewer, { transferId: transfer.id, offset, lines: given })
  }
  return transfer
}

/** Returns the hash in the last line of a file. */
export const hashOf = (lines: readonly string[]): string => (JSON.parse(lines.at(-1)!) as { sha256: string }).sha256

/** Returns the lines with the hashes that an export of them would have. */
export function rehash([manifest, ...lines]: readonly string[]): string[] {
  let chain = FIRST_HASH
  const written = lines.map((line) => {
    const object = JSON.parse(line) as { type: string }
    const text =
      'sha256' in object && object.type !== 'attachment' ? JSON.stringify({ ...object, sha256: chain }) : line
    chain = chainHash(chain, text)
    return text
  })
  return [manifest!, ...written]
}

/** Returns the objects of the lines of that type. */
export const linesOfType = (lines: readonly string[], type: string): any[] =>
  lines.map((line) => JSON.parse(line) as { type: string }).filter((line) => line.type === type)

/** Text of a whisper between "bob" and "carl", which "ann" must not see. */
export const WHISPER = 'whisperq7x'

/**
 * Fills the tenant with conversations that have turns, versions, tool calls, replies, pins, whispers, an erased turn, a
 * former participant, summaries, facts with several sources, a profile and a legal hold. Returns the ids of the
 * conversations; the first one is MEMBERS, the second one OPEN.
 */
export async function fillTenant(deps: Deps, tenant: Tenant): Promise<[string, string]> {
  const [ann, bob] = [tenant.as('ann'), tenant.as('bob')]
  const { conversation } = await createConversation(deps, ann, {
    key: 'harbour',
    visibility: 'MEMBERS',
    title: 'The harbour',
    systemPrompt: 'Be brief.',
    metadata: { z: 1, a: { b: [1.5, null, 'ü'] } },
    participants: [
      { actor: 'ann', administrator: true, metadata: { team: 'red' } },
      { actor: 'bob' },
      { actor: 'carl' },
    ],
  })
  const members = conversation.id
  const first = await tenant.append(members, 'ann', 'Where is the @bob vault? 🔑', {
    clientId: 'c1',
    metadata: { n: 1 },
  })
  await tenant.append(members, 'bob', `The code is ${WHISPER}.`, { audience: ['carl'] })
  const { turn: call } = await appendTurn(deps, bob, {
    conversationId: members,
    turn: {
      role: 'ASSISTANT',
      parts: [{ text: 'Looking.' }, { toolCall: { callId: 'c', name: 'find', arguments: { q: 'x' } } }],
    },
  })
  await appendTurn(deps, bob, {
    conversationId: members,
    turn: { role: 'TOOL', parts: [{ toolResult: { callId: 'c', name: 'find', result: { at: 'pier 4' } } }] },
  })
  const { id: attachmentId } = await uploadPng(deps, ann, members)
  const file = { attachmentId, caption: 'the pier' }
  await appendTurn(deps, ann, { conversationId: members, turn: { role: 'USER', parts: [{ file }] } })
  await tenant.append(members, 'ann', 'Thanks.', { replyToId: call.id, createdAt: new Date('2020-01-01T00:00:00Z') })
  const wrong = await tenant.append(members, 'ann', 'Pier 3?')
  const { turn: right } = await supersedeTurn(deps, ann, {
    turnId: wrong.id,
    turn: { role: 'USER', content: 'Pier 4?' },
  })
  await pinTurn(deps, ann, { turnId: right.id })
  const gone = await tenant.append(members, 'carl', 'erasedq7x')
  await eraseTurn(deps, tenant.as('carl'), { turnId: gone.id })
  await summarize(deps, ann, { conversationId: members, through: right.id })
  await removeParticipant(deps, ann, { conversationId: members, actor: 'carl' })
  await addParticipant(deps, ann, {
    conversationId: members,
    participant: { actor: 'dora', historyVisibility: 'SINCE_JOINED' },
  })
  await tenant.append(members, 'dora', 'Hello from Dora.')
  const state = { conversationId: members, key: 'plan' }
  await updateSharedState(deps, ann, { ...state, value: { z: 1, a: [null, 2.5] }, schema: { type: 'object' } })
  await updateSharedState(deps, tenant.as('dora'), { ...state, merge: { more: true } })
  await updateSharedState(deps, ann, { ...state, key: 'note', value: 'for bob', audience: ['bob'] })
  const toNull = [{ op: 'add' as const, path: '', value: null }]
  await updateSharedState(deps, ann, { ...state, key: 'null', patch: toNull })

  const open = await tenant.newConversation('ann', 'bob')
  const said = await tenant.append(open, 'ann', 'I live in Bergen and like tea.')
  const fact = { subject: 'ann', predicate: 'lives in', object: 'Bergen' }
  await recordFacts(deps, ann, { userId: 'ann', facts: [{ ...fact, sourceTurnId: said.id }] })
  await recordFacts(deps, ann, { userId: 'ann', facts: [{ ...fact, sourceTurnId: first.id }] })
  const tea = { subject: 'ann', predicate: 'likes', object: 'tea', sourceTurnId: said.id }
  const { facts } = await recordFacts(deps, ann, { userId: 'ann', facts: [tea] })
  await retractFact(deps, ann, { factId: facts[0]!.id, reason: 'Coffee now.' })
  await recordFacts(deps, ann, { userId: 'ann', facts: [{ subject: 'ann', predicate: 'owns', object: 'a boat' }] })
  await refreshUserProfile(deps, ann, { userId: 'ann' })
  await setLegalHold(deps, ann, { userId: 'held', legalHold: true })
  return [members, open]
}
