// The journal: its entries as they arrive, and the calls of the page as code.

import { useId, useState } from 'react'
import { Tabs } from '../kit/tabs.tsx'
import { Calls } from './code.tsx'
import { Lane } from './lane.tsx'

type TabName = 'wire' | 'code'
const TABS: readonly { name: TabName; label: string }[] = [
  { name: 'wire', label: 'The wire' },
  { name: 'code', label: 'Copy as code' },
]

export default function Panel() {
  const [tab, setTab] = useState<TabName>('wire')
  const id = useId()
  return (
    <div className="journal">
      <Tabs label="Journal" tabs={TABS} selected={tab} panelId={`${id}-${tab}`} onSelect={setTab} />
      {/* The lane stays, because it records what happens in the meantime. */}
      <div id={`${id}-wire`} role="tabpanel" aria-label="The wire" hidden={tab !== 'wire'}>
        <Lane />
      </div>
      <div id={`${id}-code`} role="tabpanel" aria-label="Copy as code" hidden={tab !== 'code'}>
        {tab === 'code' && <Calls />}
      </div>
    </div>
  )
}
