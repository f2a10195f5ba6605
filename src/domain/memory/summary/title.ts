// Writes automatic titles: a conversation without a title gets one that a summarizer makes from its first turns without
// an audience. Like a summary, the title is visible only to a viewer who sees all these turns. A title that a client
// has set is never replaced.

import { SYSTEM } from '../../../store/db/scope.ts'
import { writeEntry, lockJournal } from '../../../store/sql/turn/journal/write-entry.ts'
import {
  readFirstTurns,
  readTitleState,
  TITLE_TURNS,
  type TitleState,
  type TitleTurn,
} from '../../../store/sql/conversation/read-due-titles.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import { oneLine, type SummarizerTurn } from '../../../providers/ports/summarizer.ts'
import { cutTitle } from '../../../text/title.ts'
import { askProvider } from '../../../providers/ports/call-failed.ts'
import { summarizerFor } from '../../conversation/compaction-policy.ts'
import type { Platform } from '../../kernel/platform.ts'
import { announceEntries } from '../../kernel/live/publisher.ts'

/**
 * Returns the turns from which a title is made: turns of users with text; if there are none, all turns with text.
 * @internal Exported for tests.
 */
export function turnsForTitle(turns: readonly TitleTurn[]): TitleTurn[] {
  const withText = turns.filter(({ text }) => text.trim() !== '')
  const requests = withText.filter(({ role }) => role === 'USER')
  return requests.length > 0 ? requests : withText
}

const toSummarizerTurn = ({ actor, createdAt, text }: TitleTurn): SummarizerTurn => ({
  speaker: actor,
  at: createdAt,
  text: text.toWellFormed(),
})

/** Returns the title on one line, at most TITLE_CHARACTERS long; null if it is empty. */
const cleaned = (title: string | null): string | null =>
  (title && cutTitle(oneLine(title.replaceAll('\0', '').toWellFormed()))) || null

/**
 * Writes the automatic title of a conversation, if one is due. If the title changes, subscribers receive
 * ConversationUpdated. Writes nothing if a client sets a title meanwhile, or one of the title's turns is edited.
 * @returns 1 if the result of the attempt was stored, even if the attempt made no title; otherwise 0
 * @throws ProviderFailed
 */
export async function writeTitleDue(deps: Platform, conversationId: string, signal: AbortSignal): Promise<number> {
  const before = await readTitleState(deps.db.of(SYSTEM), conversationId)
  if (!before) return 0
  const turns = turnsForTitle(await readFirstTurns(deps.db, before.tenant, conversationId))
  const summarizer = summarizerFor(deps, before.summarizerModel)
  const title =
    turns.length === 0
      ? null
      : cleaned(
          await askProvider(deps.log, 'make a title', summarizer.model, () =>
            summarizer.title(turns.map(toSummarizerTurn), signal),
          ),
        )
  return (await writeTitle(deps, conversationId, { before, turns, title })) ? 1 : 0
}

/** The state of the conversation when the attempt began, the turns read since, and the title made from them. */
type TitleAttempt = { before: TitleState; turns: readonly TitleTurn[]; title: string | null }

/** Writes the result of an attempt. Returns false if the conversation or the turns have changed since it began. */
function writeTitle(deps: Platform, conversationId: string, { before, turns, title }: TitleAttempt): Promise<boolean> {
  const { tenant } = before
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    if (!(await lockJournal(tx, { tenant, actor: null }, conversationId))) return false
    const now = await readTitleState(tx, conversationId)
    const isSame =
      now !== null
      && now.title === before.title
      && now.titleSeq === before.titleSeq
      && now.titleTried === before.titleTried
    if (!isSame) return false
    const ids = turns.map(({ id }) => id)
    const current = await tx.turn.count({ where: { id: { in: ids }, supersededBy: null, status: 'COMMITTED' } })
    if (current < ids.length) return false
    await tx.conversation.update({
      where: { id: conversationId },
      data: {
        title,
        titleFrom: title === null ? null : turns[0]!.position,
        titleSeq: title === null ? null : Math.max(...turns.map(({ seq }) => seq)),
        titleTried: title === null ? Math.min(now.turnCount, TITLE_TURNS) : TITLE_TURNS,
      },
    })
    if (title === now.title) return true
    const seq = await writeEntry(tx, conversationId, 'UPDATED', {})
    afterCommit(() => announceEntries(deps, [{ tenant, conversationId, first: seq, last: seq }]))
    return true
  })
}
