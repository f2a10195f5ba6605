// One part of a message: text, reasoning, or a tool call, which may wait for a decision.
import type { UseChatHelpers } from '@ai-sdk/react'
import type { ConversationMessage } from 'colloquy-client/ai-sdk'

type Props = {
  part: ConversationMessage['parts'][number]
  decide: UseChatHelpers<ConversationMessage>['addToolApprovalResponse']
}

export function Part({ part, decide }: Props) {
  if (part.type === 'text') return <p>{part.text}</p>
  if (part.type === 'reasoning')
    return (
      <p>
        <i>{part.text}</i>
      </p>
    )
  if (part.type !== 'dynamic-tool') return null
  if (part.state !== 'approval-requested')
    return (
      <p>
        {part.toolName}: {part.state}
      </p>
    )
  const { id } = part.approval
  return (
    <p>
      {part.toolName}({JSON.stringify(part.input)})
      <button onClick={() => decide({ id, approved: true })}>Approve</button>
      <button onClick={() => decide({ id, approved: false })}>Deny</button>
    </p>
  )
}
