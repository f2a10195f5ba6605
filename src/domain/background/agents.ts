// Defines the background work that runs agents. There is one job per conversation and agent with due wake-ups.
// A wake-up is a request to an agent to answer one turn.

import { partsOfKey, readDueAgents, readDueAgentsAmong } from '../../store/sql/wake-up/due-wake-ups.ts'
import { repeat, type Work } from '../job/worker.ts'
import { answerNext } from '../run/answer.ts'
import type { BackgroundDeps } from './deps.ts'

/** Maximum number of jobs of this kind, and hence of agents answering wake-ups, that one process runs concurrently. */
const CONCURRENCY = 8

export const agents = (deps: BackgroundDeps): Work<string> => ({
  name: 'RUN_AGENT',
  concurrency: CONCURRENCY,
  due: (after, limit) => readDueAgents(deps.db, after?.key ?? '', limit),
  dueAmong: (conversationIds) => readDueAgentsAmong(deps.db, conversationIds),
  conversationOf: ({ key }) => partsOfKey(key).conversationId,
  run: ({ tenant, key }, halt) => repeat((stop) => answerNext(deps, { tenant, ...partsOfKey(key) }, stop), halt),
})
