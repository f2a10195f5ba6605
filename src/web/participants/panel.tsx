// The panel of the participants: who is there, what the agents do, and the runs of the agents.

import { useState } from 'react'
import { Needs } from '../session/needs.tsx'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { AddParticipant } from './add-participant.tsx'
import { People } from './people.tsx'
import { Runs } from './runs.tsx'

export default function ParticipantsPanel() {
  const { present } = useOpenConversation()
  const mayWrite = useSession().viewer.rights.includes('WRITE')
  const [isAdding, setAdding] = useState(false)
  return (
    <>
      <section className="stack" aria-labelledby="people-title">
        <div className="bar">
          <h2 id="people-title">People and agents ({present.length})</h2>
          {mayWrite && (
            <button type="button" onClick={() => setAdding(true)}>
              Add
            </button>
          )}
        </div>
        <Needs right="WRITE" purpose="change the participants" />
        <People />
      </section>
      <section className="stack" aria-labelledby="runs-title">
        <h2 id="runs-title">Runs of the agents</h2>
        <Runs />
      </section>
      {isAdding && <AddParticipant onClose={() => setAdding(false)} />}
    </>
  )
}
