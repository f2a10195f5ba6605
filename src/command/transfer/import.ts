// The command `colloquy import`: checks a whole file first, so that nothing of a damaged file is imported, and then sends
// its lines in batches. An interrupted import continues with the same command, because the server knows the file by its
// hash, and how many lines it has written.

import { createHash } from 'node:crypto'
import { ColloquyError } from '../../client/transport/errors.ts'
import type { Transfers } from '../../client/index.ts'
import type { Transfer } from '../../client/generated.ts'
import { BadLine, parseManifest, FIRST_HASH } from '../../domain/trust/transfer/format.ts'
import { readNext, type FilePosition } from '../../domain/trust/transfer/file-position.ts'
import { linesOf } from './lines.ts'
import { columns, type Output, type Result } from '../output.ts'
import { createProgress, type Notes, type Progress } from './progress.ts'
import { TransferFailed } from './transfer-failure.ts'

/** Number of lines, and of characters of lines, at which a batch ends. */
const BATCH = { lines: 1000, characters: 512 * 1024 }

/**
 * A file as lines of an export. Each call of `lines` reads it from the beginning, and yields the same lines. `fileKey`
 * is known when all lines were read once.
 */
export type Source = {
  path: string
  lines(): AsyncGenerator<string, void>
  fileKey(): string
  /** What the lines do not contain of the file, by reason. */
  unfit(): Readonly<Record<string, number>>
}

/** Checks all lines. Returns their number, without the first and the last one. @throws TransferFailed */
async function check({ path, lines }: Source, progress: Progress, signal: AbortSignal): Promise<number | null> {
  let position: FilePosition | null = null
  let number = 0
  for await (const line of lines()) {
    if (signal.aborted) return null
    number++
    try {
      if (position) readNext(position, line)
      else {
        parseManifest(line)
        position = { manifest: line, lines: 0, chain: FIRST_HASH, counts: {}, state: null, isEnd: false }
      }
    } catch (error) {
      if (error instanceof BadLine)
        throw new TransferFailed(`${path}: line ${number} ${error.message}. Nothing was imported.`)
      throw error
    }
    progress.update(number, null)
  }
  if (!position) throw new TransferFailed(`${path} is empty. Nothing was imported.`)
  if (!position.isEnd) {
    throw new TransferFailed(
      `${path} ends after line ${number}, without its last line: it is incomplete. Nothing was imported.`,
    )
  }
  return position.lines
}

/** Yields batches of the lines after the first one, without the first `skipped` ones. */
async function* batchesOf(source: Source, skipped: number): AsyncGenerator<string[], void> {
  let batch: string[] = []
  let characters = 0
  let index = -1
  for await (const line of source.lines()) {
    if (index++ < skipped) continue
    if (batch.length > 0 && (batch.length >= BATCH.lines || characters + line.length > BATCH.characters)) {
      yield batch
      batch = []
      characters = 0
    }
    batch.push(line)
    characters += line.length
  }
  if (batch.length > 0) yield batch
}

async function firstLine(source: Source): Promise<string> {
  for await (const line of source.lines()) return line
  throw new TransferFailed(`${source.path} is empty.`)
}

/** Sends the lines that the server does not have. Returns the transfer; null if the command was stopped. */
async function send(
  client: Transfers,
  { source, begun, total }: { source: Source; begun: Transfer; total: number },
  progress: Progress,
  signal: AbortSignal,
): Promise<Transfer | null> {
  let transfer = begun
  for await (const batch of batchesOf(source, begun.lines)) {
    if (signal.aborted) return null
    transfer = await client.continueImport(transfer.id, transfer.lines, batch)
    progress.update(transfer.lines, total)
  }
  return transfer
}

/**
 * Imports the file.
 * @param isCancelled whether to end the unfinished import of the file instead
 * @throws TransferFailed @throws ColloquyError
 */
export async function importFrom(
  client: Transfers,
  { source, isCancelled }: { source: Source; isCancelled: boolean },
  { signal }: Output,
  notes: Notes,
): Promise<Result | void> {
  const checking = createProgress('Checked', notes.draw)
  const total = await check(source, checking, signal).finally(() => checking.end())
  if (total === null) return
  const begun = await client.startImport(await firstLine(source), source.fileKey())
  if (isCancelled) return cancelled(await client.cancelTransfer(begun.id), source)
  if (begun.lines > 0) notes.line(`Continuing after ${begun.lines.toLocaleString('en-US')} lines.`)
  const progress = createProgress('Imported', notes.draw)
  try {
    const transfer = await send(client, { source, begun, total }, progress, signal)
    progress.end()
    if (transfer) return resultOf(transfer, source)
    notes.line('Stopped. Run the same command again to continue.')
  } catch (error) {
    progress.end()
    if (error instanceof ColloquyError) {
      notes.line('The import has stopped. Run the same command again to continue, or with --cancel to end it.')
    }
    throw error
  }
}

const cancelled = (transfer: Transfer, { path }: Source): Result => ({
  json: { file: path, ...transfer },
  lines: [`Cancelled the import of ${path} after ${transfer.lines.toLocaleString('en-US')} lines.`],
})

function resultOf(transfer: Transfer, source: Source): Result {
  const report = transfer.report as Record<string, number>
  const unfit = source.unfit()
  const isUnchanged = !Object.keys(report).some((key) => key.endsWith('.added'))
  const rows = Object.entries(report)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, count]) => [...key.split('.'), String(count)])
  const lines = [
    isUnchanged && rows.length > 0
      ? `${source.path} was imported before: nothing has changed.`
      : `Imported ${transfer.lines.toLocaleString('en-US')} lines of ${source.path}.`,
    ...columns(rows),
    ...(Object.keys(unfit).length > 0 ? ['Not imported:'] : []),
    ...columns(Object.entries(unfit).map(([reason, count]) => [`  ${reason}`, String(count)])),
  ]
  return { json: { file: source.path, unfit, ...transfer }, lines }
}

/** Returns the source of a file that an export wrote. */
export function exportedSource(path: string): Source {
  let key: string | null = null
  return {
    path,
    async *lines() {
      if (key !== null) return yield* linesOf(path)
      const hash = createHash('sha256')
      yield* linesOf(path, hash)
      key = hash.digest('hex')
    },
    fileKey: () => key!,
    unfit: () => ({}),
  }
}
