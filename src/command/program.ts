// The command line: parses the arguments, runs the command, and turns failures into one line and an exit code.
// docs/command-line.md lists the exit codes.

import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { ColloquyError } from '../client/transport/errors.ts'
import type { AsOf } from '../client/generated.ts'
import type { Client } from '../client/index.ts'
import { RIGHTS } from '../domain/kernel/rights/principal.ts'
import { ownVersion } from '../runtime/package-versions.ts'
import {
  selectSettings,
  conversationOf,
  listConversations,
  listFacts,
  readContext,
  readHistory,
  resultOfRecall,
  type FactsOptions,
} from './read.ts'
import { type Io, print, type Output, type Result } from './output.ts'
import { JOB_STATES, listJobs } from './jobs.ts'
import { ask, CommandFailed, tail } from './live.ts'
import { addChat, addCompletion, addDoctor, addMcp, addReembed } from './loaded-commands.ts'
import { openTarget, type TargetOptions } from './target.ts'
import { addTransfer } from './transfer/transfer.ts'
import { createToken, listTokens, revokeToken, rotateToken, type TokenOptions } from './token.ts'

export type { Io } from './output.ts'

/** The exit codes of the command. */
export const EXIT = { success: 0, failure: 1, usage: 2, unreachable: 3, interrupted: 130 } as const

/** Returns a parser of a whole number from `min` to `max`. */
const whole = (min: number, max: number) => (text: string) => {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
}

function httpUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text
  throw new InvalidArgumentError('It must be a URL with http: or https:.')
}

/** Returns the moment of `--as-of`: a journal number, or a time. */
function momentOf(text: string): AsOf {
  if (/^\d{1,10}$/.test(text)) return { seq: Number(text) }
  const time = new Date(text)
  if (!Number.isNaN(time.getTime())) return { time: time.toISOString() }
  throw new InvalidArgumentError('It must be a time, for example 2026-03-01T09:30:00Z, or a journal number.')
}

const list = (text: string) => text.split(',')
const collect = (text: string, before: string[] = []) => [...before, text]

type Globals = TargetOptions & { json: boolean }

/** Adds the options of every command. */
const withOutput = (command: Command): Command => command.option('--json', 'print JSON', false)

/** Adds the options of a command that talks to a server. */
const withTarget = (command: Command, { url, token }: Io['defaults']): Command =>
  command
    .addOption(
      new Option('--url <url>', 'server; without it, the database that the settings select is opened in this process')
        .argParser(httpUrl)
        .default(url, 'COLLOQUY_URL'),
    )
    .addOption(new Option('--token <token>', 'API key or JSON Web Token').default(token, 'COLLOQUY_TOKEN'))
    .option('--actor <name>', 'actor in whose view the command reads and writes')
    .option('--tenant <name>', 'tenant, for a server without authentication')

/** Creates the parser of the command line. Parsing runs the command. */
function createProgram(io: Io): Command {
  const program = new Command('colloquy')
    .description('Keeps conversations for AI agents and people. Without a command, starts the server.')
    .version(ownVersion(), '--version', 'print the version')
    .showHelpAfterError('(--help lists the commands and options)')
    .exitOverride()
    .configureOutput({ writeOut: (text) => void io.write(text), writeErr: io.writeError })

  /** Runs `work` with a client of the server that the options select. */
  const withClient = async (options: Globals, work: (client: Client, output: Output) => Promise<Result | void>) => {
    const target = await openTarget(options, io.loadConfig)
    const output: Output = { ...io, isJson: options.json }
    try {
      const result = await work(target.client, output)
      if (result) await print(output, result)
    } finally {
      await target.close()
    }
  }
  const add = (usage: string, description: string) =>
    withTarget(withOutput(program.command(usage).description(description)), io.defaults)

  addReading(add, withClient)
  addLive(add, withClient)
  addChat(withTarget(program.command('chat [conversation]'), io.defaults), io)
  addTransfer(add, withClient, io)
  addOperation(add, withClient)
  addMcp(withTarget(program.command('mcp'), io.defaults), io)
  addDoctor(add('doctor', ''), io)
  addReembed(add('reembed', ''), withClient, io)
  addConfig(program, io)
  addToken(program, io)
  addCompletion(program, io)
  return program
}

type Add = (usage: string, description: string) => Command
type WithClient = (options: Globals, work: (client: Client, output: Output) => Promise<Result | void>) => Promise<void>

const asOf = () =>
  new Option('--as-of <moment>', 'what was known at this time, or at this journal number').argParser(momentOf)
const limit = () => new Option('--limit <number>', 'maximum number').argParser(whole(1, 200)).default(20)

/** Resolves when the command is stopped. */
const stopped = ({ signal }: Output) =>
  new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())))

type ContextOptions = { budget?: number; query?: string; facts: boolean; profile: boolean; asOf?: AsOf }

function addReading(add: Add, withClient: WithClient): void {
  /** Runs a read, which has nothing to undo when the command is stopped. */
  const read = (options: Globals, work: (client: Client) => Promise<Result>) =>
    withClient(options, (client, output) => Promise.race([work(client), stopped(output)]))
  add('conversations', 'list conversations, the most recently active first')
    .alias('sessions')
    .option('--search <text>', 'text that the title contains')
    .addOption(limit())
    .action((options: Globals & { search?: string; limit: number }) =>
      read(options, (client) => listConversations(client, options)),
    )
  add('history <conversation>', 'print the newest turns of a conversation, by its key or id')
    .addOption(new Option('--last <number>', 'number of turns').argParser(whole(1, 200)).default(20))
    .option('--before <cursor>', 'print the turns before this one')
    .addOption(asOf())
    .action((name: string, options: Globals & { last: number; before?: string; asOf?: AsOf }) =>
      read(options, (client) => readHistory(conversationOf(client, name), options)),
    )
  add('recall <query>', 'find turns, facts and summaries that are relevant to the query')
    .option('--conversation <name>', 'search only this conversation, by its key or id')
    .addOption(new Option('--k <number>', 'maximum number of hits').argParser(whole(1, 100)))
    .addOption(asOf())
    .action((query: string, options: Globals & { conversation?: string; k?: number; asOf?: AsOf }) =>
      read(options, async (client) => {
        const { conversation: name, ...given } = {
          conversation: options.conversation,
          k: options.k,
          asOf: options.asOf,
        }
        if (name === undefined) return resultOfRecall(await client.recall(query, { scope: 'OWNER', ...given }))
        return resultOfRecall(await conversationOf(client, name).recall(query, given))
      }),
    )
  add('context <conversation>', 'print the sections of the context for a model, with their tokens')
    .addOption(new Option('--budget <tokens>', 'token budget').argParser(whole(1, 2_000_000)))
    .option('--query <text>', 'recall turns that are relevant to this text')
    .option('--facts', 'include facts', false)
    .option('--profile', 'include profiles', false)
    .addOption(asOf())
    .action((name: string, options: Globals & ContextOptions) =>
      read(options, (client) => {
        const { budget: tokenBudget, query, facts: includeFacts, profile: includeProfile, asOf: at } = options
        return readContext(conversationOf(client, name), { tokenBudget, query, includeFacts, includeProfile, asOf: at })
      }),
    )
  add('facts [conversation]', 'list active facts, newest first')
    .option('--user <name>', 'facts about this user')
    .option('--predicate <text>', 'facts with this predicate')
    .addOption(limit())
    .addOption(asOf())
    .action((conversation: string | undefined, options: Globals & FactsOptions) =>
      read(options, (client) => listFacts(client, { conversation, ...options })),
    )
}

function addOperation(add: Add, withClient: WithClient): void {
  add('jobs', 'list the background jobs of the tenant, and the progress of embedding')
    .addOption(new Option('--state <state>', 'jobs in this state').choices(JOB_STATES))
    .addOption(limit())
    .action((options: Globals & { limit: number; state?: (typeof JOB_STATES)[number] }) =>
      withClient(options, (client) => listJobs(client, options)),
    )
}

function addLive(add: Add, withClient: WithClient): void {
  add('tail <conversation>', 'print the events of a conversation as they happen')
    .addOption(
      new Option('--after <seq>', 'start after this journal entry; 0 for all').argParser(whole(0, 2_147_483_647)),
    )
    .action((name: string, options: Globals & { after?: number }) =>
      withClient(options, (client, output) => tail(conversationOf(client, name), options, output)),
    )
  add('ask <conversation> <text>', 'append a turn, and print the answer as it is written')
    .option('--agent <name>', 'agent that the server runs to answer; otherwise, anyone may answer')
    .option('--provider <name>', 'provider of the agent, unless the agent has settings')
    .addOption(new Option('--timeout <seconds>', 'time for the whole answer').argParser(whole(1, 86_400)).default(120))
    .action((name: string, text: string, options: Globals & { agent?: string; provider?: string; timeout: number }) =>
      withClient(options, (client, output) => {
        const { agent, provider, timeout: timeoutSeconds } = options
        return ask(client, conversationOf(client, name), { text, agent, provider, timeoutSeconds }, output)
      }),
    )
}

function addConfig(program: Command, io: Io): void {
  withOutput(program.command('config [names...]'))
    .description('print the effective settings of the server, and the source of each')
    .action(async (names: string[], { json: isJson }: { json: boolean }) => {
      // Wrong settings are reported before any of them is printed.
      io.loadConfig()
      const selected = selectSettings(io.readSettings(), names)
      if ('unknown' in selected) throw new CommandFailed(selected.unknown)
      await print({ ...io, isJson }, selected)
    })
}

function addToken(program: Command, io: Io): void {
  const token = program
    .command('token')
    .description('manage API keys in the database that the settings of the server select, without a server')
  const add = (usage: string, description: string) =>
    withOutput(token.command(usage).description(description)).option('--tenant <name>', 'tenant of the keys', 'default')
  const run = async <Options extends { json: boolean }>(options: Options, work: Promise<Result>) =>
    print({ ...io, isJson: options.json }, await work)

  add('create', 'create a key and print its token, which cannot be printed again')
    .requiredOption('--actor <name>', 'actor of the key')
    .requiredOption('--rights <list>', `rights, separated by commas: ${RIGHTS.join(', ')}`, list)
    .option('--name <text>', 'name of the key; defaults to the actor')
    .option('--kind <kind>', 'kind of the actor: HUMAN, AGENT or TOOL; defaults to AGENT')
    .option('--conversation <id>', 'limit the key to the conversation; may be repeated', collect)
    .option('--days <number>', 'days until the key expires; defaults to never', whole(1, 36_500))
    .action((options: TokenOptions) => run(options, createToken(options, io.loadConfig())))
  add('list', 'print the keys, newest first').action((options: TokenOptions) =>
    run(options, listTokens(options, io.loadConfig())),
  )
  add('rotate <id>', 'replace the secret of a key, and print the new token')
    .option('--overlap <seconds>', 'time for which the previous secret stays valid', whole(0, 999_999_999), 0)
    .action((id: string, options: TokenOptions & { overlap: number }) =>
      run(options, rotateToken(id, options, io.loadConfig())),
    )
  add('revoke <id>', 'revoke a key').action((id: string, options: TokenOptions) =>
    run(options, revokeToken(id, options, io.loadConfig())),
  )
}

/** Codes of the client for a server that cannot be reached. */
const UNREACHABLE = new Set(['NETWORK', 'TIMEOUT', 'BAD_URL', 'BAD_RESPONSE'])

/**
 * Runs the command, and returns its exit code. A failure that a person can act on is written as one line.
 * @throws any other error
 */
export async function runProgram(args: readonly string[], io: Io): Promise<number> {
  try {
    await createProgram(io).parseAsync(args, { from: 'user' })
    return io.signal.aborted ? EXIT.interrupted : EXIT.success
  } catch (error) {
    if (io.signal.aborted) return EXIT.interrupted
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.success : EXIT.usage
    if (error instanceof CommandFailed) io.writeError(`${error.message}\n`)
    else if (error instanceof ColloquyError) io.writeError(`${error.code}: ${error.message}\n`)
    else throw error
    return error instanceof ColloquyError && UNREACHABLE.has(error.code) ? EXIT.unreachable : EXIT.failure
  }
}
