// The shape of a set: a chat, and questions that one of its turns answers.

export type LanguageSet = {
  turns: [actor: string, text: string][]
  /** `answer` is the index of the turn that answers the question. */
  questions: [question: string, answer: number][]
}
