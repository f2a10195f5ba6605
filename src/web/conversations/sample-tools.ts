// Executes the tools of the sample conversation while its owner has it open, as the program of a caller would.

import { useEffect } from 'react'
import type { Client, ConversationHandle, RunWithReplies, Turn } from '../../client/index.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { isSample, isTool, TOOLS } from './sample-script.ts'

/** Returns the results of the calls of the newest reply of a run, as the parts of a turn. */
async function resultsOf(client: Client, conversationId: string, { replies }: RunWithReplies) {
  const reply = replies.findLast(({ parts }: Turn) => parts.some(({ __typename }) => __typename === 'ToolCallPart'))
  const { nodes: approvals } = await client.approvals({ conversationId, state: 'APPROVED', first: 20 })
  return (reply?.parts ?? []).flatMap((part) => {
    if (part.__typename !== 'ToolCallPart' || !isTool(part.name)) return []
    const approved = approvals.find(({ turn, callId }) => turn.id === reply!.id && callId === part.callId)
    const result = TOOLS[part.name].run(approved?.arguments ?? part.arguments)
    return [{ toolResult: { callId: part.callId, name: part.name, result } }]
  })
}

/** Executes the calls of a run that waits for them, and continues it. */
async function answerCalls(client: Client, conversation: ConversationHandle, runId: string, id: string): Promise<void> {
  const run = await client.readRun(runId)
  if (run?.state !== 'WAITING_FOR_TOOLS') return
  const parts = await resultsOf(client, id, run)
  if (parts.length > 0) await conversation.run({ runId, turns: [{ role: 'TOOL', parts }], wait: false })
}

const READ_WAITING = `query Waiting($id: ID!, $as: String) {
  conversation(id: $id, as: $as) { lastSeq runs(first: 20) { nodes { id state } } }
}`

/** Executes the tools of the conversation until the signal is aborted. */
async function serveTools(client: Client, conversation: ConversationHandle, id: string, signal: AbortSignal) {
  // Another tab may answer the calls first.
  const answer = (runId: string) => answerCalls(client, conversation, runId, id).catch(() => {})
  const { conversation: found } = await client.request(READ_WAITING, { id, as: client.as }, { signal })
  const waiting = found.runs.nodes.filter(({ state }: { state: string }) => state === 'WAITING_FOR_TOOLS')
  for (const run of waiting) await answer(run.id)
  const events = conversation.follow({ afterSeq: found.lastSeq, types: ['RUN_CHANGED'], signal })
  for await (const event of events) {
    if (event.__typename === 'RunChanged' && event.run.state === 'WAITING_FOR_TOOLS') await answer(event.run.id)
  }
}

/** Executes the tools of the open conversation if it is the sample of the viewer. */
export function useSampleTools(): void {
  const { id, conversation, transcript } = useOpenConversation()
  const { client, viewer } = useSession()
  const { conversation: settings } = transcript
  const isOwn = settings !== null && isSample(settings.metadata) && settings.owner === viewer.actor
  useEffect(() => {
    if (!isOwn) return
    const ending = new AbortController()
    serveTools(client, conversation, id, ending.signal).catch(() => {})
    return () => ending.abort()
  }, [isOwn, client, conversation, id])
}
