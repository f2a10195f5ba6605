// The output of the demo: one participant's events as they arrive, and tables. Colours and transient lines are written
// only to a terminal.

import { styleText } from 'node:util'
import type { Event, Turn } from './participant.ts'

type Style = Parameters<typeof styleText>[0]

const COLOURS: Record<string, Style> = { ada: 'yellow', planner: 'cyan', researcher: 'magenta' }
const NAME_WIDTH = 12
const MAX_WIDTH = 88

export function createScreen(out: NodeJS.WriteStream) {
  const isTerminal = out.isTTY
  const hasColours = isTerminal && !process.env.NO_COLOR
  const width = Math.min(out.columns || MAX_WIDTH, MAX_WIDTH)
  const paint = (style: Style, text: string) => (hasColours ? styleText(style, text) : text)
  const dim = (text: string) => paint('dim', text)
  const name = (actor: string) => paint(['bold', COLOURS[actor] ?? 'white'].flat() as Style, actor)

  /** Column of the next word; 0 at the start of a line. */
  let column = 0
  /** Whether a space separates the next word from the previous one. */
  let needsSpace = false
  let lastIsBlank = false
  /** Whether the next output erases the current line. */
  let isTransient = false

  function write(text: string): void {
    if (isTransient) out.write('\r\x1b[2K')
    isTransient = false
    lastIsBlank = false
    out.write(text)
  }

  function line(text = ''): void {
    write(`${column > 0 ? '\n' : ''}${text}\n`)
    column = 0
    lastIsBlank = text === ''
  }

  const indent = () => {
    column = 2 + NAME_WIDTH
    return ' '.repeat(column)
  }

  /** Begins an actor's turn. `audience` is null if the turn has none. */
  function begin(actor: string, audience: string[] | null): void {
    if (column > 0) line()
    write(`  ${name(actor)}${' '.repeat(NAME_WIDTH - actor.length)}`)
    column = 2 + NAME_WIDTH
    needsSpace = false
    const readers = audience?.filter((each) => each !== actor)
    if (readers?.length) print(`(only to ${readers.join(', ')}) `, 'dim')
  }

  /** Appends text to the current turn and wraps it between words. The text may begin or end within a word. */
  function print(text: string, style?: Style): void {
    for (const piece of text.match(/\s+|\S+/g) ?? []) {
      if (piece.trim() === '') {
        needsSpace = true
        continue
      }
      if (column === 0) {
        write(indent())
      } else if (column + piece.length + 1 > width) {
        write(`\n${indent()}`)
      } else if (needsSpace) {
        write(' ')
        column += 1
      }
      write(style ? paint(style, piece) : piece)
      column += piece.length
      needsSpace = false
    }
  }

  /** Prints a remark that is not part of the conversation. */
  const note = (text: string) => line(dim(`  · ${text}`))

  /** Prints the tool calls and results of a turn, after its text. */
  function printTools({ parts }: Turn): void {
    for (const { toolCall, arguments: given, toolResult, result } of parts) {
      if (toolCall) print(`→ ${toolCall} ${JSON.stringify(given)} `, 'green')
      if (toolResult) print(`← ${toolResult} ${JSON.stringify(result)} `, 'green')
    }
  }

  function show(event: Event): void {
    const { turn, run, approval } = event
    switch (event.__typename) {
      case 'TurnAppended':
        begin(turn!.actor, turn!.audience)
        print(turn!.text)
        printTools(turn!)
        return line()
      case 'TurnOpened':
        return begin(turn!.actor, turn!.audience)
      case 'TurnDelta':
        return print(event.text!)
      case 'TurnCommitted':
        printTools(turn!)
        return line()
      case 'TurnAborted':
        return note(`${turn!.actor} stopped writing`)
      case 'ApprovalRequested':
        return note(`${approval!.toolName} waits for approval: ${JSON.stringify(approval!.arguments)}`)
      case 'ApprovalResolved': {
        const edited = approval!.edited ? `, as ${JSON.stringify(approval!.arguments)}` : ''
        return note(`${approval!.state.toLowerCase()} by ${approval!.decidedBy ?? 'nobody'}${edited}`)
      }
      case 'RunChanged':
        if (run!.error) return note(`the run of ${run!.actor} failed: ${run!.error.message}`)
        if (run!.state !== 'RUNNING') return
        if (!isTerminal || column > 0) return
        write(`\r\x1b[2K${dim(`  ${run!.actor} is thinking …`)}`)
        isTransient = true
    }
  }

  /** Returns a turn as one line. */
  const lineOf = ({ actor, text, parts }: Turn) =>
    [
      `${actor}: ${text}`.trim(),
      ...parts.flatMap(({ toolCall, toolResult }) =>
        toolCall ? `→ ${toolCall}` : toolResult ? `← ${toolResult}` : [],
      ),
    ].join(' ')

  const truncate = (text: string, length: number) => (text.length <= length ? text : `${text.slice(0, length - 1)}…`)

  /** Prints rows below headings. The first column is `first` characters wide; the others share the rest equally. */
  function table(first: number, headings: string[], rows: string[][]): void {
    const otherWidth = Math.floor((width - 2 - first) / (headings.length - 1)) - 2
    const widthOf = (index: number) => (index === 0 ? first : otherWidth)
    const printRow = (cells: string[], style: (cell: string, index: number) => string) =>
      line(
        `  ${cells
          .map((cell, index) => {
            const text = truncate(cell, widthOf(index))
            return style(text, index) + ' '.repeat(widthOf(index) - text.length)
          })
          .join('  ')
          .trimEnd()}`,
      )
    printRow(headings, (cell) => (COLOURS[cell] ? name(cell) : dim(cell)))
    for (const row of rows) printRow(row, (cell, index) => (index === 0 || cell === '·' ? dim(cell) : cell))
  }

  return {
    show,
    note,
    line,
    table,
    lineOf,
    heading: (text: string) => line(`${lastIsBlank ? '' : '\n'}${paint('bold', text)}`),
    check: (isTrue: boolean, text: string) => line(`  ${isTrue ? paint('green', '✓') : paint('red', '✗')} ${text}`),
  }
}
