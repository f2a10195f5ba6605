// The background jobs of the tenant, and the progress of embedding.

import { useState } from 'react'
import { Empty, Failure } from '../kit/notice.tsx'
import { More, usePages } from '../kit/pages.tsx'
import { countOf, dateOf, formatNumber, percentOf } from '../kit/text.ts'
import { useRefresh } from '../kit/visible.ts'
import { Needs } from '../session/needs.tsx'
import { useSession } from '../session/session.tsx'
import { READ_JOBS, type Embedding, type Job } from './requests.ts'
import { durationOf, embeddedText, JOB_STATES, JOBS, partOf } from './words.ts'

/** Time after which the jobs are read again, ms. */
const REFRESH_MS = 5_000

function Progress({ embedding }: { embedding: Embedding }) {
  const { done, remaining, embedder, serving, perSecond, etaSeconds } = embedding
  const part = partOf(Number(done), Number(remaining))
  return (
    <section className="card stack">
      <h3 id="embedding">Embedding</h3>
      <progress aria-labelledby="embedding" max={1} value={part} />
      <p className="hint">
        {Number(remaining) === 0
          ? embeddedText(Number(done), embedder)
          : `${percentOf(part, 1)}: ${formatNumber(done)} of ${formatNumber(Number(done) + Number(remaining))} entries by `
            + `${embedder}, ${formatNumber(Math.round(perSecond * 10) / 10)} per second`
            + `${etaSeconds === null ? '' : `, about ${durationOf(etaSeconds)} left`}.`}
        {serving !== embedder && ` Until then, searches use ${serving}.`}
      </p>
    </section>
  )
}

function JobItem({ job }: { job: Job }) {
  const [words, tone] = JOB_STATES[job.state] ?? [job.state, '']
  const isEnded = job.state === 'COMPLETED' || job.state === 'FAILED'
  const about = job.userId ?? job.conversation?.title ?? job.conversation?.id ?? 'a deleted conversation'
  return (
    <li className="card">
      <p className="line">
        <strong>{JOBS[job.name] ?? job.name}</strong> <span className={`chip ${tone}`}>{words}</span>
      </p>
      <p className="hint">
        <span dir="auto">{about}</span> · {countOf(job.attempts, 'attempt')} ·{' '}
        <time dateTime={job.createdAt} title={dateOf(job.createdAt)}>
          {isEnded ? `took ${durationOf(job.ageSeconds)}` : `queued ${durationOf(job.ageSeconds)} ago`}
        </time>
      </p>
      {job.lastError !== null && <p className="error-text">{job.lastError}</p>}
    </li>
  )
}

function JobList() {
  const { client } = useSession()
  const [state, setState] = useState<string | null>(null)
  const [embedding, setEmbedding] = useState<Embedding | null>(null)
  const list = usePages<Job>(async (page, signal) => {
    // The next refresh repeats a call that failed, so a failure is shown at once.
    const read = await client.request(READ_JOBS, { state, ...page }, { signal, once: true })
    setEmbedding(read.embedding)
    return read.jobs
  }, state ?? 'all')
  useRefresh(list, REFRESH_MS)
  return (
    <div className="stack">
      {embedding && <Progress embedding={embedding} />}
      <div className="row">
        <h3>Jobs</h3>
        <select
          aria-label="State of the jobs to show"
          value={state ?? ''}
          onChange={(event) => setState(event.target.value || null)}
        >
          <option value="">All states</option>
          {Object.entries(JOB_STATES).map(([name, [words]]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
      </div>
      <p className="hint">
        Unfinished jobs, and those that ended within the last hour. Read again every {REFRESH_MS / 1_000} seconds.
      </p>
      <Failure error={list.error} onRetry={list.reload} />
      {list.items === null && !list.error && <Empty>Loading …</Empty>}
      {list.items?.length === 0 && (
        <Empty>
          {state === null
            ? 'No jobs: nothing is waiting, and none ended within the last hour.'
            : 'No jobs in this state.'}
        </Empty>
      )}
      <ul className="plain stack" aria-label="Jobs">
        {list.items?.map((job) => (
          <JobItem key={job.id} job={job} />
        ))}
      </ul>
      <More more={list.more} isLoading={list.isLoadingMore} />
    </div>
  )
}

export const Jobs = () => (
  <Needs right="OPERATE" purpose="see the background jobs and the progress of embedding">
    <JobList />
  </Needs>
)
