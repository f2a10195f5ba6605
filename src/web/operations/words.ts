// The words for what an operator sees: rights, jobs, the audit log, durations.

import { countOf, formatNumber } from '../kit/text.ts'

/** What each right permits. */
export const RIGHTS: Record<string, string> = {
  READ: 'Read what the actor sees',
  WRITE: 'Write turns and facts, create conversations',
  ACT_AS: 'Read and write as other actors',
  MANAGE: 'Do in every visible conversation what its owner may do',
  ERASE: 'Delete conversations and erase content',
  OPERATE: 'Observe the server, and administer the tenant',
}

export const JOBS: Record<string, string> = {
  COMPACT: 'Summarise old turns',
  CONTINUE_RUNS: 'Continue runs after approvals',
  EXTRACT_FACTS: 'Extract facts',
  RECONCILE_FACTS: 'Reconcile facts about a user',
  REFRESH_PROFILE: 'Refresh the profile of a user',
  RUN_AGENT: 'Run an agent',
  WRITE_TITLE: 'Write a title',
}

type Tone = '' | 'accent' | 'success' | 'danger'

export const JOB_STATES: Record<string, readonly [words: string, tone: Tone]> = {
  WAITING: ['Waiting', ''],
  ACTIVE: ['Running', 'accent'],
  RETRYING: ['Failed, will retry', 'danger'],
  COMPLETED: ['Done', 'success'],
  FAILED: ['Failed', 'danger'],
}

export const RETENTIONS: Record<string, string> = {
  FULL: 'Keep the content',
  AUDIT_ONLY: 'Once summarised, keep only a hash',
  EPHEMERAL: 'Once summarised, keep nothing',
}

const BREAKS: Record<string, string> = {
  CHANGED: 'its hash does not match the line and the line before it, or was made with another key',
  KEY_MISSING: 'its hash was made with a key, but the server has no INTEGRITY_KEY',
  MISSING: 'it does not exist, although the log says that it did',
  NOT_KEYED: 'its hash was made without a key, after lines with one',
}

/** Returns why a line breaks the chain of the audit log. A later server may send reasons that are not known here. */
const breakWords = (reason: string | null): string => BREAKS[reason ?? ''] ?? reason ?? 'the reason is unknown'

/** Returns the name of a verb in words: `createApiKey` as `Create API key`. */
export function verbWords(verb: string): string {
  const words = verb
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/\bapi\b/, 'API')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** The units of a duration, largest first. */
export const UNITS: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
]

/** Returns a duration in its two largest units, such as `2 hours 5 minutes`. */
export function durationOf(seconds: number): string {
  if (seconds < 1) return 'less than a second'
  const whole = Math.round(seconds)
  const start = UNITS.findIndex(([size]) => whole >= size)
  const [size, name] = UNITS[start]!
  const first = countOf(Math.floor(whole / size), name)
  const [nextSize, nextName] = UNITS[start + 1] ?? [1, '']
  const rest = nextName === '' ? 0 : Math.floor((whole % size) / nextSize)
  return rest === 0 ? first : `${first} ${countOf(rest, nextName)}`
}

/** Returns the part that is done, from 0 to 1; 1 if nothing was to be done. */
export const partOf = (done: number, remaining: number): number => (remaining === 0 ? 1 : done / (done + remaining))

/** Returns how much is embedded when nothing remains. */
export const embeddedText = (done: number, embedder: string): string =>
  done === 0
    ? 'There are no entries to embed yet.'
    : `${done === 1 ? 'The only entry is' : `All ${formatNumber(done)} entries are`} embedded by ${embedder}, for `
      + 'searches by meaning.'

/** Returns the text in the form in which names are compared: HTML shows several blanks as one. */
const comparable = (text: string): string => text.normalize('NFC').replace(/\s+/g, ' ').trim()

/** Whether the person has typed the name, as the page shows it. */
export const isSameName = (typed: string, name: string): boolean => comparable(typed) === comparable(name)

/** Returns the state of an API key in words. */
export function keyState(
  { revokedAt, expiresAt }: { revokedAt: string | null; expiresAt: string | null },
  now = Date.now(),
): readonly [words: string, tone: Tone] {
  if (revokedAt !== null) return ['Revoked', 'danger']
  if (expiresAt !== null && Date.parse(expiresAt) <= now) return ['Expired', 'danger']
  return ['Valid', 'success']
}

/** A number of the scalar BigInt: text beyond 2^53. */
export type BigNumber = number | string

/** Result of verifying a part of the log. */
export type AuditVerification = {
  brokenReason: string | null
  brokenSeq: BigNumber | null
  endCursor: string
  hash: string
  isComplete: boolean
  keyedFrom: BigNumber | null
  verifiedThrough: BigNumber
}

/** Returns whether the log is intact, in words. `keyedFrom`: of the first part that has one. */
export function verificationText(part: AuditVerification): { isIntact: boolean; text: string } {
  if (part.brokenSeq !== null) {
    const why = breakWords(part.brokenReason)
    return { isIntact: false, text: `Line ${formatNumber(part.brokenSeq)} is the first that breaks the chain: ${why}.` }
  }
  if (Number(part.verifiedThrough) === 0) return { isIntact: true, text: 'The log has no lines yet.' }
  const count = formatNumber(part.verifiedThrough)
  const intact = `The log is intact up to its newest line, ${count}.`
  if (part.keyedFrom === null) {
    const plain = 'Its hashes are plain: anyone who can write to the database can compute them. Set INTEGRITY_KEY.'
    return { isIntact: true, text: `${intact} ${plain}` }
  }
  const plain =
    Number(part.keyedFrom) === 1
      ? ''
      : ` The lines before ${formatNumber(part.keyedFrom)} have plain hashes, without the key.`
  return { isIntact: true, text: `${intact}${plain}` }
}

/** Returns a time as an input of the type `datetime-local` takes it, in the time zone of the browser. */
export function localInput(at: string): string {
  const time = new Date(at)
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

type Counts = Record<'conversations' | 'turns' | 'facts' | 'summaries' | 'profiles' | 'held', number>

/** Returns what an erasure removed, as rows of a table. */
export const receiptRows = (receipt: Counts): readonly (readonly [name: string, count: number])[] => [
  ['Conversations deleted', receipt.conversations],
  ['Turns erased, with all versions', receipt.turns],
  ['Facts deleted', receipt.facts],
  ['Summaries deleted', receipt.summaries],
  ['Profiles deleted', receipt.profiles],
  ['Conversations skipped, under legal hold', receipt.held],
]

/** Returns the file that keeps a receipt: the document, unchanged, and its signature. */
export const receiptFile = ({
  id,
  document,
  signature,
}: {
  id: string
  document: string
  signature: string | null
}) => ({
  name: `erasure-${id.replace(/[^\w-]/g, '_')}.json`,
  content: `${JSON.stringify({ document, signature }, null, 2)}\n`,
})
