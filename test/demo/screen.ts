// What the demo looks like: the conversation as one participant sees it, live, and tables. Colours and passing lines only on a
// terminal; elsewhere the same words as plain text.

import { styleText } from 'node:util'
import type { Event } from './participant.ts'

type Style = Parameters<typeof styleText>[0]

const COLOURS: Record<string, Style> = { ada: 'yellow', scout: 'cyan', scribe: 'magenta' }
const NAME = 8
const WIDEST = 88

export function createScreen(out: NodeJS.WriteStream) {
  const isTerminal = out.isTTY
  const hasColours = isTerminal && !process.env.NO_COLOR
  const width = Math.min(out.columns || WIDEST, WIDEST)
  const paint = (style: Style, text: string) => (hasColours ? styleText(style, text) : text)
  const dim = (text: string) => paint('dim', text)
  const name = (actor: string) => paint(['bold', COLOURS[actor] ?? 'white'].flat() as Style, actor)

  /** Where the next word goes; 0 at the start of a line. */
  let column = 0
  let spaced = false
  let lastIsBlank = false
  /** A line that the next word wipes out. */
  let passing = false

  function write(text: string): void {
    if (passing) out.write('\r\x1b[2K')
    passing = false
    lastIsBlank = false
    out.write(text)
  }

  function line(text = ''): void {
    write(`${column > 0 ? '\n' : ''}${text}\n`)
    column = 0
    lastIsBlank = text === ''
  }

  const indent = () => {
    column = 2 + NAME
    return ' '.repeat(column)
  }

  /** Begins what an actor says; `whisper` names those it is for. */
  function begin(actor: string, whisper: string[] | null, mark = ''): void {
    if (column > 0) line()
    write(`  ${name(actor)}${' '.repeat(NAME - actor.length)}`)
    column = 2 + NAME
    spaced = false
    const others = whisper?.filter((each) => each !== actor)
    if (others?.length) say(`(only to ${others.join(', ')}) `, 'dim')
    if (mark) say(`(${mark}) `, 'dim')
  }

  /** Goes on with what is said; words wrap, however they come. */
  function say(text: string, style?: Style): void {
    for (const piece of text.match(/\s+|\S+/g) ?? []) {
      if (piece.trim() === '') {
        spaced = true
        continue
      }
      if (column === 0) {
        write(indent())
      } else if (column + piece.length + 1 > width) {
        write(`\n${indent()}`)
      } else if (spaced) {
        write(' ')
        column += 1
      }
      write(style ? paint(style, piece) : piece)
      column += piece.length
      spaced = false
    }
  }

  /** A remark of the demo itself. */
  const note = (text: string) => line(dim(`  · ${text}`))

  function show(event: Event): void {
    switch (event.__typename) {
      case 'TurnAppended':
        begin(event.turn!.actor, event.turn!.audience)
        say(event.turn!.text)
        return line()
      case 'TurnOpened':
        return begin(event.turn!.actor, event.turn!.audience)
      case 'TurnDelta':
        return say(event.text!)
      case 'TurnCommitted':
        return line()
      case 'TurnSuperseded':
        begin(event.by!.actor, event.by!.audience, `edits ${event.turn!.seq}`)
        say(event.by!.text)
        return line()
      case 'PresenceChanged': {
        if (event.state !== 'THINKING' && event.state !== 'TYPING') return
        const text = dim(`  ${event.participant!.actor} is ${event.state.toLowerCase()} …`)
        if (!isTerminal) return line(text)
        if (column > 0) line()
        write(`\r\x1b[2K${text}`)
        passing = true
      }
    }
  }

  const cut = (text: string, conversationId: number) =>
    text.length <= conversationId ? text : `${text.slice(0, conversationId - 1)}…`

  /** Rows under heads; the first column is `first` wide, the others share the rest. */
  function table(first: number, heads: string[], rows: string[][]): void {
    const each = Math.floor((width - 2 - first) / (heads.length - 1)) - 2
    const wide = (index: number) => (index === 0 ? first : each)
    const put = (cells: string[], style: (cell: string, index: number) => string) =>
      line(
        `  ${cells
          .map((cell, index) => {
            const text = cut(cell, wide(index))
            return style(text, index) + ' '.repeat(wide(index) - text.length)
          })
          .join('  ')
          .trimEnd()}`,
      )
    put(heads, (cell) => (COLOURS[cell] ? name(cell) : dim(cell)))
    for (const row of rows) put(row, (cell, index) => (index === 0 || cell === '·' ? dim(cell) : cell))
  }

  return {
    show,
    note,
    line,
    table,
    heading: (text: string) => line(`${lastIsBlank ? '' : '\n'}${paint('bold', text)}`),
    check: (holds: boolean, text: string) => line(`  ${holds ? paint('green', '✓') : paint('red', '✗')} ${text}`),
  }
}
