// Text on a terminal: without control characters, measured in columns, and wrapped. Pure.

/** Control characters other than line breaks and tabs: they could move the cursor, or change the terminal's settings. */
// oxlint-disable-next-line no-control-regex -- they are removed
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** Returns the text without characters that control a terminal. Line breaks stay, and a tab becomes two blanks. */
export const plain = (text: string): string =>
  text.replaceAll('\r\n', '\n').replaceAll('\t', '  ').replaceAll(CONTROL, '')

/** Characters of two columns: emoji, and those that Unicode calls wide in East Asian text. */
const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u
/** Characters without a column of their own. */
const NARROW = /\p{M}|[\u200b-\u200d]/u

const columnsOf = (character: string): number => (NARROW.test(character) ? 0 : WIDE.test(character) ? 2 : 1)

/** Returns the number of columns that one line of text takes. */
export function widthOf(line: string): number {
  let width = 0
  for (const character of line) width += columnsOf(character)
  return width
}

/** Splits one line into lines of at most `width` columns, at blanks where there are any. */
function wrapLine(line: string, width: number): string[] {
  const lines: string[] = []
  let [current, used] = ['', 0]
  /** Index in `current` after its last blank; 0 for none. */
  let breakAt = 0
  for (const character of line) {
    const columns = columnsOf(character)
    if (used + columns > width && current !== '') {
      const rest = breakAt > 0 && character !== ' ' ? current.slice(breakAt) : ''
      lines.push(current.slice(0, current.length - rest.length).trimEnd())
      current = rest
      used = widthOf(rest)
      breakAt = 0
      if (character === ' ' && current === '') continue
    }
    current += character
    used += columns
    if (character === ' ') breakAt = current.length
  }
  return [...lines, current]
}

/** Splits a text into lines of at most `width` columns. */
export const wrap = (text: string, width: number): string[] =>
  text.split('\n').flatMap((line) => wrapLine(line, Math.max(1, width)))

/** Returns the head and as much of the end of the text as fits into `width` columns, on one line. */
export function endOf(head: string, text: string, width: number): string {
  const room = width - widthOf(head)
  const characters = [...text]
  let [from, used] = [characters.length, 0]
  while (from > 0 && used + columnsOf(characters[from - 1]!) <= room) {
    from -= 1
    used += columnsOf(characters[from]!)
  }
  return wrap(head + characters.slice(from).join(''), width)[0]!
}
