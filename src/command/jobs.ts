// The command `colloquy jobs`: the background jobs of the tenant, and the progress of embedding.

import type { Client } from '../client/index.ts'
import { minuteOf } from '../text/turn-lines.ts'
import { columns, oneLine, type Result } from './output.ts'

const DOCUMENT = `query Jobs($first: Int!, $state: JobState) {
  jobs(first: $first, state: $state) {
    nodes { id name state attempts createdAt ageSeconds lastError userId conversation { id key } }
  }
  embedding { embedder serving done remaining perSecond etaSeconds }
}`

export const JOB_STATES = ['WAITING', 'ACTIVE', 'RETRYING', 'COMPLETED', 'FAILED'] as const

type Job = {
  name: string
  state: (typeof JOB_STATES)[number]
  attempts: number
  createdAt: string
  ageSeconds: number
  lastError: string | null
  userId: string | null
  conversation: { id: string; key: string | null } | null
}
type Embedding = { embedder: string; serving: string; remaining: number; etaSeconds: number | null }

function lineOfEmbedding({ embedder, serving, remaining, etaSeconds }: Embedding): string {
  if (remaining === 0) return `Embedding by ${embedder}: no entries remain.`
  const until = etaSeconds === null ? 'none are being processed' : `about ${etaSeconds} s`
  const searches = serving === embedder ? '' : ` Searches use ${serving} until then.`
  return `Embedding by ${embedder}: ${remaining} entries remain, ${until}.${searches}`
}

/** Lists unfinished jobs, oldest first, then those that ended within the last hour. Needs the right `operate`. */
export async function listJobs(
  client: Client,
  { limit, state }: { limit: number; state?: Job['state'] },
): Promise<Result> {
  const data: { jobs: { nodes: Job[] }; embedding: Embedding } = await client.request(DOCUMENT, { first: limit, state })
  const rows = data.jobs.nodes.map((job) => [
    minuteOf(job.createdAt),
    job.name.toLowerCase(),
    job.state.toLowerCase(),
    `${Math.round(job.ageSeconds)} s`,
    job.conversation?.key ?? job.conversation?.id ?? job.userId ?? '',
    job.lastError === null ? '' : `attempt ${job.attempts}: ${oneLine(job.lastError)}`,
  ])
  const lines = rows.length > 0 ? columns(rows) : ['There are no jobs.']
  return { json: data, lines: [...lines, lineOfEmbedding(data.embedding)] }
}
