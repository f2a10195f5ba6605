// Adds the commands `export` and `import` to the command line.

import { CommanderError, type Command } from 'commander'
import type { Client } from '../client/index.ts'
import type { Exported } from './export.ts'
import type { Output, Result } from './output.ts'

type Add = (usage: string, description: string) => Command
type Work = (client: Client, output: Output) => Promise<Result | void>
type Options = { json: boolean }
type ExportOptions = Options & { out: string; conversation?: string; owner?: string; user?: string; all: boolean }
type ImportOptions = Options & { from: string; cancel: boolean }

const CONVERSATION_ID = /^conv_[0-9A-HJKMNP-TV-Z]{26}$/

/** Returns what the options select. @throws CommanderError unless they select one scope */
function exportedOf({ conversation, owner, user, all }: ExportOptions): Exported {
  const selected: Exported[] = []
  if (conversation !== undefined) {
    const isId = CONVERSATION_ID.test(conversation)
    selected.push({ scope: 'CONVERSATION', [isId ? 'conversationId' : 'conversationKey']: conversation })
  }
  if (owner !== undefined) selected.push({ scope: 'OWNER', owner })
  if (user !== undefined) selected.push({ scope: 'USER', userId: user })
  if (all) selected.push({ scope: 'TENANT' })
  if (selected.length === 1) return selected[0]!
  throw new CommanderError(2, 'colloquy.scope', 'Give one of --conversation, --owner, --user and --all.')
}

/** Writes lines for people, and progress only to a terminal. */
const noteTo = (writeError: (text: string) => void) => ({
  line: (text: string) => writeError(`${text}\n`),
  terminal: process.stderr.isTTY ? writeError : null,
})

/** Adds the commands. `withClient` runs the work with a client of the server that the options select. */
export function addTransfer(
  add: Add,
  withClient: (options: any, work: Work) => Promise<void>,
  writeError: (text: string) => void,
): void {
  add(
    'export',
    'write conversations to a file, one JSON object a line; the same command continues after an interruption',
  )
    .requiredOption('--out <file>', 'file to write; - for the standard output')
    .option('--conversation <name>', 'one conversation, by its key or id, with everything in it')
    .option('--owner <name>', 'all conversations of this owner, with everything in them')
    .option('--user <name>', 'the own data of this user, as the user sees it')
    .option('--all', 'the whole tenant', false)
    .action(async (options: ExportOptions, command: Command) => {
      let exported: Exported
      try {
        exported = exportedOf(options)
      } catch (error) {
        return command.error((error as Error).message, { exitCode: 2 })
      }
      const { exportTo } = await import('./export.ts')
      return withClient(options, (client, output) =>
        exportTo(client, { path: options.out, exported }, output, noteTo(writeError)),
      )
    })
  add('import <file>', 'import a file that an export wrote; the same command continues after an interruption')
    .option('--cancel', 'end the unfinished import of the file; complete conversations are kept', false)
    .action(async (path: string, options: ImportOptions) => {
      const { importFrom, exportedSource } = await import('./import.ts')
      return withClient(options, (client, output) =>
        importFrom(client, { source: exportedSource(path), isCancelled: options.cancel }, output, noteTo(writeError)),
      )
    })
}
