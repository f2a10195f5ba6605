// Adds the commands `export` and `import` to the command line.

import { CommanderError, Option, type Command } from 'commander'
import { transfersOf, type Client } from '../../client/index.ts'
import { derivedKey } from '../../domain/kernel/derived-id.ts'
import { PROGRAMS, type Program } from '../../domain/trust/transfer/foreign/foreign.ts'
import type { Exported } from './export.ts'
import type { Source } from './import.ts'
import type { Io, Output, Result } from '../output.ts'
import type { Notes } from './progress.ts'
import { isConversationId } from '../read.ts'
import type { TargetOptions } from '../target.ts'

type Add = (usage: string, description: string) => Command
type Work = (client: Client, output: Output) => Promise<Result | void>
type Options = TargetOptions & { json: boolean }
type ExportOptions = Options & { out: string; conversation?: string; owner?: string; user?: string; all: boolean }
type ImportOptions = Options & { from: string; cancel: boolean }

/** Returns what the options select. @throws CommanderError unless they select one scope */
function exportedOf({ conversation, owner, user, all }: ExportOptions): Exported {
  const selected: Exported[] = []
  if (conversation !== undefined) {
    selected.push({
      scope: 'CONVERSATION',
      [isConversationId(conversation) ? 'conversationId' : 'conversationKey']: conversation,
    })
  }
  if (owner !== undefined) selected.push({ scope: 'OWNER', owner })
  if (user !== undefined) selected.push({ scope: 'USER', userId: user })
  if (all) selected.push({ scope: 'TENANT' })
  if (selected.length === 1) return selected[0]!
  throw new CommanderError(2, 'colloquy.scope', 'Give one of --conversation, --owner, --user and --all.')
}

const notesOf = ({ writeError, draw }: Io): Notes => ({ line: (text) => writeError(`${text}\n`), draw })

const VIEWER = 'query Viewer($as: String) { viewer(as: $as) { id actor } }'

/** Returns the source of a file of another program, for the tenant of the client, with its actor as the owner. */
async function foreign(client: Client, path: string, { from }: ImportOptions): Promise<Source> {
  const { foreignSource } = await import('./foreign-source.ts')
  const { viewer } = await client.request<{ viewer: { id: string; actor: string } }>(VIEWER, { as: client.as })
  const key = derivedKey(viewer.id)
  return foreignSource(path, {
    program: from as Program,
    tenant: key?.kind === 'viewer' ? key.tenant : '',
    owner: viewer.actor,
  })
}

/** Adds the commands. `withClient` runs the work with a client of the server that the options select. */
export function addTransfer(add: Add, withClient: (options: Options, work: Work) => Promise<void>, io: Io): void {
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
      return withClient({ ...options, background: 'none' }, (client, output) =>
        exportTo(transfersOf(client), { path: options.out, exported }, output, notesOf(io)),
      )
    })
  add(
    'import <file>',
    'import a file of an export, or of another program; the same command continues after an interruption',
  )
    .addOption(
      new Option('--from <program>', 'program that wrote the file; Slack and Discord: an unpacked folder')
        .choices(['colloquy', ...PROGRAMS])
        .default('colloquy'),
    )
    .option('--cancel', 'end the unfinished import of the file; complete conversations are kept', false)
    .action(async (path: string, options: ImportOptions) => {
      const { importFrom, exportedSource } = await import('./import.ts')
      return withClient({ ...options, background: 'none' }, async (client, output) => {
        const source = options.from === 'colloquy' ? exportedSource(path) : await foreign(client, path, options)
        return importFrom(transfersOf(client), { source, isCancelled: options.cancel }, output, notesOf(io))
      })
    })
}
