// Reads a batch of lines of an import, before anything is written: parses and redacts them, checks their order, counts
// tokens that the file does not state, and computes the index terms of turns. Vectors are computed later, by the jobs
// that embed every turn.

import { InvalidInput } from '../../../../errors.ts'
import { hashTerm, salted, saltOf } from '../../../../text/words/hashed-terms.ts'
import { terms } from '../../../../text/words/words.ts'
import { createYield } from '../../../../runtime/yield.ts'
import { statementRedactor } from '../../../memory/fact/redact-statement.ts'
import { contentHash, type Statement } from '../../../memory/fact/content-hash.ts'
import { sentenceOf } from '../../../memory/fact/write.ts'
import { indexEntry } from '../../../memory/indexing/index-entry.ts'
import type { Platform } from '../../../kernel/platform.ts'
import { redactItems } from '../../../kernel/redaction.ts'
import { partsOf } from '../../../turn/content.ts'
import { countedText, imageTokensOf } from '../../../turn/parts/part-tokens.ts'
import type { Viewer } from '../../../kernel/view.ts'
import { BadLine, type EntryLine, type FactLine, type Line, type TurnValues } from '../format.ts'
import { readNext, type FilePosition } from '../file-position.ts'
import type { TransferRow } from '../../../../store/sql/trust/transfer/transfers.ts'

/** A line, and its number in the file, in which the manifest has the number 1. */
export type Numbered<L extends Line = Line> = { line: L; number: number }

/** The abort reason of turns that were open when they were exported: their writers cannot continue them. */
const OPEN_AT_EXPORT = 'The turn was still open when it was exported.'

/**
 * Parses the lines and checks them against the lines before: their order, and the hashes in them.
 * @returns the lines, and the chained hash and the counts after them
 * @throws InvalidInput with the number of the first wrong line
 */
export async function readLines(
  { lines: offset, chain, counts, manifest }: Pick<TransferRow, 'lines' | 'chain' | 'counts' | 'manifest'>,
  state: FilePosition['state'],
  texts: readonly string[],
): Promise<{ lines: Numbered[]; chain: string; counts: Record<string, number> }> {
  const position = { manifest, lines: offset, chain, counts: { ...counts }, state, isEnd: false }
  const lines: Numbered[] = []
  const yieldIfDue = createYield()
  for (const [index, text] of texts.entries()) {
    // The manifest is line 1.
    const number = offset + index + 2
    try {
      lines.push({ line: readNext(position, text), number })
    } catch (error) {
      if (error instanceof BadLine) throw InvalidInput.at(`lines.${index}`, `line ${number} ${error.message}`)
      throw error
    }
    await yieldIfDue()
  }
  return { lines, chain: position.chain, counts: position.counts }
}

/** Counts the tokens of a turn as they are counted when it is appended. */
async function countTokens({ tokens }: Pick<Platform, 'tokens'>, turn: TurnValues): Promise<number> {
  const { text, parts = null } = turn
  const all = partsOf({ text, parts })
  return (await tokens.count(parts === null ? text : all.map(countedText).join('\n'))) + imageTokensOf(all)
}

/** A turn with the salted terms and the cues of the index, which only committed turns have. */
export type PreparedTurn = TurnValues & { terms?: readonly number[]; cues?: number }

async function prepareTurn(
  deps: Platform,
  given: TurnValues,
  original: TurnValues,
  salt: number,
): Promise<PreparedTurn> {
  const isOpen = given.status === 'STREAMING'
  const turn = isOpen ? { ...given, status: 'ABORTED', abortReason: OPEN_AT_EXPORT } : given
  const isRedacted = turn.text !== original.text
  const tokenCount = turn.tokenCount === undefined || isRedacted ? await countTokens(deps, turn) : turn.tokenCount
  if (turn.status !== 'COMMITTED') return { ...turn, tokenCount }
  const entry = indexEntry(turn.actor, turn.text, { parts: turn.parts, at: new Date(turn.createdAt as string) })
  return { ...turn, tokenCount, terms: salted(entry.terms, salt), cues: entry.cues }
}

/** A fact with its token count, its hash and the salted terms of the index. */
export type PreparedFact = FactLine & { tokenCount: number; contentHash: string; terms: readonly number[] }

/** Returns the time of a line; null if it is absent. */
const timeOf = (time: unknown): Date | null => (time === undefined ? null : new Date(time as string))

async function prepareFact(
  { tokens }: Pick<Platform, 'tokens'>,
  tenant: string,
  fact: FactLine & Statement,
): Promise<PreparedFact> {
  const sentence = sentenceOf(fact)
  const tokenCount = (fact.tokenCount as number | undefined) ?? (await tokens.count(sentence))
  const index = salted(terms(sentence).map(hashTerm), saltOf(tenant, ''))
  const hash = contentHash({ ...fact, validFrom: timeOf(fact.validFrom), validTo: timeOf(fact.validTo) })
  return { ...fact, tokenCount, contentHash: hash, terms: index }
}

const importedFact = (fact: PreparedFact, importedAt: string): PreparedFact => ({
  ...fact,
  importedAt,
  sources: fact.sources.map((source) => ({ ...source, importedAt })),
})

/**
 * Returns the lines as they may be stored: without personal data in the tenant's redaction mode, and with what the
 * store computes for turns and facts.
 * @param given.salt the salt of the conversation whose lines begin the batch
 * @param given.importedAt the import time of turns and facts of another program; null for an export of Colloquy
 */
export async function prepareLines(
  deps: Platform,
  viewer: Viewer,
  { transferId, salt, importedAt }: { transferId: string; salt: number; importedAt: string | null },
  lines: readonly Numbered[],
): Promise<Numbered[]> {
  const { tenant } = viewer
  const given = lines.map(({ line }) => line)
  const redacted = await redactItems(deps, viewer, { verb: 'continueImport', resource: transferId }, given)
  const redactFact = await statementRedactor(deps, tenant)
  const prepared: Numbered[] = []
  const yieldIfDue = createYield()
  let current = salt
  for (const [index, { number, line: original }] of lines.entries()) {
    let line = redacted[index]!
    if (line.type === 'conversation') current = saltOf(tenant, line.owner)
    if (line.type === 'entry' && line.turn) {
      const turn = await prepareTurn(deps, line.turn, (original as EntryLine).turn!, current)
      line = { ...line, turn: importedAt === null ? turn : { ...turn, importedAt } }
    }
    if (line.type === 'fact') {
      const fact = await prepareFact(deps, tenant, redactFact(line as FactLine & Statement))
      line = importedAt === null ? fact : importedFact(fact, importedAt)
    }
    prepared.push({ line, number })
    await yieldIfDue()
  }
  return prepared
}
