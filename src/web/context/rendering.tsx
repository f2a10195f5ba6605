// The context as JSON, in the format of a provider or library.

import { useState } from 'react'
import type { Client, MessageFormat } from '../../client/index.ts'
import { JsonBlock } from '../kit/copy.tsx'
import { useLoad } from '../kit/load.ts'
import { Failure } from '../kit/notice.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { renderContext } from './read-context.ts'
import type { Settings } from './settings.ts'

const FORMATS: Record<MessageFormat, string> = {
  OPENAI: 'OpenAI',
  ANTHROPIC: 'Anthropic',
  AI_SDK: 'AI SDK',
  UI_MESSAGES: 'UI messages',
}

/** `asOfSeq`: newest entry of the context that is shown; a newer one is rendered again. */
export function Rendering({ client, settings, asOfSeq }: { client: Client; settings: Settings; asOfSeq: number }) {
  const { id } = useOpenConversation()
  const [format, setFormat] = useState<MessageFormat>('OPENAI')
  const { value, error, isLoading, reload } = useLoad(
    (signal) => renderContext(client, id, settings, { format, signal }),
    [settings, asOfSeq, format],
  )
  return (
    <div className="stack">
      <div className="row" role="group" aria-label="Format">
        {(Object.keys(FORMATS) as MessageFormat[]).map((each) => (
          <button
            key={each}
            type="button"
            className="small"
            aria-pressed={each === format}
            onClick={() => setFormat(each)}
          >
            {FORMATS[each]}
          </button>
        ))}
      </div>
      <Failure error={error} onRetry={reload} />
      {value ? (
        <div aria-busy={isLoading}>
          <JsonBlock value={value} label="JSON" />
        </div>
      ) : (
        error === null && <p className="muted">Loading …</p>
      )}
    </div>
  )
}
