// The panel "Memory": recall, facts, profiles and summaries of the conversation.

import { useId } from 'react'
import { useKept } from '../session/kept.ts'
import { Tabs } from '../kit/tabs.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { Facts } from './facts.tsx'
import { Profiles } from './profiles.tsx'
import { RecallTab } from './recall.tsx'
import { Summaries } from './summaries.tsx'

const TABS = [
  { name: 'recall', label: 'Recall' },
  { name: 'facts', label: 'Facts' },
  { name: 'profiles', label: 'Profiles' },
  { name: 'summaries', label: 'Summaries' },
] as const

type TabName = (typeof TABS)[number]['name']

const COMPONENTS = { recall: RecallTab, facts: Facts, profiles: Profiles, summaries: Summaries }

export default function Panel() {
  const { id } = useOpenConversation()
  const [{ tab }, change] = useKept<{ tab: TabName }>(`memory ${id}`, { tab: 'recall' })
  const panelId = useId()
  const Selected = COMPONENTS[tab]
  return (
    <div className="memory stack">
      <Tabs
        label="Memory"
        tabs={TABS}
        selected={tab}
        panelId={panelId}
        onSelect={(selected) => change({ tab: selected })}
      />
      <div id={panelId} role="tabpanel" aria-label={TABS.find(({ name }) => name === tab)!.label} className="stack">
        <Selected />
      </div>
    </div>
  )
}
