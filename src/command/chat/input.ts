// What a line of input means: a turn, a whisper, or a command. Also the completion of a line. Pure.

import { nearest } from '../../text/nearest.ts'

/** A command of the chat: its arguments, and what it does. */
type Command = { usage: string; description: string }

export const COMMANDS = {
  sessions: { usage: '', description: 'lists the conversations' },
  load: { usage: 'KEY', description: 'opens another conversation, which is created if there is none' },
  history: { usage: '[NUMBER]', description: 'prints the newest turns, 20 by default' },
  clear: { usage: '', description: 'clears the screen; the conversation is kept' },
  forget: { usage: '[#SEQ]', description: 'erases a turn, or deletes the conversation, permanently' },
  context: { usage: '[TOKENS]', description: 'prints the sections of the context for a model, with their tokens' },
  recall: { usage: 'QUERY', description: 'finds what is relevant to the query' },
  facts: { usage: '', description: 'lists the facts of the conversation' },
  who: { usage: '', description: 'lists the participants and their presence' },
  whisper: { usage: 'NAME[,NAME] TEXT', description: 'appends a turn that only these participants see' },
  as: { usage: 'NAME', description: 'continues as another actor' },
  help: { usage: '', description: 'lists the commands' },
  quit: { usage: '', description: 'ends the chat' },
} as const satisfies Record<string, Command>
export type CommandName = keyof typeof COMMANDS

/** Short names of commands. */
const SHORT: Readonly<Record<string, CommandName>> = { w: 'whisper', q: 'quit', exit: 'quit', '?': 'help' }

export type Input =
  | { kind: 'nothing' }
  | { kind: 'turn'; text: string; audience: string[] | null }
  | { kind: 'command'; name: Exclude<CommandName, 'whisper'>; argument: string }
  | { kind: 'mistake'; message: string }

const isCommand = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name)

function parseWhisper(rest: string): Input {
  const [, names = '', text = ''] = /^(\S+)\s+(\S.*)$/s.exec(rest) ?? []
  const audience = names
    .split(',')
    .map((name) => name.replace(/^@/, ''))
    .filter(Boolean)
  if (audience.length === 0 || text === '')
    return { kind: 'mistake', message: `Usage: /whisper ${COMMANDS.whisper.usage}` }
  return { kind: 'turn', text, audience }
}

/** Parses a line. A line that begins with two slashes is a turn that begins with one. */
export function parseInput(line: string): Input {
  const text = line.trim()
  if (text === '') return { kind: 'nothing' }
  if (text.startsWith('//')) return { kind: 'turn', text: text.slice(1), audience: null }
  const [, given, rest = ''] = /^\/(\S*)\s*(.*)$/s.exec(text) ?? []
  if (given === undefined) return { kind: 'turn', text, audience: null }
  const name = SHORT[given] ?? given
  if (!isCommand(name)) {
    const similar = nearest(name, Object.keys(COMMANDS))
    const next = similar ? `did you mean /${similar}?` : '/help lists the commands.'
    return { kind: 'mistake', message: `There is no command /${given}; ${next}` }
  }
  if (name === 'whisper') return parseWhisper(rest)
  const { usage } = COMMANDS[name]
  const isMissing = rest === '' && usage !== '' && !usage.startsWith('[')
  if (isMissing || (rest !== '' && usage === ''))
    return { kind: 'mistake', message: `Usage: /${name} ${usage}`.trimEnd() }
  return { kind: 'command', name, argument: rest }
}

/** What can be completed: the names of participants, and the keys of conversations. */
export type Completable = { names: readonly string[]; keys: readonly string[] }

/** Returns the completions of the last word of the line, and that word. */
export function complete(line: string, { names, keys }: Completable): [hits: string[], word: string] {
  const [word = ''] = /\S*$/.exec(line) ?? []
  const among = (candidates: readonly string[]): [string[], string] => [
    candidates.filter((each) => each.toLowerCase().startsWith(word.toLowerCase())).toSorted(),
    word,
  ]
  if (word === line && word.startsWith('/')) return among(Object.keys(COMMANDS).map((name) => `/${name} `))
  if (word.startsWith('@')) return among(names.map((name) => `@${name} `))
  if (line.startsWith('/load ')) return among(keys)
  if (/^\/(?:w|whisper|as) \S*$/.test(line)) {
    const [, before = '', last = ''] = /^(.*,)?([^,]*)$/.exec(word) ?? []
    const hits = names.filter((name) => name.toLowerCase().startsWith(last.replace(/^@/, '').toLowerCase()))
    return [hits.map((name) => `${before}${name}`).toSorted(), word]
  }
  return [[], word]
}

/** The decision about a tool call: the answer to `y/n/edit`. */
export type Decision =
  | { kind: 'approve'; arguments?: unknown }
  | { kind: 'deny'; reason: string | null }
  | { kind: 'edit' }
  | { kind: 'mistake'; message: string }

/** Parses the answer about a tool call: `y`, `n` with a reason, `edit`, or `edit` with the new arguments. */
export function parseDecision(line: string): Decision {
  const [, word = '', rest = ''] = /^\s*(\S*)\s*(.*?)\s*$/s.exec(line) ?? []
  switch (word.toLowerCase()) {
    case 'y':
    case 'yes':
      return { kind: 'approve' }
    case 'n':
    case 'no':
      return { kind: 'deny', reason: rest === '' ? null : rest }
    case 'e':
    case 'edit':
      if (rest === '') return { kind: 'edit' }
      try {
        return { kind: 'approve', arguments: JSON.parse(rest) as unknown }
      } catch {
        return { kind: 'mistake', message: 'The arguments are not JSON. Answer y, n or edit.' }
      }
    default:
      return { kind: 'mistake', message: 'A tool call waits: answer y, n (with a reason), or edit.' }
  }
}
