// The facts that the agent learnt in the chat. The user may have each forgotten.
import { useClient, useConversation, useFacts } from 'colloquy-client/react'

export function Memory({ id }: { id: string }) {
  const client = useClient()
  const { value } = useFacts(useConversation(id))
  return (
    <aside>
      <b>Remembered</b>
      {value?.nodes.map((fact) => (
        <span key={fact.id}>
          {fact.subject} {fact.predicate} {fact.object}{' '}
          <button onClick={() => client.retractFact(fact.id)}>Forget</button>
        </span>
      ))}
    </aside>
  )
}
