// The fields of an agent, in the forms that create a conversation and add a participant.

import type { ParticipantInput, Respond } from '../../client/index.ts'
import { useLoad } from '../kit/load.ts'
import { useSession } from '../session/session.tsx'

type Provider = { name: string; defaultModel: string }
const READ_PROVIDERS = '{ providers { name defaultModel } }'

/** Returns the chat providers of the server, which can run agents. */
export function useProviders() {
  const { client } = useSession()
  return useLoad(async () => (await client.request<{ providers: Provider[] }>(READ_PROVIDERS)).providers, 'providers')
}

/** When an agent answers. */
export const RESPOND: Record<Respond, string> = {
  MENTIONED: 'when mentioned',
  ADDRESSED: 'when mentioned or addressed',
  ALWAYS: 'every message',
  NEVER: 'never',
}
export const CHOICES = Object.keys(RESPOND) as Respond[]

export type Agent = { name: string; provider: string; respond: Respond; instructions: string }

/** The fields of one agent. */
export function AgentFields({
  agent,
  providers,
  onChange,
}: {
  agent: Agent
  providers: readonly Provider[]
  onChange(agent: Agent): void
}) {
  const set = (changes: Partial<Agent>) => onChange({ ...agent, ...changes })
  return (
    <div className="card stack">
      <label className="field">
        Name of the agent
        <input required maxLength={200} value={agent.name} onChange={(event) => set({ name: event.target.value })} />
      </label>
      <label className="field">
        Answers
        <select value={agent.respond} onChange={(event) => set({ respond: event.target.value as Respond })}>
          {CHOICES.map((value) => (
            <option key={value} value={value}>
              {RESPOND[value]}
            </option>
          ))}
        </select>
      </label>
      <label className="field">
        Provider
        <select value={agent.provider} onChange={(event) => set({ provider: event.target.value })}>
          {providers.map(({ name, defaultModel }) => (
            <option key={name} value={name}>
              {name} ({defaultModel})
            </option>
          ))}
        </select>
      </label>
      <label className="field">
        Instructions
        <textarea
          rows={3}
          maxLength={65_536}
          value={agent.instructions}
          onChange={(event) => set({ instructions: event.target.value })}
        />
      </label>
    </div>
  )
}

export const newAgent = (provider: string): Agent => ({ name: '', provider, respond: 'MENTIONED', instructions: '' })

/** Returns the agent as the server takes it. */
export const agentInput = ({ name, provider, respond, instructions }: Agent): ParticipantInput => ({
  actor: name.trim(),
  kind: 'AGENT',
  respond,
  agent: { provider, instructions: instructions.trim() || null },
})
