// The command `colloquy export`: writes the pages of an export to a file. The part that is written so far is in
// FILE.part, and the place to continue at in FILE.part.json, so that the same command continues after an interruption.

import { open, readFile, rename, rm, stat, writeFile, type FileHandle } from 'node:fs/promises'
import type { Transfers } from '../../client/index.ts'
import { ColloquyError } from '../../client/transport/errors.ts'
import type { StartExportInput, Transfer } from '../../client/generated.ts'
import type { Output, Result } from '../output.ts'
import { createProgress, type Notes, type Progress } from './progress.ts'
import { fileFailure, TransferFailed } from './transfer-failure.ts'

/** What an export covers, for the verb and for the state file. */
export type Exported = Pick<StartExportInput, 'scope' | 'conversationId' | 'conversationKey' | 'owner' | 'userId'>

/** The place to continue at: after `bytes` of the part, with the cursor; null at the beginning. */
type State = { exported: Exported; transferId: string; cursor: string | null; bytes: number }

const partOf = (path: string) => `${path}.part`
const stateOf = (path: string) => `${path}.part.json`

const exists = async (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Returns the state of an interrupted export to the file; null for none. @throws TransferFailed for another export */
async function readState(path: string, exported: Exported): Promise<State | null> {
  if (!(await exists(partOf(path)))) return null
  let state: State
  try {
    state = JSON.parse(await readFile(stateOf(path), 'utf8')) as State
  } catch {
    return null
  }
  if (JSON.stringify(state.exported) === JSON.stringify(exported)) return state
  throw new TransferFailed(
    `${partOf(path)} is an unfinished export with other options. Continue it with its options, or delete it.`,
  )
}

async function saveState(path: string, state: State): Promise<void> {
  const draft = `${stateOf(path)}.new`
  await writeFile(draft, JSON.stringify(state))
  await rename(draft, stateOf(path))
}

/** Opens the part for writing after `bytes`. */
async function openPart(path: string, bytes: number): Promise<FileHandle> {
  const file = await open(partOf(path), bytes === 0 ? 'w' : 'r+')
  await file.truncate(bytes)
  return file
}

type Sink = {
  /** Stores the text, and the cursor after it. */
  write(text: string, cursor: string | null): Promise<void>
  /** Called after the last line. */
  finish(): Promise<void>
  close(): Promise<void>
}

async function fileSink(path: string, state: State): Promise<Sink> {
  const file = await openPart(path, state.bytes)
  await saveState(path, state)
  let { bytes } = state
  return {
    async write(text, cursor) {
      const { bytesWritten } = await file.write(text, bytes)
      bytes += bytesWritten
      await saveState(path, { ...state, cursor, bytes })
    },
    async finish() {
      await file.sync()
      await rename(partOf(path), path)
      await rm(stateOf(path), { force: true })
    },
    close: () => file.close(),
  }
}

const outputSink = ({ write }: Output): Sink => ({
  write: (text) => write(text),
  finish: async () => {},
  close: async () => {},
})

type Run = { client: Transfers; transferId: string; cursor: string | null; sink: Sink; progress: Progress }

/** Writes the remaining pages. Returns the transfer; null if the command was stopped. */
async function writePages(
  { client, transferId, cursor, sink, progress }: Run,
  signal: AbortSignal,
): Promise<Transfer | null> {
  for (let after = cursor; !signal.aborted;) {
    const page = await client.continueExport(transferId, { after: after ?? undefined, signal })
    progress.update(page.transfer.lines, null)
    await sink.write(`${page.lines.join('\n')}\n`, page.cursor)
    after = page.cursor
    if (after !== null) continue
    await sink.finish()
    return page.transfer
  }
  return null
}

/** Adds to the error that the export can be continued. */
function continuable(error: unknown, path: string): unknown {
  const failure = fileFailure(partOf(path), 'write', error)
  const next = `The part that was exported is in ${partOf(path)}: run the same command again to continue.`
  if (failure instanceof TransferFailed) return new TransferFailed(`${failure.message} ${next}`)
  if (!(failure instanceof ColloquyError)) return failure
  if (failure.code !== 'CONFLICT' && failure.code !== 'NOT_FOUND') return failure
  return new TransferFailed(`${failure.code}: ${failure.message} To start again, delete ${partOf(path)}.`)
}

/**
 * Exports to the file, or to the standard output for `-`.
 * @throws TransferFailed @throws ColloquyError
 */
export async function exportTo(
  client: Transfers,
  { path, exported }: { path: string; exported: Exported },
  output: Output,
  notes: Notes,
): Promise<Result | void> {
  const isFile = path !== '-'
  if (isFile && (await exists(path))) throw new TransferFailed(`${path} exists. Choose another file, or delete it.`)
  const found = isFile ? await readState(path, exported) : null
  const transferId = found?.transferId ?? (await client.startExport(exported)).id
  const state = found ?? { exported, transferId, cursor: null, bytes: 0 }
  const progress = createProgress('Exported', notes.draw)
  let sink: Sink | null = null
  try {
    sink = isFile ? await fileSink(path, state) : outputSink(output)
    const transfer = await writePages({ client, transferId, cursor: state.cursor, sink, progress }, output.signal)
    progress.end()
    if (!transfer) {
      if (isFile) notes.line(`Stopped. Run the same command again to continue ${partOf(path)}.`)
      return
    }
    if (isFile) return resultOf(path, transfer)
  } catch (error) {
    progress.end()
    if (output.signal.aborted && isFile) notes.line(`Stopped. Run the same command again to continue ${partOf(path)}.`)
    throw isFile ? continuable(error, path) : error
  } finally {
    await sink?.close()
  }
}

/** The types of lines in the order of a file. */
const TYPES = ['conversation', 'entry', 'turn', 'participant', 'sharedState', 'fact', 'profile', 'erasure', 'heldUser']

function resultOf(path: string, transfer: Transfer): Result {
  const counts = transfer.counts as Record<string, number>
  const parts = TYPES.filter((type) => counts[type]).map((type) => `${counts[type]!.toLocaleString('en-US')} ${type}`)
  const lines = [
    `Exported ${transfer.lines.toLocaleString('en-US')} lines to ${path}: ${parts.join(', ') || 'nothing'}.`,
    `sha256 ${transfer.sha256}`,
  ]
  return { json: { file: path, ...transfer }, lines }
}
