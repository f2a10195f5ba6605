// Checks the rows of a run of `npm run check:answers`: each question has exactly one committed answer with the right
// text, and the journal has no gap and an entry for the start and the end of every claim. Pure.

import { answerTo } from './question.ts'

/** A question, with the turns that reply to it and the newest claim on it. */
export type Row = {
  id: string
  text: string
  replies: { id: string; actor: string; status: string; text: string }[]
  claim: { outcome: string | null; answerId: string | null } | null
  /** Numbers of CLAIMED and CLAIM_RELEASED entries of the question. */
  claimed: number
  released: number
  /** Whether its wake-up waits for an answer. */
  isWaiting: boolean
}

/** Returns the violations in the rows, and the journals whose number of entries differs from their last seq. */
export function violationsOf(
  rows: readonly Row[],
  journals: readonly { entries: number; lastSeq: number }[],
): string[] {
  const found = rows.flatMap(({ id, text, replies, claim, claimed, released, isWaiting }) => {
    const problems: string[] = []
    const committed = replies.filter(({ status }) => status === 'COMMITTED')
    if (committed.length !== 1) problems.push(`has ${committed.length} committed answers`)
    for (const answer of committed) {
      if (answer.text !== answerTo(text).join('')) problems.push(`is answered with ${JSON.stringify(answer.text)}`)
    }
    for (const { id: reply, actor, status } of replies) {
      if (status !== 'COMMITTED' && status !== 'ABORTED') problems.push(`has the reply ${reply}, which is ${status}`)
      if (actor !== 'bot') problems.push(`is answered by ${actor}`)
    }
    if (claim?.outcome !== 'ANSWERED' || claim.answerId !== committed[0]?.id) {
      problems.push(`has a claim that is ${claim?.outcome ?? 'live'}, answered by ${claim?.answerId ?? 'nothing'}`)
    }
    // All claims but the last one were released or expired.
    if (claimed !== released + 1) problems.push(`has ${claimed} entries CLAIMED and ${released} CLAIM_RELEASED`)
    if (isWaiting) problems.push('waits for an answer')
    return problems.map((problem) => `${id} ${problem}`)
  })
  const gaps = journals.filter(({ entries, lastSeq }) => entries !== lastSeq)
  return [...found, ...gaps.map(({ entries, lastSeq }) => `a journal has ${entries} entries, but last seq ${lastSeq}`)]
}
