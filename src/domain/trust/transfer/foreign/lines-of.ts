// Converts conversations and facts of other programs to the lines of an export. Ids are derived from those of the other
// program, so that a second import of the file finds what the first one has written. Pure.

import { AGENT_TURNS } from '../../../agent/definition/agent-settings.ts'
import { DEFAULTS } from '../../../conversation/compaction-policy.ts'
import { importedId } from '../../../kernel/derived-id.ts'
import { isTooDeep } from '../../../kernel/input.ts'
import { MAX_PARTICIPANTS } from '../../../conversation/participant/participant.ts'
import type { ContentPart } from '../../../turn/content.ts'
import { normaliseText, MAX_LENGTHS } from '../../../memory/fact/content-hash.ts'
import { FORMAT, FORMAT_VERSION, MAX_LINE_BYTES } from '../format.ts'
import type { ForeignConversation, ForeignFact, ForeignParticipant, ForeignTurn, Program, Unfit } from './foreign.ts'

/** Where the lines go, and what does not fit. */
export type LineOptions = { program: Program; tenant: string; owner: string; unfit: Unfit }

/** The compaction of a conversation that is created without one. */
const { triggerTurns, triggerTokens, strategy: compactionStrategy } = DEFAULTS
const COMPACTION = { triggerTurns, triggerTokens, compactionStrategy }
const MAX_NAME = 200
const MAX_TITLE = 1000
/** The time of conversations and facts without one. */
const UNKNOWN_TIME = new Date('2000-01-01T00:00:00Z')
const KINDS = { SYSTEM: 'AGENT', ASSISTANT: 'AGENT', TOOL: 'TOOL', USER: 'HUMAN' } as const

/** Returns the first line of the file. */
export const foreignManifest = ({ program }: Pick<LineOptions, 'program'>): object => ({
  type: 'manifest',
  format: FORMAT,
  version: FORMAT_VERSION,
  scope: 'TENANT',
  source: program,
})

/** Returns the text without what Postgres cannot store. */
const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', '')

/** Returns the value with storable texts; JSON that is nested too deeply becomes text. */
function storableJson(value: unknown): any {
  const safe = isTooDeep(value) ? JSON.stringify(value) : value
  return JSON.parse(JSON.stringify(safe ?? null), (_, each: unknown) =>
    typeof each === 'string' ? storableText(each) : each,
  )
}

const nameOf = (text: string): string => Array.from(storableText(text).trim()).slice(0, MAX_NAME).join('') || 'unknown'

type Call = { turnId: string; position: number; name: string }

/** Returns the parts, with the calls that results answer. `calls` are those of the turns before, by id. */
function linked(parts: readonly ContentPart[], calls: ReadonlyMap<string, Call>): ContentPart[] {
  return parts.map((part) => {
    if (part.type !== 'toolResult') return part
    const call = calls.get(part.callId)
    if (!call) return part
    return { ...part, name: call.name, callTurnId: call.turnId, callPosition: call.position }
  })
}

/** Returns the text and the parts of a turn: no parts if it is text alone. */
function contentOf(
  { content }: ForeignTurn,
  calls: ReadonlyMap<string, Call>,
): { text: string; parts?: ContentPart[] } {
  if (typeof content === 'string') return { text: storableText(content) }
  const parts = linked(storableJson(content) as ContentPart[], calls)
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return parts.every(({ type }) => type === 'text') ? { text } : { text, parts }
}

const isEmpty = ({ text, parts }: { text: string; parts?: ContentPart[] }) => text.trim() === '' && !parts

/** Returns the participants: the owner, those given, and the authors, each once; at most MAX_PARTICIPANTS. */
function participantsOf(
  { participants, turns }: ForeignConversation,
  { owner, unfit }: Pick<LineOptions, 'owner' | 'unfit'>,
): ForeignParticipant[] {
  const byActor = new Map<string, ForeignParticipant>([[owner, { actor: owner, kind: 'HUMAN' }]])
  for (const each of participants) byActor.set(nameOf(each.actor), { ...each, actor: nameOf(each.actor) })
  for (const { actor, role } of turns) {
    if (!byActor.has(nameOf(actor))) byActor.set(nameOf(actor), { actor: nameOf(actor), kind: KINDS[role] })
  }
  if (byActor.size > MAX_PARTICIPANTS) unfit(`members beyond ${MAX_PARTICIPANTS}`, byActor.size - MAX_PARTICIPANTS)
  return [...byActor.values()].slice(0, MAX_PARTICIPANTS)
}

type Times = { createdAt: string; updatedAt: string }

function turnLines(
  conversation: ForeignConversation,
  { program, tenant, unfit }: LineOptions,
  { seq: first, createdAt }: { seq: number; createdAt: Date },
): { entries: object[]; updatedAt: Date } {
  const entries: object[] = []
  const ids = new Map<string, string>()
  const calls = new Map<string, Call>()
  let at = createdAt
  for (const turn of conversation.turns) {
    at = turn.createdAt ?? at
    const content = contentOf(turn, calls)
    if (isEmpty(content)) {
      unfit('messages without content')
      continue
    }
    if (ids.has(turn.id)) {
      unfit('messages with the id of another message')
      continue
    }
    const position = first + entries.length + 1
    const id = importedId('turn', at, [program, tenant, conversation.id, turn.id])
    const line = {
      type: 'entry',
      seq: position,
      kind: 'APPENDED',
      at,
      turn: {
        id,
        position,
        actor: nameOf(turn.actor),
        role: turn.role,
        status: 'COMMITTED',
        ...content,
        ...(turn.model && { model: nameOf(turn.model) }),
        clientId: nameOf(`${program}:${turn.id}`),
        ...(turn.replyTo !== undefined && ids.has(turn.replyTo) && { replyToId: ids.get(turn.replyTo) }),
        createdAt: at,
      },
    }
    if (Buffer.byteLength(JSON.stringify(line)) > MAX_LINE_BYTES) {
      unfit(`messages longer than ${MAX_LINE_BYTES / 2 ** 20} MiB`)
      continue
    }
    ids.set(turn.id, id)
    for (const part of content.parts ?? []) {
      if (part.type === 'toolCall') calls.set(part.callId, { turnId: id, position, name: part.name })
    }
    entries.push(line)
  }
  return { entries, updatedAt: at }
}

/** Returns the lines of a conversation; none if no message of it can be imported. */
export function conversationLines(conversation: ForeignConversation, options: LineOptions): object[] {
  const { program, tenant, owner, unfit } = options
  const firstTime = conversation.turns.find((turn) => turn.createdAt !== null)?.createdAt
  const createdAt = conversation.createdAt ?? firstTime ?? UNKNOWN_TIME
  const participants = participantsOf(conversation, options)
  const { entries, updatedAt } = turnLines(conversation, options, { seq: participants.length, createdAt })
  if (entries.length === 0) {
    unfit('conversations without messages')
    return []
  }
  const id = importedId('conversation', createdAt, [program, tenant, conversation.id])
  const title = storableText(conversation.title ?? '')
    .slice(0, MAX_TITLE)
    .toWellFormed()
  const times: Times = { createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() }
  return [
    {
      type: 'conversation',
      id,
      key: nameOf(`${program}:${conversation.id}`),
      keyScope: owner,
      visibility: 'MEMBERS',
      owner,
      ...(title && { title }),
      ...(conversation.systemPrompt && { systemPrompt: storableText(conversation.systemPrompt).slice(0, 65_536) }),
      metadata: { importedFrom: program },
      ...COMPACTION,
      retention: 'FULL',
      maxAgentTurns: AGENT_TURNS.default,
      version: 1,
      ...times,
      lastSeq: participants.length + entries.length,
      agentTurns: 0,
      extractedThrough: 0,
    },
    ...participants.map(({ actor }, index) => ({
      type: 'entry',
      seq: index + 1,
      kind: 'JOINED',
      at: createdAt,
      actor,
    })),
    ...entries,
    ...participants.map(({ actor, kind, displayName }) => ({
      type: 'participant',
      actor,
      kind,
      ...(displayName && { displayName: nameOf(displayName) }),
      historyVisibility: 'ALL',
      metadata: {},
      joinedAt: createdAt,
      windows: [1],
      respond: 'NEVER',
    })),
    { type: 'conversationEnd', id },
  ]
}

/** Returns the lines of a fact; none if its texts are empty or too long. */
export function factLines(fact: ForeignFact, { program, tenant, unfit }: LineOptions): object[] {
  const texts = (['subject', 'predicate', 'object'] as const).map(
    (part) => [part, normaliseText(storableText(fact[part]))] as const,
  )
  for (const [part, text] of texts) {
    if (text.length > MAX_LENGTHS[part]) {
      unfit(`memories with a ${part} of more than ${MAX_LENGTHS[part]} characters`)
      return []
    }
    if (!/[\p{L}\p{N}\p{S}]/u.test(text)) {
      unfit('memories without content')
      return []
    }
  }
  const at = fact.createdAt ?? UNKNOWN_TIME
  // A program has written the memory, so it is trusted as the statement of an agent.
  const assertion = { saidBy: 'AGENT', assertedBy: program, confidence: 1, observedAt: at }
  return [
    {
      type: 'fact',
      id: importedId('fact', at, [program, tenant, fact.id]),
      ...(fact.userId !== null && { userId: nameOf(fact.userId) }),
      ...Object.fromEntries(texts),
      ...assertion,
      createdAt: at,
      sources: [{ source: 'tenant', ...assertion, assertions: 1, createdAt: at }],
    },
  ]
}
