// The tab "Profiles": the profile of each person who is present.

import { useState } from 'react'
import type { Participant } from '../../client/index.ts'
import { Avatar } from '../kit/avatar.tsx'
import { useAction, useLoad } from '../kit/load.ts'
import { Markdown } from '../kit/markdown.tsx'
import { Empty, Failure } from '../kit/notice.tsx'
import { More } from '../kit/pages.tsx'
import { countOf, dateOf } from '../kit/text.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { useChanges } from './changes.ts'

const CHANGES = ['FACTS_CHANGED'] as const

/** Number of people that are shown at first, and that a button adds: the profile of each is a call of its own. */
const PAGE = 20

function Profile({ userId, changes }: { userId: string; changes: number | null }) {
  const { client, viewer } = useSession()
  const { value, error, isLoading, reload } = useLoad(
    async (signal) => ({ profile: await client.profile(userId, { signal }) }),
    changes === null ? null : userId,
    { version: changes },
  )
  const refresh = useAction(async () => {
    await client.refreshProfile(userId)
    reload()
  })
  const profile = value?.profile
  return (
    <>
      <Failure error={error} onRetry={reload} />
      {!value && error === null && <p className="muted">Loading …</p>}
      {value && !profile && (
        <p className="muted">None yet. A profile is made from the facts about the person, when it is refreshed.</p>
      )}
      {profile && (
        <div aria-busy={isLoading}>
          <Markdown text={profile.content} />
        </div>
      )}
      <Failure error={refresh.error} />
      <div className="bar">
        <span className="muted">
          {profile && `Updated ${dateOf(profile.updatedAt)} · ${countOf(profile.tokenCount, 'token')}`}
        </span>
        {viewer.rights.includes('WRITE') && (
          <button type="button" className="small" disabled={refresh.isRunning} onClick={() => void refresh.run()}>
            {refresh.isRunning ? 'Refreshing …' : 'Refresh'}
          </button>
        )}
      </div>
    </>
  )
}

function Person({ person: { actor }, changes }: { person: Participant; changes: number | null }) {
  const { viewer } = useSession()
  const { nameOf } = useOpenConversation()
  // A profile combines what a user said in all conversations.
  const isVisible = actor === viewer.actor || viewer.rights.includes('MANAGE')
  return (
    <li className="card stack profile">
      <div className="row">
        <Avatar name={nameOf(actor)} isAgent={false} />
        <h3 dir="auto">{nameOf(actor)}</h3>
      </div>
      {isVisible ? (
        <Profile userId={actor} changes={changes} />
      ) : (
        <p className="hint">The profile of another person needs the right manage.</p>
      )}
    </li>
  )
}

export function Profiles() {
  const { conversation, present, transcript } = useOpenConversation()
  const changes = useChanges(conversation, CHANGES)
  const [limit, setLimit] = useState(PAGE)
  const people = present.filter(({ kind }) => kind === 'HUMAN')
  if (transcript.conversation === null) return <Empty>Loading …</Empty>
  if (people.length === 0) return <Empty>No person is present.</Empty>
  return (
    <>
      <ul className="plain stack" aria-label="Profiles">
        {people.slice(0, limit).map((person) => (
          <Person key={person.actor} person={person} changes={changes} />
        ))}
      </ul>
      <More more={people.length > limit ? () => setLimit(limit + PAGE) : null} isLoading={false} />
    </>
  )
}
