// The dialog that creates a conversation, with its first participants and agents.

import { useState } from 'react'
import { FormDialog, textOf } from '../kit/form-dialog.tsx'
import { Failure, Notice } from '../kit/notice.tsx'
import { navigate } from '../session/route.ts'
import { useSession } from '../session/session.tsx'
import { AgentFields, agentInput, newAgent, useProviders, type Agent } from './agent-fields.tsx'

/** Returns the names in a text, which commas or line ends separate. */
const namesIn = (text: string): string[] => [...new Set(text.split(/[,\n]/).map((name) => name.trim()))].filter(Boolean)

function Agents({ agents, onChange }: { agents: readonly Agent[]; onChange(agents: readonly Agent[]): void }) {
  const { value: providers, error, reload } = useProviders()
  return (
    <fieldset className="stack">
      <legend>Agents</legend>
      <Failure error={error} onRetry={reload} />
      {providers?.length === 0 && <Notice>The server has no chat provider, so it cannot run agents.</Notice>}
      {agents.map((agent, index) => (
        <AgentFields
          // Agents have no identity before they are created.
          key={index}
          agent={agent}
          providers={providers ?? []}
          onChange={(changed) => onChange(agents.with(index, changed))}
        />
      ))}
      <div className="row">
        <button
          type="button"
          disabled={!providers?.length}
          onClick={() => onChange([...agents, newAgent(providers![0]!.name)])}
        >
          Add an agent
        </button>
        {agents.length > 0 && (
          <button type="button" onClick={() => onChange(agents.slice(0, -1))}>
            Remove the last one
          </button>
        )}
      </div>
    </fieldset>
  )
}

export function NewConversation({ onClose }: { onClose(): void }) {
  const { client, viewer } = useSession()
  const [agents, setAgents] = useState<readonly Agent[]>([])
  async function create(data: FormData): Promise<void> {
    const people = namesIn(textOf(data, 'people')).filter((name) => name !== viewer.actor)
    const { id } = await client.createConversation({
      title: textOf(data, 'title') || null,
      visibility: data.get('visibility') as 'OPEN' | 'MEMBERS',
      participants: [
        { actor: viewer.actor },
        ...people.map((actor) => ({ actor, kind: 'HUMAN' as const })),
        ...agents.map(agentInput),
      ],
    })
    navigate({ conversationId: id, position: null })
  }
  return (
    <FormDialog title="New conversation" verb="Create" act={create} onClose={onClose}>
      <label className="field">
        Title
        <input name="title" maxLength={1_000} placeholder="Generated from the first messages if empty" />
      </label>
      <label className="field">
        Other people, separated by commas
        <input name="people" placeholder="ada, bob" />
      </label>
      <Agents agents={agents} onChange={setAgents} />
      <label className="field">
        Who may see it
        <select name="visibility" defaultValue="MEMBERS">
          <option value="MEMBERS">its participants only</option>
          <option value="OPEN">everyone in your tenant</option>
        </select>
      </label>
    </FormDialog>
  )
}
