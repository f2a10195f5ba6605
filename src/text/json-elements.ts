// Splits the text of a JSON document into the elements of its list, with memory for one element and one chunk: a list of
// conversations may be larger than memory. A document that is no list is one element. Pure.

/** Maximum length of one element, in UTF-16 units. */
const MAX_ELEMENT_UNITS = 256 * 1024 * 1024

/** An element is too long. `number` is its number in the list, from 1. */
export class ElementTooLong extends Error {
  override readonly name = 'ElementTooLong'
  constructor(number: number) {
    super(`Element ${number} is longer than ${MAX_ELEMENT_UNITS} characters, the maximum.`)
  }
}

const SPACE = /\S/

/**
 * Yields the texts of the elements in order, untrimmed. Does not check that they are JSON: a damaged document ends with
 * an element that is not.
 */
export async function* jsonElements(chunks: AsyncIterable<string>): AsyncGenerator<string, void> {
  let isList: boolean | null = null
  let isClosed = false
  let [depth, isInString, isEscaped, number] = [0, false, false, 1]
  let parts: string[] = []
  let length = 0
  const keep = (text: string) => {
    length += text.length
    if (length > MAX_ELEMENT_UNITS) throw new ElementTooLong(number)
    parts.push(text)
  }
  const take = () => {
    const text = parts.join('')
    parts = []
    length = 0
    number++
    return text
  }
  for await (const chunk of chunks) {
    let from = 0
    if (isList === null) {
      const first = chunk.search(SPACE)
      if (first < 0) continue
      isList = chunk[first] === '['
      from = isList ? first + 1 : 0
    }
    if (!isList || isClosed) {
      keep(chunk.slice(from))
      continue
    }
    for (let index = from; index < chunk.length; index++) {
      const code = chunk.charCodeAt(index)
      if (isInString) {
        if (isEscaped) isEscaped = false
        else if (code === 0x5c) isEscaped = true
        else if (code === 0x22) isInString = false
      } else if (code === 0x22) isInString = true
      else if (code === 0x7b || code === 0x5b) depth++
      else if (code === 0x7d || (code === 0x5d && depth > 0)) depth--
      else if (depth === 0 && (code === 0x2c || code === 0x5d)) {
        keep(chunk.slice(from, index))
        from = index + 1
        const text = take()
        isClosed = code === 0x5d
        if (SPACE.test(text) || !isClosed) yield text
        if (isClosed) break
      }
    }
    keep(chunk.slice(from))
  }
  const rest = take()
  // A list that is cut off ends with a part of an element.
  if (SPACE.test(rest)) yield rest
  else if (isList && !isClosed) yield '['
}
