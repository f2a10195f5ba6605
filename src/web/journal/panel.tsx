// The journal: its events as they arrive, and the calls of the page as code.

import { useId, useState } from 'react'
import { Tabs } from '../kit/tabs.tsx'
import { Calls } from './code.tsx'
import { Events } from './event-list.tsx'

type TabName = 'events' | 'code'
const TABS: readonly { name: TabName; label: string }[] = [
  { name: 'events', label: 'Events' },
  { name: 'code', label: 'Copy as code' },
]

export default function Panel() {
  const [tab, setTab] = useState<TabName>('events')
  const id = useId()
  return (
    <div className="journal">
      <Tabs label="Journal" tabs={TABS} selected={tab} panelId={`${id}-${tab}`} onSelect={setTab} />
      {/* The events stay, because they record what happens in the meantime. */}
      <div id={`${id}-events`} role="tabpanel" aria-label="Events" hidden={tab !== 'events'}>
        <Events isHidden={tab !== 'events'} />
      </div>
      <div id={`${id}-code`} role="tabpanel" aria-label="Copy as code" hidden={tab !== 'code'}>
        {tab === 'code' && <Calls />}
      </div>
    </div>
  )
}
