// A worker process that sends the requests of an attacker concurrently. It has a low priority, because it simulates
// clients on other machines, but shares the processors with the server.

import { Agent } from 'node:http'
import { constants, setPriority } from 'node:os'
import { answer } from '../bench/process.ts'
import { post, type WorkerPost } from './post.ts'

/** @property repeatMs time for which each request is repeated, ms; 0 to send it once */
export type LoadQuestion = { port: number; posts: WorkerPost[]; repeatMs: number }
/** Number of responses with a status of 500 or more, except 503. */
export type LoadReply = { serverErrors: number }

setPriority(constants.priority.PRIORITY_LOW)

answer<LoadQuestion, LoadReply>(async ({ port, posts, repeatMs }) => {
  // The server closes connections that were idle since the previous question.
  const agent = new Agent({ keepAlive: true })
  const end = performance.now() + repeatMs
  let serverErrors = 0
  await Promise.all(
    posts.map(async (each) => {
      do {
        const { status } = await post(port, agent, each)
        if (status >= 500 && status !== 503) serverErrors += 1
      } while (performance.now() < end)
    }),
  )
  agent.destroy()
  return { serverErrors }
})
