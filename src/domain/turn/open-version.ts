// Opens a newer version of a turn: a streaming turn at the position of the older version. From then on it is written,
// committed and aborted as any streaming turn is.

import { NotFound } from '../../errors.ts'
import type { Tx } from '../../store/db/db.ts'
import { holdText } from '../../store/sql/turn/streaming/held-text.ts'
import { openStream } from '../../store/sql/turn/streaming/open-stream.ts'
import { withTransaction } from '../../store/db/tx.ts'
import { announceEntries } from '../kernel/live/publisher.ts'
import { kindOfCredential } from '../kernel/rights/principal.ts'
import type { Viewer } from '../kernel/view.ts'
import { APPEND_LIMITS, tooManyOpen } from './append/append-refusal.ts'
import { NO_CONTENT } from './append/append.ts'
import { lockConversationOf, type LockedConversation } from './append/lock-turn.ts'
import { hashOfWriter } from './append/turn-input.ts'
import { requireAnsweredCalls, requireUndecided } from './supersede-calls.ts'
import { getTurns, type Turn } from './turn.ts'
import {
  checkVersion,
  readOlder,
  writeVersion,
  type NewVersion,
  type Replacement,
  type SupersedeDeps,
} from './version.ts'

/** The version to open. `leaseSeconds` and `writerToken` as for openTurn. */
export type OpenedVersion = {
  /** Id of the version to supersede. */
  supersedes: string
  turn: NewVersion['turn']
  writerToken: string
  leaseSeconds: number | null
  /** Called in the transaction, which has locked the conversation, before anything is written. Its error is thrown. */
  check?(tx: Tx): Promise<void>
}

/**
 * Returns what a version that the author opens would replace, in a transaction that has locked the conversation. The turn
 * must exist in it. @throws as openVersion
 */
export async function requireReplaceable(
  tx: Tx,
  locked: LockedConversation,
  author: Viewer,
  { supersedes, turn }: Pick<OpenedVersion, 'supersedes' | 'turn'>,
): Promise<Replacement> {
  const authorKind = kindOfCredential(author, author.actor)
  const older = await readOlder(tx, locked.conversationId, supersedes)
  const version = { turn, actor: author.actor, authorKind, content: NO_CONTENT, clientHash: null }
  const replacement: Replacement = { ...locked, older, version: { ...version, status: 'STREAMING' } }
  await checkVersion(tx, replacement)
  await requireUndecided(tx, replacement, replacement.version)
  await requireAnsweredCalls(tx, replacement)
  return replacement
}

/**
 * Opens a newer version of a turn of the author, at once visible as its newest one. The version keeps `pinned`.
 * @throws NotFound @throws InvalidInput @throws LimitReached
 * @throws NotAllowed for an actor who is not the turn's author, or has left
 * @throws Conflict as supersedeTurn, and if a tool call of the turn waits for its result
 */
export async function openVersion(
  deps: SupersedeDeps,
  author: Viewer,
  { supersedes, turn, writerToken, leaseSeconds, check }: OpenedVersion,
): Promise<Turn> {
  const { tenant, actor } = author
  const opened = await withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    const locked = await lockConversationOf(tx, author, supersedes)
    const { conversationId } = locked
    await check?.(tx)
    const replacement = await requireReplaceable(tx, locked, author, { supersedes, turn })
    const { id: turnId, seq, last } = await writeVersion(deps, tx, replacement, [])
    const viewer = author.principal?.actor ?? actor
    const stream = { turnId, conversationId, tenant, viewer, writerHash: hashOfWriter(writerToken), leaseSeconds }
    const outcome = await openStream(tx, stream, APPEND_LIMITS)
    if (outcome !== 'opened') throw tooManyOpen(outcome)
    afterCommit(() => {
      announceEntries(deps, [{ tenant, conversationId, first: seq, last }])
      deps.writers.wrote({ tenant, actor }, conversationId)
    })
    return turnId
  })
  // No delta can precede holdText, because the writer learns the id from this result.
  if ((await deps.redaction.of(tenant)) === 'turns') await holdText(deps.pool, tenant, opened)
  const newer = (await getTurns(deps, author, [opened])).get(opened)
  // The conversation may have been deleted after the commit.
  if (!newer) throw new NotFound('turn', supersedes)
  return newer
}
