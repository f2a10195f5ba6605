// Edits and regenerations: a newer version in the place of an older one, which stays. One journal entry, on the newest
// version only, with the audience unchanged: so every version of a turn is seen by the same actors.

import { z } from 'zod'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../errors.ts'
import { lockJournal, writeEntry } from '../../store/sql/event/write-entry.ts'
import { lockFactsOf, supersedeFacts } from '../../store/sql/fact/write-facts.ts'
import { takeBackSummaries } from '../../store/sql/summary/write-summary.ts'
import type { Prisma } from '../../store/generated/client.ts'
import { withTransaction } from '../../store/tx.ts'
import { announceEntries } from '../publisher.ts'
import type { Platform } from '../platform.ts'
import { newId } from '../id.ts'
import { id, parse } from '../input.ts'
import { actAs, type Viewer } from '../view.ts'
import { indexEntry } from '../indexing/index-entry.ts'
import { salted } from '../../text/term-hash.ts'
import { contentGiven, turnInput } from './append.ts'
import { digest } from './content.ts'
import { getTurns, type Turn } from './turn.ts'

const supersedeTurnInput = z.object({ turnId: id('turn'), turn: turnInput })
export type SupersedeTurnInput = z.input<typeof supersedeTurnInput>

/**
 * The new version, committed. The clientId counts as in appendTurn.
 * @throws InvalidInput @throws NotFound
 * @throws NotAllowed for anybody but the turn's author
 * @throws Conflict when the turn is still being written, was superseded already, or the clientId stands for other
 *   content
 */
export async function supersedeTurn(deps: Platform, viewer: Viewer, input: SupersedeTurnInput): Promise<Turn> {
  const { turnId, turn } = parse(supersedeTurnInput, input)
  const actor = turn.actor ?? viewer.actor
  const content = await contentGiven(deps, turn, 'turn')
  const clientHash = turn.clientId == null ? null : digest({ ...turn, actor, supersedes: turnId })

  const written = await withTransaction(deps.db, async (tx, afterCommit) => {
    // The conversation is found by the turn, then locked, then the turn is read as it stands under the lock.
    const found = await tx.turn.findFirst({
      where: { id: turnId, conversation: { tenant: viewer.tenant } },
      select: { conversationId: true },
    })
    const conversationId = found?.conversationId
    const head = conversationId && (await lockJournal(tx, viewer.tenant, conversationId))
    if (!head) throw new NotFound('turn', turnId)

    if (turn.clientId != null) {
      const twin = await tx.turn.findFirst({ where: { conversationId, actor, clientId: turn.clientId } })
      if (twin && twin.clientHash !== clientHash) {
        throw new Conflict(
          `clientId ${JSON.stringify(turn.clientId)} was used for a turn with other content. Use another.`,
        )
      }
      if (twin) return twin.id
    }
    const older = await tx.turn.findUniqueOrThrow({ where: { id: turnId } })
    // A null audience is everybody; Prisma reads it as an empty list.
    const audience = older.audience.length ? older.audience : null
    if (audience && !audience.includes(actor)) throw new NotFound('turn', turnId)
    if (older.actor !== actor) {
      throw new NotAllowed(
        `Turn ${turnId} is ${older.actor}'s: only they may supersede it. Give turn.actor to speak as them.`,
      )
    }
    const author = await tx.participant.findUnique({ where: { conversationId_actor: { conversationId, actor } } })
    if (!author || author.leftAt) {
      throw new NotAllowed(`${JSON.stringify(actor)} has left the conversation: add them again first.`)
    }
    if (older.status === 'STREAMING') {
      throw new Conflict(`Turn ${turnId} is still being written: commit or abort it first.`)
    }
    if (older.status === 'ERASED') throw new Conflict(`Turn ${turnId} was erased: append a new turn.`)
    if (older.supersededBy) {
      throw new Conflict(
        `Turn ${turnId} was superseded by ${older.supersededBy} already: supersede the newest version.`,
      )
    }
    const asked = turn.audience && [...new Set([actor, ...turn.audience])].sort().join('\n')
    if (asked != null && asked !== audience?.toSorted().join('\n')) {
      throw InvalidInput.at('turn.audience', 'is that of the turn it supersedes: leave it out')
    }
    await checkAnswers(content.answers)

    const newer = newId('turn')
    const { terms, cues } = indexEntry(actor, content.text)
    const seq = await writeEntry(tx, conversationId, 'SUPERSEDED', { turnId: newer })
    await tx.turn.create({
      data: {
        id: newer,
        conversationId,
        seq,
        rootSeq: older.rootSeq,
        actor,
        role: turn.role,
        status: 'COMMITTED',
        text: content.text,
        parts: (content.parts as Prisma.InputJsonArray | null) ?? undefined,
        audience: audience ?? undefined,
        tokenCount: content.tokens,
        promptTokens: turn.tokens?.prompt,
        completionTokens: turn.tokens?.completion,
        model: turn.model,
        adapter: turn.adapter,
        traceId: turn.traceId,
        sources: turn.sources?.length ? turn.sources : undefined,
        pinned: turn.pinned ?? older.pinned,
        metadata: (turn.metadata as object | null | undefined) ?? undefined,
        clientId: turn.clientId,
        clientHash,
        supersedes: turnId,
        createdAt: turn.createdAt ?? undefined,
        terms: salted(terms, head.salt),
        cues,
      },
    })
    await tx.turn.update({ where: { id: turnId }, data: { supersededBy: newer } })
    if (content.calls.length) {
      await tx.toolCall.createMany({ data: content.calls.map((callId) => ({ conversationId, callId, turnId: newer })) })
    }
    if (!audience) {
      const counted = older.status === 'COMMITTED'
      await tx.journal.update({
        where: { conversationId },
        data: {
          turnCount: { increment: counted ? 0 : 1 },
          tokenCount: { increment: content.tokens - (counted ? older.tokenCount : 0) },
        },
      })
    }
    // What was summarised from here on was of the older version: it stands verbatim until it is summarised anew.
    if (!audience) await takeBackSummaries(tx, conversationId, older.rootSeq)
    // What was learned from the older version does not hold any more; the newer one may say it again.
    const told = await supersedeFacts(
      tx,
      (await lockFactsOf(tx, turnId)).map((fact) => ({ id: fact, by: null, reason: 'UPDATE' })),
    )
    const changed = told.length ? [await writeEntry(tx, conversationId, 'FACTS_CHANGED', { factIds: told })] : []
    const last = changed[0] ?? seq
    afterCommit(() => announceEntries(deps, [{ tenant: viewer.tenant, conversationId, first: seq, last }]))
    return newer

    async function checkAnswers(answers: string[]): Promise<void> {
      if (answers.length === 0) return
      const calls = await tx.toolCall.findMany({ where: { conversationId, callId: { in: answers } } })
      const makers = await tx.turn.findMany({ where: { id: { in: calls.map((call) => call.turnId) } } })
      const seen = new Set(
        makers
          .filter((maker) => maker.audience.length === 0 || maker.audience.includes(actor))
          .map((maker) => maker.id),
      )
      const known = new Set(calls.filter((call) => seen.has(call.turnId)).map((call) => call.callId))
      const stray = answers.find((call) => !known.has(call))
      if (stray !== undefined) {
        throw InvalidInput.at(
          'turn.parts',
          `there is no tool call ${JSON.stringify(stray)} in the conversation to answer`,
        )
      }
    }
  })
  const author = actAs(viewer, actor)
  const newer = (await getTurns(deps, author, [written])).get(written)
  // The conversation can be deleted right after the commit.
  if (!newer) throw new NotFound('turn', turnId)
  return newer
}
