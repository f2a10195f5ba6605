// The questions of the check, their answers, and the reports of a process of the agent.

/** Seconds for which a process claims a turn. */
export const CLAIM_SECONDS = 3

/**
 * One step of a process, with the id of a question. `refused`: another process has claimed the question. `opened`: this
 * process has begun to answer. `answered`: the answer is committed. `lost`: this process has abandoned the answer.
 */
export type Report = { refused: string } | { opened: string } | { answered: string } | { lost: string }

export const questionOf = (number: number) => `@bot How much is ${number} times ${number}?`

/** Returns the answer to a question, in pieces. */
export function answerTo(question: string): string[] {
  const number = Number(/\d+/.exec(question)![0])
  return [`${number} times ${number} `, 'is, unless I am mistaken, ', `${number * number}.`]
}
