// The command `colloquy completion`: prints a script that completes the commands, their options and the values of options in
// a shell. The scripts are made from the parser, so that they list what it accepts. Pure.

import type { Command, Option } from 'commander'

/** What can follow a path of commands: the empty path, or for example `token create`. */
type Place = {
  path: string
  /** Names of the commands below it, with aliases, and the values of its argument. */
  words: { word: string; description: string }[]
  options: { flag: string; description: string; takesValue: boolean; values: readonly string[] }[]
}

const optionOf = ({ long, short, description, required, optional, argChoices }: Option): Place['options'][number] => ({
  flag: long ?? short!,
  description,
  takesValue: required || optional,
  values: argChoices ?? [],
})

const HELP = { flag: '--help', description: 'display help for command', takesValue: false, values: [] }

/** Returns the places of the command and of those below it. */
function placesOf(command: Command, path = ''): Place[] {
  const names = command.commands.flatMap((child) =>
    [child.name(), ...child.aliases()].map((word) => ({ word, description: child.description(), child })),
  )
  const values = command.registeredArguments.flatMap(({ argChoices, description }) =>
    (argChoices ?? []).map((word) => ({ word, description })),
  )
  const here: Place = {
    path,
    words: [...names.map(({ word, description }) => ({ word, description })), ...values],
    options: [...command.options.map(optionOf), HELP],
  }
  return [here, ...names.flatMap(({ word, child }) => placesOf(child, path === '' ? word : `${path} ${word}`))]
}

/** Quotes a text for bash, zsh and fish. */
const quoted = (text: string): string => `'${text.replaceAll('\\', String.raw`\\`).replaceAll("'", String.raw`'\''`)}'`
const list = (words: readonly string[], separator = ' '): string => words.map(quoted).join(separator)

/** Returns the pairs of a path and the next command, by the path of which they are part. */
function stepsOf(places: readonly Place[]): { from: string; patterns: string[] }[] {
  const paths = places.map(({ path }) => path).filter((path) => path !== '')
  const byParent = new Map<string, string[]>()
  for (const path of paths) {
    const at = path.lastIndexOf(' ')
    const parent = path.slice(0, Math.max(at, 0))
    byParent.set(parent, [...(byParent.get(parent) ?? []), `${parent} ${path.slice(at + 1)}`])
  }
  return [...byParent].map(([from, patterns]) => ({ from, patterns }))
}

/** Returns the branches of a `case` by path and previous word: the values of options, and options with other values. */
function valueBranches(places: readonly Place[], complete: (values: readonly string[]) => string, other: string) {
  const options = places.flatMap(({ path, options }) =>
    options.filter(({ takesValue }) => takesValue).map((option) => ({ ...option, at: `${path} ${option.flag}` })),
  )
  const free = options.filter(({ values }) => values.length === 0).map(({ at }) => at)
  return [
    ...options
      .filter(({ values }) => values.length > 0)
      .map(({ at, values }) => `    ${quoted(at)}) ${complete(values)}; return ;;`),
    ...(free.length > 0 ? [`    ${list(free, '|')}) ${other}; return ;;`] : []),
  ]
}

const stepBranches = (places: readonly Place[], word: string): string[] =>
  stepsOf(places).map(({ from, patterns }) => {
    const next = from === '' ? word : `"${from} ${word}"`
    return `      ${list(patterns, '|')}) at=${next} ;;`
  })

function bash(places: readonly Place[]): string[] {
  const reply = (words: readonly string[]) => `COMPREPLY=($(compgen -W ${quoted(words.join(' '))} -- "$current"))`
  return [
    '# Completes colloquy in bash. Load it with: source <(colloquy completion bash)',
    '_colloquy() {',
    "  local current=${COMP_WORDS[COMP_CWORD]} at='' i",
    '  COMPREPLY=()',
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    '    case "$at ${COMP_WORDS[i]}" in',
    ...stepBranches(places, '${COMP_WORDS[i]}'),
    '    esac',
    '  done',
    '  case "$at ${COMP_WORDS[COMP_CWORD-1]}" in',
    ...valueBranches(places, reply, 'COMPREPLY=()'),
    '  esac',
    '  case "$at:$current" in',
    ...places.flatMap(({ path, words, options }) => [
      `    ${quoted(`${path}:-`)}*) ${reply(options.map(({ flag }) => flag))} ;;`,
      ...(words.length > 0 ? [`    ${quoted(`${path}:`)}*) ${reply(words.map(({ word }) => word))} ;;`] : []),
    ]),
    '  esac',
    '}',
    'complete -o default -F _colloquy colloquy',
  ]
}

function zsh(places: readonly Place[]): string[] {
  const described = (entries: readonly (readonly [string, string])[]) =>
    list(entries.map(([word, description]) => `${word}:${description}`))
  return [
    '#compdef colloquy',
    '# Completes colloquy in zsh. Load it after compinit with: source <(colloquy completion zsh)',
    '_colloquy() {',
    "  local at='' word",
    '  local -a found',
    '  for word in "${(@)words[2,CURRENT-1]}"; do',
    '    case "$at $word" in',
    ...stepBranches(places, '$word'),
    '    esac',
    '  done',
    '  case "$at ${words[CURRENT-1]}" in',
    ...valueBranches(places, (values) => `compadd -- ${list(values)}`, '_files'),
    '  esac',
    '  case "$at:$PREFIX" in',
    ...places.flatMap(({ path, words, options }) => [
      `    ${quoted(`${path}:-`)}*) found=(${described(options.map(({ flag, description }) => [flag, description]))})`,
      "      _describe -o 'option' found ;;",
      ...(words.length > 0
        ? [
            `    ${quoted(`${path}:`)}*) found=(${described(words.map(({ word, description }) => [word, description]))})`,
            "      _describe 'command' found ;;",
          ]
        : []),
    ]),
    '    *) _files ;;',
    '  esac',
    '}',
    'if [[ $funcstack[1] == _colloquy ]]; then _colloquy "$@"; else compdef _colloquy colloquy; fi',
  ]
}

function fish(places: readonly Place[]): string[] {
  const steps = stepsOf(places).flatMap(({ from, patterns }) => [
    `      case ${list(patterns)}`,
    `        set at ${from === '' ? '$word' : `"${from} $word"`}`,
  ])
  const complete = (path: string, rest: string) =>
    `complete -c colloquy -n ${quoted(`__colloquy_at "${path}"`)} ${rest}`
  return [
    '# Completes colloquy in fish. Load it with: colloquy completion fish | source',
    'function __colloquy_at',
    "  set -l at ''",
    '  set -l given (commandline -opc)',
    '  set -e given[1]',
    '  for word in $given',
    '    switch "$at $word"',
    ...steps,
    '    end',
    '  end',
    '  test "$at" = "$argv[1]"',
    'end',
    ...places.flatMap(({ path, words, options }) => [
      ...words.map(({ word, description }) => complete(path, `-f -a ${quoted(word)} -d ${quoted(description)}`)),
      ...options.map(({ flag, description, takesValue, values }) => {
        const value = values.length > 0 ? ` -x -a ${quoted(values.join(' '))}` : takesValue ? ' -r' : ''
        return complete(path, `-l ${flag.slice(2)}${value} -d ${quoted(description)}`)
      }),
    ]),
  ]
}

const SCRIPTS = { bash, zsh, fish }
export type Shell = keyof typeof SCRIPTS

/** Returns the script of the shell for the whole command line. */
export const completionOf = (program: Command, shell: Shell): string =>
  `${SCRIPTS[shell](placesOf(program)).join('\n')}\n`
