// How far a file was read: the lines so far, their hash and their counts, and the conversation that they have begun.
// `readNext` checks each line against it. An import checks its batches with it, and the command a whole file before it
// imports it. Pure, except that the position is changed in place.

import { chainHash, sha256, BadLine, MAX_LINE_BYTES, parseLine, type Line } from './format.ts'
import { bytesOfLine, checkOrder, NO_SHARED_STATE, withSharedState, type OrderState } from './import/import-state.ts'

export type FilePosition = {
  /** The first line. */
  manifest: string
  /** Number of lines after the first one that were read. The last line is not counted. */
  lines: number
  /** The chained hash of these lines, and their number by type. */
  chain: string
  counts: Record<string, number>
  /** The part of the state that `checkOrder` needs; null between conversations. */
  state: OrderState | null
  /** Whether the last line was read. */
  isEnd: boolean
}

/** Returns the state after the line. */
function advanced(state: FilePosition['state'], line: Line): FilePosition['state'] {
  switch (line.type) {
    case 'conversation':
      return {
        id: line.id,
        lastSeq: line.lastSeq,
        seq: 0,
        hasHead: false,
        participants: 0,
        sharedState: NO_SHARED_STATE,
        fileBytes: 0,
      }
    case 'attachment':
      return { ...state!, fileBytes: line.bytes }
    case 'fileBytes':
      return { ...state!, fileBytes: state!.fileBytes - bytesOfLine(line).length }
    case 'fileMissing':
      return { ...state!, fileBytes: 0 }
    case 'entry':
      return { ...state!, seq: line.seq }
    case 'participant':
      return { ...state!, hasHead: true, participants: state!.participants + 1 }
    case 'sharedState':
      return { ...state!, hasHead: true, sharedState: withSharedState(state!.sharedState, line) }
    case 'conversationEnd':
      return null
    default:
      return state
  }
}

/** Compares the hashes and the counts in a line with those of the lines before. @throws BadLine */
function checkHash(line: Line, { chain, lines, manifest }: FilePosition): void {
  const damaged = 'does not match the lines before it: the file was damaged or changed'
  if (line.type === 'conversationEnd' && line.sha256 !== undefined && line.sha256 !== chain) {
    throw new BadLine(`has a hash (sha256) that ${damaged} between the previous conversationEnd and this line`)
  }
  if (line.type !== 'end') return
  if (line.lines !== lines) {
    throw new BadLine(`counts ${line.lines} lines, but ${lines} precede it: lines are missing`)
  }
  if (line.sha256 !== chain) throw new BadLine(`has a hash (sha256) that ${damaged} after the last conversationEnd`)
  if (line.manifestSha256 !== sha256(manifest)) {
    throw new BadLine('has a hash (manifestSha256) that does not match the first line: the manifest was changed')
  }
}

/** Returns the next line, and advances the position. @throws BadLine; the position is then unchanged */
export function readNext(position: FilePosition, text: string): Line {
  if (position.isEnd) throw new BadLine('follows the last line of the file')
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_LINE_BYTES) throw new BadLine(`has ${bytes} bytes; a line may have at most ${MAX_LINE_BYTES}`)
  const line = parseLine(text)
  checkOrder(position.state, line)
  checkHash(line, position)
  position.state = advanced(position.state, line)
  if (line.type === 'end') {
    position.isEnd = true
    return line
  }
  position.lines++
  position.chain = chainHash(position.chain, text)
  position.counts[line.type] = (position.counts[line.type] ?? 0) + 1
  return line
}
