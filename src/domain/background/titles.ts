// Defines the background work that writes automatic titles: for conversations without a title, and for conversations
// whose automatic title was made from turns that were edited later.

import { readDueTitles, readDueTitlesAmong } from '../../store/sql/title/read-due-titles.ts'
import type { Work } from '../job/worker.ts'
import { writeTitleDue } from '../summary/title.ts'
import type { BackgroundDeps } from './deps.ts'

/** Maximum number of titles that one process writes concurrently. */
const CONCURRENCY = 2

export const titles = (deps: BackgroundDeps): Work<string> => ({
  name: 'WRITE_TITLE',
  concurrency: CONCURRENCY,
  due: (after, limit) => readDueTitles(deps.db, after?.key ?? '', limit),
  dueAmong: (conversationIds) => readDueTitlesAmong(deps.db, conversationIds),
  run: ({ key: conversationId }, { stop }) => writeTitleDue(deps, conversationId, stop),
})
