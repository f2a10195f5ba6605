// The dialog that adds a person or an agent to the open conversation.

import { useState } from 'react'
import { agentInput, AgentFields, newAgent, useProviders } from '../conversations/agent-fields.tsx'
import { FormDialog, textOf } from '../kit/form-dialog.tsx'
import { Failure, Notice } from '../kit/notice.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'

export function AddParticipant({ onClose }: { onClose(): void }) {
  const { conversation } = useOpenConversation()
  const { value: providers, error, reload } = useProviders()
  const [kind, setKind] = useState<'HUMAN' | 'AGENT'>('HUMAN')
  const [agent, setAgent] = useState(newAgent(''))
  const provider = agent.provider || (providers?.[0]?.name ?? '')
  const add = (data: FormData) =>
    conversation.addParticipant(
      kind === 'HUMAN' ? { actor: textOf(data, 'name'), kind } : agentInput({ ...agent, provider }),
    )
  const isBlocked = kind === 'AGENT' && provider === ''
  return (
    <FormDialog title="Add a participant" verb="Add" act={add} onClose={onClose} isBlocked={isBlocked}>
      <fieldset className="row">
        <legend>Kind</legend>
        {(['HUMAN', 'AGENT'] as const).map((each) => (
          <label className="check" key={each}>
            <input type="radio" name="kind" checked={kind === each} onChange={() => setKind(each)} />
            {each === 'HUMAN' ? 'Person' : 'Agent'}
          </label>
        ))}
      </fieldset>
      {kind === 'HUMAN' ? (
        <label className="field">
          Name of the person
          <input name="name" required maxLength={200} />
        </label>
      ) : (
        <>
          <Failure error={error} onRetry={reload} />
          {providers?.length === 0 && <Notice>The server has no chat provider, so it cannot run agents.</Notice>}
          <AgentFields agent={{ ...agent, provider }} providers={providers ?? []} onChange={setAgent} />
        </>
      )}
    </FormDialog>
  )
}
