// The stream of the answer of one run, in the stream protocol of the AI SDK: the server's half of a page that uses the
// transport of the AI SDK and talks to the application's own routes.

import type { UIMessageChunk } from 'ai'
import { ColloquyError, type Client } from '../client/index.ts'
import { answerChunks, IDLE_MS, streamOf } from './answer-stream.ts'
import { createChat, readyToRead } from '../client/chat/chat.ts'

const READ = `query AnsweredBy($id: ID!, $as: String) {
  run(id: $id, as: $as) { actor conversation { id } replyTo { position } }
}`

/**
 * Returns the answer of a run as it is written, from its beginning. The stream ends when the run has ended, or waits for
 * a decision or for the results of tools. It fails with a ColloquyError, with the code NOT_FOUND if the client does not
 * see the run. Cancelling the stream does not cancel the run.
 * @param run the run that `conversation.run` returned, or its id
 * @param tools the names of the tools that the page executes
 */
export function toUIMessageStream(
  client: Client,
  run: string | { id: string },
  { tools = [] }: { tools?: readonly string[] } = {},
): ReadableStream<UIMessageChunk> {
  const runId = typeof run === 'string' ? run : run.id
  return streamOf(async function* (signal) {
    const { run: found } = await client.request(READ, { id: runId, as: client.as }, { signal })
    if (!found)
      throw new ColloquyError('NOT_FOUND', `There is no run ${JSON.stringify(runId)}, or it is outside the view.`)
    const chat = createChat(client, found.conversation.id)
    const release = chat.subscribe(() => {})
    try {
      await readyToRead(chat)
      const to = found.replyTo?.position ?? 0
      await chat.reach(to)
      const wanted = {
        to,
        runId,
        isOneRun: true,
        includes: ({ metadata }: { metadata?: { runId?: string } }) => metadata?.runId === runId,
        answers: 'joined' as const,
      }
      yield* answerChunks(chat, wanted, { pageTools: new Set(tools), fileUrl: client.fileUrl, idleMs: IDLE_MS, signal })
    } finally {
      release()
    }
  })
}
