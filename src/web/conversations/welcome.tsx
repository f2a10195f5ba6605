// What the page shows while no conversation is open: what Colloquy is, and two ways to begin.

import { useState } from 'react'
import { graphiqlPath } from '../kit/graphiql.ts'
import { Failure, Notice } from '../kit/notice.tsx'
import { useAction } from '../kit/load.ts'
import { ABOUT } from '../session/enter.tsx'
import { navigate } from '../session/route.ts'
import { Needs } from '../session/needs.tsx'
import { useSession } from '../session/session.tsx'
import { useProviders } from './agent-fields.tsx'
import { NewConversation } from './new-conversation.tsx'
import { createSample } from './sample.ts'

export function Welcome() {
  const session = useSession()
  const graphiql = graphiqlPath()
  const { value: providers, error, reload } = useProviders()
  const [isCreating, setCreating] = useState(false)
  const hasEcho = providers?.some(({ name }) => name === 'echo') ?? false
  const play = useAction(async () => {
    const id = await createSample(session)
    navigate({ conversationId: id, position: null, panel: 'participants' })
  })
  return (
    <main className="welcome">
      <h1>Welcome, {session.viewer.actor}</h1>
      <p>
        {ABOUT} Everything on this page goes through the GraphQL API that your own programs use
        {graphiql !== null && (
          <>
            : try it, and read its documentation, in <a href={graphiql}>GraphiQL</a>
          </>
        )}
        .
      </p>
      <div className="stack">
        <Needs right="WRITE" purpose="create a conversation">
          <button
            type="button"
            className="primary"
            disabled={!hasEcho || play.isRunning}
            onClick={() => void play.run()}
          >
            {play.isRunning ? 'Starting …' : '▶ Play a sample conversation'}
          </button>
          <p className="hint">
            Two agents plan a dinner, offline. You read along, approve a booking, and say something yourself.
          </p>
          {providers && !hasEcho && (
            <Notice>
              The sample needs the provider “echo”, which this server does not offer: set ECHO_PROVIDER=1.
            </Notice>
          )}
          <Failure error={error} onRetry={reload} />
          <Failure error={play.error} />
          <button type="button" onClick={() => setCreating(true)}>
            Start an empty conversation
          </button>
        </Needs>
      </div>
      {isCreating && <NewConversation onClose={() => setCreating(false)} />}
    </main>
  )
}
