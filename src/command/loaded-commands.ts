// The commands whose code is loaded only when they run: chat, mcp, doctor, reembed and completion.

import { Argument, type Command } from 'commander'
import type { Client } from '../client/index.ts'
import type { Shell } from './completion.ts'
import type { Io, Output, Result } from './output.ts'
import { openTarget, type TargetOptions } from './target.ts'

/** The conversation of a chat without a name, and the agent of one without a server. */
const OWN_CONVERSATION = 'chat'
const OWN_AGENT = 'assistant'
/** The shells of completion.ts, which is not loaded to list them. */
const SHELLS = ['bash', 'zsh', 'fish'] as const satisfies readonly Shell[]

type Globals = TargetOptions & { json: boolean }
type WithClient = (options: Globals, work: (client: Client, output: Output) => Promise<Result>) => Promise<void>

export function addChat(command: Command, io: Io): void {
  const collect = (name: string, before: string[] = []) => [...before, name]
  command
    .description('take part in a conversation, by its key or id; a new key creates it')
    .option('--agent <name>', 'agent that answers each turn in this chat; may be repeated', collect)
    .option('--provider <name>', 'provider of these agents, unless they have settings')
    .action(async (name: string | undefined, options: TargetOptions & { agent?: string[]; provider?: string }) => {
      const { chat } = await import('./chat/chat.ts')
      // Without a server, no one else could answer.
      const names = options.agent ?? (options.url === undefined ? [OWN_AGENT] : [])
      const target = await openTarget({ ...options, background: 'all' }, io.loadConfig)
      try {
        const { input, terminal } = io
        const output = { ...io, isJson: false }
        await chat(target, name ?? OWN_CONVERSATION, { names, provider: options.provider }, { input, terminal, output })
      } finally {
        await target.close()
      }
    })
}

export function addMcp(command: Command, io: Io): void {
  command
    .description('serve MCP on the standard streams, for a client that starts its servers')
    .action(async (options: TargetOptions) => {
      const { serveStreams } = await import('./mcp.ts')
      const target = await openTarget({ ...options, background: 'all' }, io.loadConfig)
      try {
        await serveStreams(target.endpoint, io)
      } finally {
        await target.close()
      }
    })
}

export function addDoctor(command: Command, io: Io): void {
  command
    .description('check the installation that the settings describe; with --url, ask a running server')
    .action(async (options: Globals) => {
      const { doctor } = await import('./doctor.ts')
      await doctor(options, io.loadConfig, { ...io, isJson: options.json })
    })
}

export function addReembed(command: Command, withClient: WithClient, { draw }: Io): void {
  command
    .description('embed all entries with the configured embedder, and show the progress')
    .action((options: Globals) =>
      withClient(options, async (client, output) => {
        const { reembed } = await import('./reembed.ts')
        return reembed(client, output, output.isJson ? null : draw)
      }),
    )
}

/** Adds the command that prints a script for the whole command line. */
export function addCompletion(program: Command, { write }: Io): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'shell that loads the script').choices(SHELLS))
    .action(async (shell: Shell) => {
      const { completionOf } = await import('./completion.ts')
      await write(completionOf(program, shell))
    })
}
