// Appending: one turn or many, whole or not at all, acknowledged after the commit. Opening a streaming turn is
// appending one that says nothing yet.

import { z } from 'zod'
import { Conflict, InvalidInput, NotFound } from '../../errors.ts'
import type { AppendedTurn, AppendRow } from '../../store/sql/turn/append-turns.ts'
import { Role } from '../../store/generated/enums.ts'
import type { Platform } from '../platform.ts'
import type { AppendDeps } from './append-queue.ts'
import { count, id, metadata, name, parse, storable, text, time } from '../input.ts'
import { newId } from '../id.ts'
import { actAs, type Viewer } from '../view.ts'
import { indexEntry } from '../indexing/index-entry.ts'
import { contentOf, digest, parts, toParts, type Content } from './content.ts'
import { getTurns, type Turn } from './turn.ts'

const source = z.object({
  documentId: text(1000).nullish(),
  documentName: text(1000).nullish(),
  chunk: text(65_536).nullish(),
  score: z.number().nullish(),
})

/** Actors a turn may be meant for. */
const AUDIENCE = 1000

export const turnInput = z.object({
  actor: name.nullish(),
  role: z.enum(Role),
  content: z.string().nullish(),
  parts: parts.nullish(),
  clientId: name.nullish(),
  audience: z.array(name).min(1, 'must name somebody; leave it out for everybody').max(AUDIENCE).nullish(),
  pinned: z.boolean().nullish(),
  tokens: z.object({ prompt: count, completion: count }).nullish(),
  model: name.nullish(),
  adapter: name.nullish(),
  traceId: name.nullish(),
  sources: z.array(source).max(100).nullish(),
  metadata: metadata.nullish(),
  createdAt: time.nullish(),
})
export type TurnInput = z.input<typeof turnInput>
type ParsedTurn = z.output<typeof turnInput>

/** What an actor is taken for when it joins by speaking. */
const KINDS: Record<Role, string> = { SYSTEM: 'AGENT', ASSISTANT: 'AGENT', TOOL: 'TOOL', USER: 'HUMAN' }

/** The content that a turn's input gives. @throws InvalidInput */
export async function contentGiven(deps: Platform, input: ParsedTurn, path: string): Promise<Content> {
  if (input.content != null && input.parts != null) {
    throw InvalidInput.at(`${path}.parts`, 'give content or parts, not both')
  }
  if (input.parts != null) return contentOf(toParts(input.parts), deps, `${path}.parts`)
  const content = input.content ?? ''
  const problem = storable(content)
  if (problem) throw InvalidInput.at(`${path}.content`, problem)
  return contentOf([{ type: 'text', text: content }], deps, `${path}.content`)
}

const NOTHING: Content = { text: '', parts: null, tokens: 0, calls: [], answers: [] }

function toRow(viewer: Viewer, input: ParsedTurn, status: AppendedTurn['status'], content: Content): AppendedTurn {
  const actor = input.actor ?? viewer.actor
  return {
    id: newId('turn'),
    actor,
    kind: KINDS[input.role],
    role: input.role,
    status,
    ...content,
    ...(status === 'COMMITTED' ? indexEntry(actor, content.text) : null),
    audience: input.audience ? [...new Set([actor, ...input.audience])] : null,
    promptTokens: input.tokens?.prompt,
    completionTokens: input.tokens?.completion,
    model: input.model,
    adapter: input.adapter,
    traceId: input.traceId,
    sources: input.sources?.length ? input.sources : null,
    pinned: input.pinned ?? false,
    metadata: input.metadata,
    createdAt: input.createdAt,
    clientId: input.clientId,
    clientHash: input.clientId != null ? digest({ ...input, actor, status }) : null,
  }
}

/** What is wrong with a call that was refused, or null. */
function faultOf({ outcome, detail, place }: AppendRow, path: (place: number) => string): Error | null {
  switch (outcome) {
    case 'moved_on':
      return new Conflict(`The journal has moved on: its newest entry is ${detail}. Read what came, then decide again.`)
    case 'other_content':
      return new Conflict(`clientId ${JSON.stringify(detail)} was used for a turn with other content. Use another.`)
    case 'stranger':
      return InvalidInput.at(`${path(place)}.audience`, `${JSON.stringify(detail)} is no participant; add them first`)
    case 'no_call':
      return InvalidInput.at(
        `${path(place)}.parts`,
        `there is no tool call ${JSON.stringify(detail)} in the conversation to answer`,
      )
    case 'written':
    case 'repeated':
      return null
  }
}

async function append(
  deps: AppendDeps,
  viewer: Viewer,
  conversationId: string,
  turns: AppendedTurn[],
  { expected = null, path = () => 'turn' }: { expected?: number | null; path?: (place: number) => string } = {},
): Promise<Turn[]> {
  const rows = await deps.appends.append({ conversationId, tenant: viewer.tenant, expected, turns })
  const [first] = rows
  if (!first) throw new NotFound('conversation', conversationId)
  const fault = faultOf(first, path)
  if (fault) throw fault
  // What a clientId wrote before is read as its author sees it.
  const repeated = rows.filter(({ outcome }) => outcome === 'repeated')
  const found = new Map<string, Turn>()
  for (const { id, place } of repeated) {
    const [turn] = (await getTurns(deps, actAs(viewer, turns[place]!.actor), [id])).values()
    if (turn) found.set(id, turn)
  }
  return rows.map(
    ({ id, seq, createdAt, place }) => found.get(id) ?? written(conversationId, turns[place]!, seq, createdAt),
  )
}

/** The row as it was just written. */
function written(conversationId: string, turn: AppendedTurn, seq: number, createdAt: Date): Turn {
  return {
    id: turn.id,
    conversationId,
    seq,
    rootSeq: seq,
    actor: turn.actor,
    role: turn.role as Role,
    status: turn.status,
    text: turn.text,
    parts: turn.parts ?? null,
    audience: turn.audience ?? null,
    tokenCount: turn.tokens,
    promptTokens: turn.promptTokens ?? null,
    completionTokens: turn.completionTokens ?? null,
    model: turn.model ?? null,
    adapter: turn.adapter ?? null,
    traceId: turn.traceId ?? null,
    sources: turn.sources ?? null,
    pinned: turn.pinned ?? false,
    metadata: turn.metadata ?? null,
    supersededBy: null,
    abortReason: null,
    createdAt,
  }
}

const appendTurnInput = z.object({
  conversationId: id('conversation'),
  turn: turnInput,
  expectedLastSeq: count.nullish(),
})
export type AppendTurnInput = z.input<typeof appendTurnInput>

/**
 * The turn as committed; with a clientId that was used before for the same content, the turn it wrote then. Who speaks
 * without being a participant joins by it, in the same transaction.
 * @throws InvalidInput @throws NotFound
 * @throws Conflict when the journal is not at expectedLastSeq, or the clientId stands for other content
 */
export async function appendTurn(deps: AppendDeps, viewer: Viewer, input: AppendTurnInput): Promise<Turn> {
  const { conversationId, turn, expectedLastSeq } = parse(appendTurnInput, input)
  const row = toRow(viewer, turn, 'COMMITTED', await contentGiven(deps, turn, 'turn'))
  return (await append(deps, viewer, conversationId, [row], { expected: expectedLastSeq }))[0]!
}

const appendTurnsInput = z.object({ conversationId: id('conversation'), turns: z.array(z.unknown()) })
export type AppendTurnsInput = { conversationId: string; turns: TurnInput[] }

/**
 * All of the turns, in order, or none.
 * @throws InvalidInput naming the turn's place @throws NotFound @throws Conflict
 */
export async function appendTurns(deps: AppendDeps, viewer: Viewer, input: AppendTurnsInput): Promise<Turn[]> {
  const { conversationId, turns } = parse(appendTurnsInput, input)
  if (turns.length === 0) throw InvalidInput.at('turns', 'must not be empty')
  if (turns.length > deps.limits.batchTurns) {
    throw InvalidInput.at('turns', `has ${turns.length} turns; at most ${deps.limits.batchTurns} are taken at once`)
  }
  const parsed = parse(z.object({ turns: z.array(turnInput) }), { turns }).turns
  const rows: AppendedTurn[] = []
  /** Who may answer the calls made earlier in the batch, which need not be in the conversation yet; null for everybody. */
  const called = new Map<string, string[] | null>()
  const keys = new Set<string>()
  for (const [index, turn] of parsed.entries()) {
    const content = await contentGiven(deps, turn, `turns.${index}`)
    const row = toRow(viewer, turn, 'COMMITTED', content)
    const answerable = (call: string) => called.has(call) && (called.get(call)?.includes(row.actor) ?? true)
    row.answers = content.answers.filter((call) => !answerable(call))
    for (const call of content.calls) if (called.get(call) !== null) called.set(call, row.audience ?? null)
    const key = row.clientId == null ? null : `${row.actor}\0${row.clientId}`
    if (key !== null && keys.has(key)) {
      throw InvalidInput.at(`turns.${index}.clientId`, 'stands twice in the batch')
    }
    if (key !== null) keys.add(key)
    rows.push(row)
  }
  return append(deps, viewer, conversationId, rows, { path: (place) => `turns.${place}` })
}

const openTurnInput = z.object({ conversationId: id('conversation'), turn: turnInput })
export type OpenTurnInput = z.input<typeof openTurnInput>

/**
 * An open turn: its place is taken, its text comes by appendDelta.
 * @throws InvalidInput when it has content already @throws NotFound @throws Conflict
 */
export async function openTurn(deps: AppendDeps, viewer: Viewer, input: OpenTurnInput): Promise<Turn> {
  const { conversationId, turn } = parse(openTurnInput, input)
  if (turn.content || turn.parts?.length) {
    throw InvalidInput.at('turn.content', 'an open turn says nothing yet: its text comes by appendDelta')
  }
  const row = toRow(viewer, turn, 'STREAMING', NOTHING)
  return (await append(deps, viewer, conversationId, [row]))[0]!
}
