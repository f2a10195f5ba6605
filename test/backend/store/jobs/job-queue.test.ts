// The job queue on real databases: immediate start, one waiting job per key, retries, and sharing between processes.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ProviderFailed } from '../../../../src/errors.ts'
import { createJobQueue, JobFailed, type JobQueue } from '../../../../src/store/jobs/job-queue.ts'
import { backends, type Opened } from '../../../support/backend.ts'
import { isLong } from '../../../support/long.ts'
import { sql } from '../../../support/sql.ts'

const A = { tenant: 't', key: 'a' }

describe.each(backends)('the job queue on $name', ({ open }) => {
  let opened: Opened
  const queues: JobQueue[] = []
  const errors: Error[] = []
  const queue = () => {
    const created = createJobQueue(opened.pool, (error) => errors.push(error))
    queues.push(created)
    return created
  }
  beforeEach(async () => {
    opened = await open()
    errors.length = 0
  })
  afterEach(async () => {
    await Promise.all(queues.splice(0).map((each) => each.close()))
    await opened.close()
    expect(errors).toEqual([])
  })

  it('creates no tables before the first worker', async () => {
    await queue().close()
    const { rows } = await sql(opened.pool).query(`SELECT to_regnamespace('pgboss') AS made`)
    expect(rows).toEqual([{ made: null }])
  })

  it('starts again after a failed start', async () => {
    const { pool } = opened
    const query = pool.query.bind(pool) as (...args: unknown[]) => never
    const spy = vi
      .spyOn(pool, 'query')
      .mockImplementation((...args: unknown[]) =>
        JSON.stringify(args[0]).includes('pgboss') ? Promise.reject(new Error('the connection broke')) : query(...args),
      )
    const done: string[] = []
    const jobs = queue()
    const work = () => jobs.work('test', 1, async ({ key }) => void done.push(key))
    await expect(work()).rejects.toThrow('the connection broke')
    spy.mockRestore()
    await work()
    await jobs.send('test', [A])
    await vi.waitFor(() => expect(done).toEqual(['a']))
  })

  it('runs a new job without waiting for the next poll', async () => {
    const done: string[] = []
    const jobs = queue()
    await jobs.work('test', 2, async ({ key }) => void done.push(key))
    await jobs.send('test', [A])
    await vi.waitFor(() => expect(done).toEqual(['a']))
  })

  it('stores a waiting job once, and accepts it again once it runs', async () => {
    const started: string[] = []
    let finish = () => {}
    const jobs = queue()
    await jobs.work('test', 1, async ({ key }) => {
      started.push(key)
      await new Promise<void>((resolve) => (finish = resolve))
    })
    await jobs.send('test', [A])
    await vi.waitFor(() => expect(started).toEqual(['a']))
    for (let n = 0; n < 3; n++) await jobs.send('test', [A])
    const { rows } = await sql(opened.pool).query(`SELECT state FROM pgboss.job WHERE name = 'test' ORDER BY state`)
    expect(rows.map(({ state }) => state)).toEqual(['created', 'active'])
    finish()
    await vi.waitFor(() => expect(started).toEqual(['a', 'a']))
    finish()
  })

  it.runIf(isLong)('retries a failed job', async () => {
    let attempts = 0
    const jobs = queue()
    await jobs.work('test', 1, async () => {
      if (++attempts === 1) throw new Error('not now')
    })
    await jobs.send('test', [A])
    await vi.waitFor(() => expect(attempts).toBe(2))
  })

  it('stores an error message that is safe to show, and does not queue a retrying job again', async () => {
    const jobs = queue()
    const failures = [
      new ProviderFailed('No such model.', false),
      Object.assign(new Error('a secret'), { code: '22P02' }),
    ]
    const work = () =>
      jobs.work('test', 1, async () => {
        throw failures.shift() ?? new JobFailed('It is too late.')
      })
    await work()
    const job = async () => {
      const { rows } = await sql(opened.pool)
        .query(`SELECT state, output, extract(epoch FROM start_after - now())::float8 AS wait, retry_count FROM pgboss.job
         WHERE name = 'test'`)
      expect(rows).toHaveLength(1)
      return rows[0]
    }
    await jobs.send('test', [A])
    const texts = ['No such model.', 'Unexpected error (Error 22P02): see the log.', 'It is too late.']
    for (const [tries, message] of texts.entries()) {
      await vi.waitFor(
        async () => {
          expect(await job()).toMatchObject({ state: 'retry', retry_count: tries, output: { message } })
        },
        { interval: 20 },
      )
      const { output, wait } = await job()
      expect(JSON.stringify(output)).not.toMatch(/secret|\.ts/)
      expect(wait).toBeGreaterThan(2 ** (tries + 1) - 2)
      expect(wait).toBeLessThanOrEqual(2 ** (tries + 2))
      await jobs.send('test', [A])
      await sql(opened.pool).query(`UPDATE pgboss.job SET start_after = now() WHERE state = 'retry'`)
      // A new worker polls at once.
      await work()
    }
  })

  it('reports an error if the result of a job cannot be stored, and continues', async () => {
    let isLost = false
    const query = opened.pool.query.bind(opened.pool) as (...args: unknown[]) => Promise<never>
    vi.spyOn(opened.pool, 'query').mockImplementation((...args: unknown[]) =>
      isLost ? Promise.reject(new Error('the database is unavailable')) : query(...args),
    )
    const reported: string[] = []
    const jobs = createJobQueue(opened.pool, (error) => reported.push(error.message))
    queues.push(jobs)
    const done: string[] = []
    const fail = async (key: string) => {
      isLost = true
      if (key === 'bad') throw new Error('not now')
    }
    await jobs.work('test', 1, async ({ key }) => {
      done.push(key)
      await fail(key)
    })
    for (const key of ['good', 'bad']) {
      await jobs.send('test', [{ tenant: 't', key }])
      await vi.waitFor(() => expect(done).toContain(key))
      await vi.waitFor(() => expect(reported).toContain('the database is unavailable'))
      // Node.js reports an unhandled rejection, which would fail the test file, before the next iteration.
      await new Promise((resolve) => setImmediate(resolve))
      isLost = false
      reported.length = 0
    }
  })

  it.runIf(isLong)('stops one worker, and leaves its job to another worker', async () => {
    const jobs = queue()
    const started: string[] = []
    const stop = await jobs.work('test', 1, async (_, signal) => {
      started.push('first')
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      signal.throwIfAborted()
    })
    await jobs.send('test', [A])
    await vi.waitFor(() => expect(started).toEqual(['first']))
    await stop()
    await jobs.work('test', 1, async () => void started.push('second'))
    await vi.waitFor(() => expect(started).toEqual(['first', 'second']))
  })

  it.runIf(isLong)('aborts a running job when it closes', async () => {
    const jobs = queue()
    let isAborted = false
    let started = false
    await jobs.work(
      'test',
      1,
      (_, signal) =>
        new Promise((resolve) => {
          started = true
          signal.addEventListener('abort', () => {
            isAborted = true
            resolve()
          })
        }),
    )
    await jobs.send('test', [A])
    await vi.waitFor(() => expect(started).toBe(true))
    await jobs.close()
    expect(isAborted).toBe(true)
    await jobs.send('test', [{ tenant: 't', key: 'b' }])
  })

  it.runIf(isLong)('shares its jobs with other processes, each job running once', async () => {
    const done: string[] = []
    const [one, other] = [queue(), queue()]
    // Start both workers concurrently, so that both create the tables.
    await Promise.all([one, other].map((each) => each.work('test', 2, async ({ key }) => void done.push(key))))
    await Promise.all(Array.from({ length: 20 }, (_, n) => one.send('test', [{ tenant: 't', key: `key ${n}` }])))
    await vi.waitFor(() => expect(done).toHaveLength(20))
    expect(new Set(done).size).toBe(20)
  })
})
