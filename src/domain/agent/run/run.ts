// Reads the runs that the viewer sees, their provider calls, and the tokens that they have used.

import { NotFound } from '../../../errors.ts'
import { readCalls, type ProviderCallRow } from '../../../store/sql/agent/run/provider-calls.ts'
import type { RunRow } from '../../../store/sql/agent/run/run-columns.ts'
import { pageRuns, readRuns, type RunPosition } from '../../../store/sql/agent/run/read-runs.ts'
import { readTokenSums } from '../../../store/sql/agent/run/token-usage.ts'
import { authorize, isWithinReach, withinReach } from '../../kernel/rights/authorize.ts'
import { requireStrings } from '../../kernel/input.ts'
import { cursorFormat } from '../../kernel/cursor.ts'
import { kindOf } from '../../kernel/id.ts'
import { paging, slice, type Page, type Paging } from '../../kernel/page.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'
import { toRun, type Run } from '../definition/visible.ts'

export type ProviderCall = ProviderCallRow

/** Returns the runs that the viewer sees, by id. */
export async function getRuns(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Run>> {
  authorize(viewer, 'getRuns')
  requireStrings(ids, 'ids')
  const rows = await readRuns(
    pool,
    viewer,
    ids.filter((id) => kindOf(id) === 'run'),
  )
  const within = rows.filter(({ conversationId }) => isWithinReach(viewer, conversationId))
  return new Map(within.map((row) => [row.id, toRun(row)]))
}

/** Returns the run with all columns. @throws NotFound */
export async function requireRun({ pool }: Pick<Platform, 'pool'>, viewer: Viewer, id: string): Promise<RunRow> {
  const [row] = await readRuns(pool, viewer, [id])
  if (!row || !isWithinReach(viewer, row.conversationId)) throw new NotFound('run', id)
  return row
}

const CURSOR = cursorFormat<RunPosition>(
  ({ createdAt, id }) => `run:${createdAt.getTime()}:${id}`,
  /^run:(\d{1,15}):(run_\w{26})$/,
  (at, id) => ({ createdAt: new Date(Number(at)), id }),
)
export const runCursor = (run: Run): string => CURSOR.encode(run)

/** Returns a page of each conversation's runs, newest first. @throws InvalidInput */
export async function getRunPages(
  { db, limits }: Pick<Platform, 'db' | 'limits'>,
  viewer: Viewer,
  conversationIds: readonly string[],
  args: Paging,
): Promise<Map<string, Page<Run>>> {
  authorize(viewer, 'getRunPages')
  requireStrings(conversationIds, 'conversationIds')
  const page = paging(args, limits.pageSize)
  const rows = await pageRuns(db, viewer, withinReach(viewer, conversationIds), {
    limit: page.size + 1,
    after: page.after === null ? null : CURSOR.decode(page.after, 'after'),
    before: page.before === null ? null : CURSOR.decode(page.before, 'before'),
    backwards: page.backwards,
  })
  const runsOf = new Map<string, Run[]>(conversationIds.map((conversationId) => [conversationId, []]))
  for (const row of rows) runsOf.get(row.conversationId)!.push(toRun(row))
  return new Map([...runsOf].map(([conversationId, runs]) => [conversationId, slice(runs, page)]))
}

/** Returns the calls of each run that the viewer sees, in order. */
export async function getProviderCalls(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  runIds: readonly string[],
): Promise<Map<string, ProviderCall[]>> {
  authorize(viewer, 'getProviderCalls')
  const seen = await readRuns(pool, viewer, runIds)
  const ids = seen.filter(({ conversationId }) => isWithinReach(viewer, conversationId)).map(({ id }) => id)
  const callsOf = new Map<string, ProviderCall[]>(ids.map((id) => [id, []]))
  for (const call of ids.length > 0 ? await readCalls(pool, viewer.tenant, ids) : [])
    callsOf.get(call.runId)!.push(call)
  return callsOf
}

export type Tokens = { prompt: number; completion: number }
/** The tokens of a conversation's runs, in total and by agent. */
export type TokenSums = Tokens & { byActor: ReadonlyMap<string, Tokens> }

/** Returns the tokens of the runs that the viewer sees, by conversation. */
export async function getTokenSums(
  { db }: Pick<Platform, 'db'>,
  viewer: Viewer,
  conversationIds: readonly string[],
): Promise<Map<string, TokenSums>> {
  authorize(viewer, 'getTokenSums')
  const rows = await readTokenSums(db, viewer, withinReach(viewer, conversationIds))
  return new Map(
    conversationIds.map((conversationId) => {
      const own = rows.filter((row) => row.conversationId === conversationId)
      const byActor = new Map(own.map(({ actor, prompt, completion }) => [actor, { prompt, completion }]))
      const sum = (field: keyof Tokens) => own.reduce((total, row) => total + row[field], 0)
      return [conversationId, { prompt: sum('prompt'), completion: sum('completion'), byActor }]
    }),
  )
}
