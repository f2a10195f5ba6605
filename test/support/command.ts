// Runs a command of the command line in this process, and returns its exit code and output.

import { Readable } from 'node:stream'
import { runProgram, type Io } from '../../src/command/program.ts'

/** @param io replaces parts of the process; by default, there are no settings and no signal */
export async function runCommand(
  args: readonly string[],
  io: Partial<Io> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const output = { stdout: '', stderr: '' }
  const code = await runProgram(args, {
    async write(text) {
      output.stdout += text
    },
    writeError: (text) => void (output.stderr += text),
    input: Readable.from([]),
    terminal: null,
    draw: null,
    signal: new AbortController().signal,
    defaults: { url: undefined, token: undefined },
    loadConfig: () => {
      throw new Error('The command must not read the settings.')
    },
    readSettings: () => [],
    ...io,
  })
  return { code, ...output }
}
