// Values whose JSON is known already: stringify copies their text into its result.

import { randomUUID } from 'node:crypto'

/** The texts that the running `stringify` has collected, in the order of its result; null outside of it. */
let collected: string[] | null = null
/** Replaces each text until the result is built. It is random and never sent, so no other value contains it. */
const PLACEHOLDER = randomUUID()

/** A JSON value as text. JSON.stringify works too, but parses the text first. */
export class JsonText {
  readonly text: string
  /** Number of values in the text, for the limit of an answer's values (graphql/kernel/limits/extent.ts). */
  readonly values: number

  constructor(text: string, values: number) {
    this.text = text
    this.values = values
  }

  toJSON(): unknown {
    if (collected === null) return JSON.parse(this.text)
    collected.push(this.text)
    return PLACEHOLDER
  }
}

/** Like JSON.stringify, but copies the text of each JsonText unchanged. */
export function stringify(value: unknown): string {
  const texts: string[] = []
  collected = texts
  let outer: string
  try {
    outer = JSON.stringify(value)
  } finally {
    collected = null
  }
  if (texts.length === 0) return outer
  const [first, ...rest] = outer.split(`"${PLACEHOLDER}"`)
  let json = first!
  for (const [index, part] of rest.entries()) json += texts[index]! + part
  return json
}
