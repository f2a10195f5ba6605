// Runs programs of the documents in this repository, on the server of a test.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './documents.ts'
import { SHORT_LIVED, TYPESCRIPT } from './short-lived.ts'

/** Address of the server in the documents. */
const ADDRESS = '127.0.0.1:4000'

const ENTRY_POINTS: Record<string, string> = {
  'colloquy-client': 'src/client/index.ts',
  'colloquy-client/react': 'src/react/index.ts',
}

/** Replaces the package of the client by its source, and an address of the documents by that of the server at the URL. */
export const onServer = (code: string, url: string, address = ADDRESS): string =>
  code
    .replaceAll(address, new URL(url).host)
    .replaceAll(/'(colloquy-client(?:\/\w+)?)'/g, (_, name: string) => `'${sourceOf(name)}'`)

const sourceOf = (name: string) => pathToFileURL(join(root, ENTRY_POINTS[name]!)).href

/** Writes code to a file below node_modules, where it can import the repository's packages. Returns the file's path. */
export async function writeModule(name: string, code: string): Promise<string> {
  const file = join(root, 'node_modules/.cache', `${process.pid}-${name}`)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, code)
  return file
}

/** Starts a program with its arguments. */
export const startProgram = (file: string, ...args: string[]) =>
  spawn(process.execPath, [...SHORT_LIVED, ...TYPESCRIPT, file, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
  })

/** Runs a program to its end. Returns what it printed. @throws Error if its exit code is not 0 */
export async function runProgram(file: string, ...args: string[]): Promise<string> {
  const child = startProgram(file, ...args)
  const [chunks, [code]] = await Promise.all([child.stdout.setEncoding('utf8').toArray(), once(child, 'close')])
  const printed = (chunks as string[]).join('')
  if (code !== 0) throw new Error(`${file} exited with ${code}. It printed:\n${printed}`)
  return printed
}

/** Runs a program and deletes its file. */
export async function runModule(name: string, code: string): Promise<string> {
  const file = await writeModule(name, code)
  try {
    return await runProgram(file)
  } finally {
    await rm(file)
  }
}
