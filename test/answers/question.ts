// The questions of the check, their answers, and what a process of the agent reports.

/** Seconds for which a process claims a turn. */
export const CLAIM_SECONDS = 3

/** Each has the id of a turn: a question was claimed by another process, is being answered, was answered, was given up. */
export type Report = { refused: string } | { opened: string } | { answered: string } | { lost: string }

export const questionOf = (number: number) => `@bot How much is ${number} times ${number}?`

/** Returns the answer to a question, in pieces. */
export function answerTo(question: string): string[] {
  const number = Number(/\d+/.exec(question)![0])
  return [`${number} times ${number} `, 'is, unless I am mistaken, ', `${number * number}.`]
}
