// Writes values as JSON, TypeScript and words of a shell, so that the text means exactly the value.

/**
 * Characters that are invisible, or that change the order of the text around them. They are written as escapes, so that
 * the code does what it shows.
 */
const INVISIBLE = /[\u007F-\u009F\u00AD\u061C\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]/g

const escape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Returns the value as JSON, without invisible characters. @param space as of JSON.stringify */
export const jsonOf = (value: unknown, space?: number): string =>
  JSON.stringify(value, null, space).replace(INVISIBLE, escape)

/** Returns the text as one word of a POSIX shell. */
export const shellWord = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** Returns the text as a string literal of TypeScript, in single quotes. */
export const stringLiteral = (text: string): string =>
  `'${jsonOf(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`

/** Returns the text as a template literal, so that its line breaks remain. */
export const templateLiteral = (text: string): string => {
  // A line break other than \n would become \n in a template literal.
  if (/[\r\u2028\u2029]/.test(text)) return stringLiteral(text)
  const escaped = text.replace(/[\\`]|\$(?=\{)/g, (character) => `\\${character}`)
  return `\`${escaped.replace(INVISIBLE, escape)}\``
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/

const keyOf = (key: string): string =>
  // As a name, __proto__ would set the prototype.
  key === '__proto__' ? "['__proto__']" : IDENTIFIER.test(key) ? key : stringLiteral(key)

/** Maximum length of an object or an array that is written in one line. */
const MAX_LINE = 80

/** Returns a JSON value as an expression of TypeScript. Fields without a value are left out, as in JSON. */
export function literalOf(value: unknown, indent = ''): string {
  if (typeof value === 'string') return stringLiteral(value)
  if (typeof value !== 'object' || value === null) return jsonOf(value)
  const inner = `${indent}  `
  const isList = Array.isArray(value)
  const items = isList
    ? value.map((item) => literalOf(item ?? null, inner))
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([key, item]) => `${keyOf(key)}: ${literalOf(item, inner)}`)
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  if (items.length === 0) return open + close
  const line = isList ? `[${items.join(', ')}]` : `{ ${items.join(', ')} }`
  if (line.length <= MAX_LINE && !line.includes('\n')) return line
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${indent}${close}`
}
