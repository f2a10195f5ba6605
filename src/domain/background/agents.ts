// The background work that runs agents: one job for each agent of a conversation that has due wake-ups. A wake-up names
// a turn that a participant must answer.

import { partsOfKey, readDueAgents, readDueAgentsAmong } from '../../store/sql/wake-up/due-wake-ups.ts'
import { repeat, type Work } from '../job/worker.ts'
import { answerNext } from '../run/answer.ts'
import type { BackgroundDeps } from './deps.ts'

/** Maximum number of agents that one process runs concurrently because of wake-ups. */
const CONCURRENCY = 8

export const agents = (deps: BackgroundDeps): Work<string> => ({
  name: 'RUN_AGENT',
  concurrency: CONCURRENCY,
  due: (after, limit) => readDueAgents(deps.db, after?.key ?? '', limit),
  dueAmong: (conversationIds) => readDueAgentsAmong(deps.db, conversationIds),
  conversationOf: ({ key }) => partsOfKey(key).conversationId,
  run: ({ tenant, key }, halt) => repeat((stop) => answerNext(deps, { tenant, ...partsOfKey(key) }, stop), halt),
})
