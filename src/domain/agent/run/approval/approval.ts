// Reads approvals. An approval is a pending or final decision about a tool call of a run. A viewer sees an approval if
// and only if the viewer sees the turn with the call.

import { z } from 'zod'
import { ApprovalState } from '../../../../store/generated/enums.ts'
import {
  pageApprovals,
  pageApprovalsOfRuns,
  readApprovals,
  type ApprovalPosition,
  type ApprovalRow,
} from '../../../../store/sql/agent/approval/read-approvals.ts'
import { authorize, isWithinReach } from '../../../kernel/rights/authorize.ts'
import { cursorFormat } from '../../../kernel/cursor.ts'
import { kindOf } from '../../../kernel/id.ts'
import { id, parse, requireStrings } from '../../../kernel/input.ts'
import { paging, slice, type Page, type PageRequest, type Paging } from '../../../kernel/page.ts'
import type { Platform } from '../../../kernel/platform.ts'
import type { Viewer } from '../../../kernel/view.ts'

export type Approval = ApprovalRow

/** Returns the given approvals that the viewer sees, by id. */
export async function getApprovals(
  { db }: Pick<Platform, 'db'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Approval>> {
  authorize(viewer, 'getApprovals')
  requireStrings(ids, 'ids')
  const rows = await readApprovals(
    db.of(viewer.tenant),
    viewer,
    ids.filter((each) => kindOf(each) === 'approval'),
  )
  return new Map(rows.filter(({ conversationId }) => isWithinReach(viewer, conversationId)).map((row) => [row.id, row]))
}

const CURSOR = cursorFormat<ApprovalPosition>(
  ({ requestedAt, id: approvalId }) => `${requestedAt.getTime()}:${approvalId}`,
  /^(\d{1,15}):(appr_\w{26})$/,
  (requestedAt, approvalId) => ({ requestedAt: new Date(Number(requestedAt)), id: approvalId }),
)

/** Returns an approval's position in a list, as an opaque cursor. */
export const approvalCursor = (approval: Approval): string => CURSOR.encode(approval)

/** Returns the positions and the number of rows to read for a page. @throws InvalidInput */
const boundsOf = ({ size, backwards, after, before }: PageRequest) => ({
  after: after === null ? null : CURSOR.decode(after, 'after'),
  before: before === null ? null : CURSOR.decode(before, 'before'),
  backwards,
  limit: size + 1,
})

const approvalFilter = z.object({
  state: z.enum(ApprovalState).nullish(),
  conversationId: id('conversation').nullish(),
})
type ApprovalsArgs = Paging & z.input<typeof approvalFilter>

/**
 * Returns a page of the approvals that the viewer sees, newest request first. A decision never changes this order.
 * @throws InvalidInput
 */
export async function getApprovalPage(
  { db, limits }: Pick<Platform, 'db' | 'limits'>,
  viewer: Viewer,
  args: ApprovalsArgs,
): Promise<Page<Approval>> {
  authorize(viewer, 'getApprovalPage')
  const page = paging(args, limits.pageSize)
  const { state, conversationId } = parse(approvalFilter, { state: args.state, conversationId: args.conversationId })
  const reach = viewer.principal?.conversations ?? null
  const asked = conversationId == null ? null : [conversationId]
  const rows = await pageApprovals(db, viewer, {
    ...boundsOf(page),
    state: state ?? null,
    conversationIds: reach === null ? asked : (asked ?? [...reach]).filter((each) => reach.has(each)),
  })
  return slice(rows, page)
}

/**
 * Returns a page of the approvals of each run that the viewer sees, oldest request first, by run id. The page of a run
 * without approvals is empty.
 * @throws InvalidInput
 */
export async function getApprovalPages(
  { db, limits }: Pick<Platform, 'db' | 'limits'>,
  viewer: Viewer,
  runIds: readonly string[],
  args: Paging,
): Promise<Map<string, Page<Approval>>> {
  authorize(viewer, 'getApprovalPages')
  const page = paging(args, limits.pageSize)
  const approvals = new Map<string, Approval[]>(runIds.map((runId) => [runId, []]))
  for (const row of await pageApprovalsOfRuns(db, viewer, runIds, boundsOf(page))) {
    if (isWithinReach(viewer, row.conversationId)) approvals.get(row.runId)!.push(row)
  }
  return new Map([...approvals].map(([runId, rows]) => [runId, slice(rows, page)]))
}
