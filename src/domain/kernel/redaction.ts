// Removes personal data and secrets from clients' input, before anything is computed from it or stored. Repeated calls
// are recognised by their redacted input, because a removed value could be guessed from a stored hash of it.

import { InvalidInput } from '../../errors.ts'
import { counters } from '../../runtime/counters.ts'
import { redact, type CustomDetector } from '../../text/redact/redact.ts'
import { createYield } from '../../runtime/yield.ts'
import { auditRecord } from './audit/line.ts'
import type { AuditLog } from './audit/audit-log.ts'
import type { Viewer } from './view.ts'

/** Redaction modes, weakest first. `facts` redacts facts; `turns` redacts facts and all input to conversations. */
export const REDACT_MODES = ['off', 'facts', 'turns'] as const
export type RedactMode = (typeof REDACT_MODES)[number]

/** Returns the mode that removes more; null counts as `off`. */
export const strongerMode = (one: RedactMode, other: RedactMode | null): RedactMode =>
  other !== null && REDACT_MODES.indexOf(other) > REDACT_MODES.indexOf(one) ? other : one

/** The modes of tenants, which tenant-cache.ts caches. */
export type RedactionModes = {
  /** The server's mode. Tenants cannot choose a weaker one. */
  readonly least: RedactMode
  /** Returns the mode that applies to the tenant; a promise if it must be read, which rejects if the read fails. */
  of(tenant: string): RedactMode | Promise<RedactMode>
  /** Makes this process and, by a message, all other processes read the tenant's mode again. Call it after a change. */
  changed(tenant: string): void
}

export type RedactionDeps = {
  redaction: RedactionModes
  /** Detectors in addition to the built-in ones. */
  detectors: readonly CustomDetector[]
  audit: Pick<AuditLog, 'note'>
}

/** Number of removed values of each kind. */
export type Removed = Record<string, number>

/**
 * The names of input fields whose text is redacted. test/unit/domain/kernel/redaction.inputs.test.ts lists all other fields with
 * text, each with the reason: identifiers and URLs would be useless if they were changed.
 */
const TEXTS: ReadonlySet<string> = new Set([
  'content',
  'text',
  'reasoning',
  'fileName',
  'caption',
  'chunk',
  'documentName',
  'title',
  'displayName',
  'query',
  'reason',
])
/** The names of input fields with JSON values in which every string and every key is redacted. */
const DOCUMENTS: ReadonlySet<string> = new Set([
  'metadata',
  'metadataPatch',
  'arguments',
  'result',
  'data',
  'merge',
  'value',
])

/** The names of input fields with JSON Pointers. A pointer with a sensitive value is refused. */
const POINTERS: ReadonlySet<string> = new Set(['path', 'from'])

/** Counts the removed values for /metrics. */
function count(removed: Removed): void {
  for (const [kind, number] of Object.entries(removed)) {
    counters.redactions.set(kind, (counters.redactions.get(kind) ?? 0) + number)
  }
}

/** The name of the input field with a JSON Merge Patch, whose names are those of an existing value. */
const MERGED = 'merge'

/** The redaction of one call: the configured detectors, and the counts of removed values so far. */
type Redaction = { detectors: readonly CustomDetector[]; removed: Removed }

/** Returns the text with its sensitive values removed, and counts them in `removed`. */
function redactText({ detectors, removed }: Redaction, text: string): string {
  const { text: redacted, found } = redact(text, detectors)
  for (const { kind } of found) removed[kind] = (removed[kind] ?? 0) + 1
  return redacted
}

/** Refuses a name with a sensitive value, whose redacted form could be the name of another member. @throws InvalidInput */
function requireInsensitive({ detectors }: Redaction, name: string, field: string): void {
  const [found] = redact(name, detectors).found
  if (found) throw InvalidInput.at(field, `must not contain a name with a value that is redacted: ${found.kind}`)
}

/** @throws InvalidInput for a pointer with a sensitive value */
function requireInsensitivePointer(redaction: Redaction, pointer: string, field: string): void {
  for (const token of pointer.split('/')) {
    requireInsensitive(redaction, token.replaceAll('~1', '/').replaceAll('~0', '~'), field)
  }
}

/** Gives each key that is set again another number: `[EMAIL]`, `[EMAIL] 2`, `[EMAIL] 3`. */
class UniqueKeys {
  readonly entries = new Map<string, unknown>()
  readonly #numbers = new Map<string, number>()

  set(key: string, value: unknown): void {
    let unique = key
    let number = this.#numbers.get(key) ?? 1
    while (this.entries.has(unique)) unique = `${key} ${(number += 1)}`
    if (number > 1) this.#numbers.set(key, number)
    this.entries.set(unique, value)
  }
}

/**
 * Returns a copy of the value of a field with its texts redacted, and counts the removed values in `removed`.
 * @param isDocument whether the field is one of DOCUMENTS or inside one
 * @throws InvalidInput for a pointer or a merged document whose names contain a sensitive value
 */
function redactValue(redaction: Redaction, value: unknown, name: string, isDocument: boolean): unknown {
  if (typeof value === 'string') {
    if (!isDocument && POINTERS.has(name)) requireInsensitivePointer(redaction, value, name)
    return isDocument || TEXTS.has(name) ? redactText(redaction, value) : value
  }
  if (Array.isArray(value)) return value.map((each) => redactValue(redaction, each, name, isDocument))
  if (value === null || typeof value !== 'object' || value instanceof Date) return value
  const keys = new UniqueKeys()
  for (const [key, each] of Object.entries(value)) {
    const isMerged = name === MERGED
    if (isMerged) requireInsensitive(redaction, key, MERGED)
    const redacted = redactValue(redaction, each, isMerged ? MERGED : key, isDocument || DOCUMENTS.has(key))
    keys.set(isDocument ? redactText(redaction, key) : key, redacted)
  }
  const { entries } = keys
  // A provider rejects a changed text with the signature of the original.
  if (!isDocument && 'reasoning' in value && value.reasoning !== entries.get('reasoning')) entries.delete('signature')
  return Object.fromEntries(entries)
}

/** Returns a copy of a JSON value with every string and every key redacted, and the kinds of the removed values. */
export function redactDocument(
  value: unknown,
  detectors: readonly CustomDetector[],
): { value: unknown; removed: string[] } {
  const removed: Removed = {}
  const redacted = redactValue({ detectors, removed }, value, '', true)
  return { value: redacted, removed: Object.entries(removed).flatMap(([kind, n]) => Array<string>(n).fill(kind)) }
}

/** A call whose input is redacted: its verb, and the id of the object that it changes; undefined for none. */
type Call = { verb: string; resource: string | undefined }

/** Counts the removed values of one call for /metrics, and notes them in the audit log. */
export function noteRemoved(
  { audit }: Pick<RedactionDeps, 'audit'>,
  viewer: Viewer,
  { verb, resource }: Call,
  removed: Removed,
): void {
  if (Object.keys(removed).length === 0) return
  count(removed)
  const resources = resource === undefined ? [] : [resource]
  audit.note(auditRecord(viewer, 'redact', resources, { details: { verb, ...removed } }))
}

/**
 * Returns the parsed input of a verb as it may be stored. In mode `turns`, sensitive values are removed from the fields
 * TEXTS, DOCUMENTS and POINTERS; counts of the removed values are noted in the audit log.
 */
export async function redactInput<T extends object>(
  deps: RedactionDeps,
  viewer: Viewer,
  verb: string,
  input: T,
): Promise<T> {
  const { conversationId, turnId } = input as { conversationId?: string; turnId?: string }
  return (await redactItems(deps, viewer, { verb, resource: turnId ?? conversationId }, [input]))[0]!
}

/** Like redactInput, for the items of a list. Yields to the event loop between items. */
export async function redactItems<T extends object>(
  deps: RedactionDeps,
  viewer: Viewer,
  call: Call,
  items: readonly T[],
): Promise<readonly T[]> {
  if ((await deps.redaction.of(viewer.tenant)) !== 'turns') return items
  const removed: Removed = {}
  const redaction: Redaction = { detectors: deps.detectors, removed }
  const redacted: T[] = []
  const yieldIfDue = createYield()
  for (const item of items) {
    redacted.push(redactValue(redaction, item, '', false) as T)
    await yieldIfDue()
  }
  noteRemoved(deps, viewer, call, removed)
  return redacted
}
