// The newest calls of the page as code: TypeScript, curl and GraphQL.

import { useId, useState } from 'react'
import { CodeBlock } from '../kit/copy.tsx'
import { graphiqlPath } from '../kit/graphiql.ts'
import { Empty } from '../kit/notice.tsx'
import { useStore } from '../kit/store.ts'
import { Tabs } from '../kit/tabs.tsx'
import type { Call } from '../session/calls.ts'
import { ENDPOINT, useSession } from '../session/session.tsx'
import { jsonOf } from './quote.ts'
import { actorOf, clientIdOf, curlOf, operationOf, typescriptOf } from './snippets.ts'

type Language = 'typescript' | 'curl' | 'graphql'
const LANGUAGES: readonly { name: Language; label: string }[] = [
  { name: 'typescript', label: 'TypeScript' },
  { name: 'curl', label: 'curl' },
  { name: 'graphql', label: 'GraphQL' },
]

const times = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })

function GraphiqlLink() {
  const path = graphiqlPath()
  return (
    path !== null && (
      <a href={path} target="_blank" rel="noopener">
        Open GraphiQL
      </a>
    )
  )
}

/** What the code needs, in words. */
function hintOf(call: Call, language: Language): string {
  const hints = [
    call.actor === null && 'Set TOKEN in the environment to an API key or token. Your own is not part of the code.',
    language === 'typescript' && 'npm install colloquy-client',
    clientIdOf(call) !== null
      && (language === 'typescript'
        ? 'Each run appends another turn.'
        : 'The clientId makes it safe to repeat: the server answers with the same turn, and appends no other.'),
  ]
  return hints.filter((hint) => hint !== false).join(' · ')
}

function Code({ call }: { call: Call }) {
  const [language, setLanguage] = useState<Language>('typescript')
  const panelId = useId()
  const url = new URL(ENDPOINT, location.href).href
  return (
    <div className="code-of-call">
      <Tabs label="Language" tabs={LANGUAGES} selected={language} panelId={panelId} onSelect={setLanguage} />
      <div id={panelId} role="tabpanel" aria-label={language} className="stack">
        <p className="hint">{hintOf(call, language)}</p>
        {language === 'typescript' && <CodeBlock code={typescriptOf(call, url)} label="TypeScript" />}
        {language === 'curl' && <CodeBlock code={curlOf(call, url)} label="curl" />}
        {language === 'graphql' && (
          <>
            <CodeBlock code={call.query.trim()} label="document" />
            <CodeBlock code={jsonOf(call.variables, 2)} label="variables" />
          </>
        )}
      </div>
    </div>
  )
}

export function Calls() {
  const { calls, viewer } = useSession()
  const all = useStore(calls)
  const [onlyWrites, setOnlyWrites] = useState(false)
  const [chosen, setChosen] = useState<Call | null>(null)
  const shown = all.filter(({ query }) => !onlyWrites || operationOf(query).isMutation).toReversed()
  return (
    <div className="calls stack">
      <p className="hint">This page uses only the public API. Choose a call to see the equivalent code.</p>
      <div className="row">
        <label className="check">
          <input type="checkbox" checked={onlyWrites} onChange={(event) => setOnlyWrites(event.target.checked)} />
          Only writes
        </label>
        <GraphiqlLink />
      </div>
      {shown.length === 0 && <Empty>{onlyWrites ? 'No writes yet: send a turn.' : 'No calls yet.'}</Empty>}
      {shown.length > 0 && (
        <ul className="plain" aria-label="Calls, newest first">
          {shown.map((call) => {
            const { name, isMutation } = operationOf(call.query)
            return (
              <li key={call.id}>
                <button type="button" aria-pressed={call.id === chosen?.id} onClick={() => setChosen(call)}>
                  <span className="name">{name}</span>
                  {isMutation && <span className="chip accent">write</span>}
                  {call.count > 1 && <span className="chip">{call.count}×</span>}
                  <bdi className="muted">{actorOf(call, viewer.actor)}</bdi>
                  <time className="muted number" dateTime={call.at.toISOString()}>
                    {times.format(call.at)}
                  </time>
                </button>
              </li>
            )
          })}
        </ul>
      )}
      {chosen && <Code call={chosen} key={chosen.id} />}
    </div>
  )
}
