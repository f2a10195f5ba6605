// The dialogs that change facts: record one, retract one, and make a superseded one active again.

import { useState } from 'react'
import { FormDialog, textOf } from '../kit/form-dialog.tsx'
import { countOf } from '../kit/text.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { statementOf } from './history.ts'
import { undoReconciliation, type FactDetails, type Statement } from './queries.ts'

/** `onDone` receives the outcome, in words. */
type Ending = { onDone(outcome: string): void; onClose(): void }

/** Returns the start of a chosen day; null if none was chosen. */
const dayIn = (data: FormData, name: string): string | null => {
  const day = textOf(data, name)
  return day === '' ? null : new Date(`${day}T00:00`).toISOString()
}

const ReasonField = () => (
  <label className="field">
    Reason
    <input name="reason" dir="auto" maxLength={1_000} placeholder="Kept with the fact" />
  </label>
)

export function RetractDialog({ fact, onDone, onClose }: Ending & { fact: FactDetails }) {
  const { client } = useSession()
  return (
    <FormDialog
      onClose={onClose}
      title="Retract this fact?"
      verb="Retract"
      act={async (data) => {
        const reason = textOf(data, 'reason')
        await client.retractFact(fact.id, reason === '' ? {} : { reason })
        onDone(`Retracted: ${statementOf(fact)}.`)
      }}
    >
      <p className="statement" dir="auto">
        {statementOf(fact)}
      </p>
      <p className="muted">Contexts, recall and profiles use it no longer. It stays in the history, with the reason.</p>
      <ReasonField />
    </FormDialog>
  )
}

export function RestoreDialog({ fact, onDone, onClose }: Ending & { fact: FactDetails }) {
  const { client } = useSession()
  const isMerged = fact.supersedeReason === 'DUPLICATED'
  return (
    <FormDialog
      onClose={onClose}
      title="Make this fact active again?"
      verb="Make active"
      act={async (data) => {
        const { otherFacts } = await undoReconciliation(client, fact.id, textOf(data, 'reason') || null)
        const others = otherFacts.length > 0 ? `, with ${countOf(otherFacts.length, 'other fact')} of the merge` : ''
        onDone(`Active again: ${statementOf(fact)}${others}.`)
      }}
    >
      <p className="statement" dir="auto">
        {statementOf(fact)}
      </p>
      <p className="muted">
        {isMerged
          ? 'All facts of the merge become active again, and the merged one is superseded.'
          : 'The fact that contradicted it stays active, too. Retract that one if it is wrong.'}
      </p>
      <ReasonField />
    </FormDialog>
  )
}

/** `draft`: the statement with which the form begins; null for an empty form. */
export function RecordDialog({ draft, onDone, onClose }: Ending & { draft: Statement | null }) {
  const { conversation } = useOpenConversation()
  const [confidence, setConfidence] = useState(100)
  async function act(data: FormData): Promise<void> {
    const facts = await conversation.remember({
      subject: textOf(data, 'subject'),
      predicate: textOf(data, 'predicate'),
      object: textOf(data, 'object'),
      confidence: confidence / 100,
      validFrom: dayIn(data, 'validFrom'),
      validTo: dayIn(data, 'validTo'),
    })
    const [fact] = facts
    onDone(
      fact
        ? `Recorded: ${statementOf(fact)}.`
        : 'The fact was already stored. Your recording was added to its sources.',
    )
  }
  return (
    <FormDialog title="Record a fact" verb="Record" act={act} onClose={onClose}>
      <label className="field">
        Subject
        <input name="subject" dir="auto" required maxLength={200} defaultValue={draft?.subject} placeholder="Ada" />
      </label>
      <label className="field">
        Predicate
        <input
          name="predicate"
          dir="auto"
          required
          maxLength={200}
          defaultValue={draft?.predicate}
          placeholder="lives in"
        />
      </label>
      <label className="field">
        Object
        <input name="object" dir="auto" required maxLength={2_000} defaultValue={draft?.object} placeholder="Rome" />
      </label>
      <label className="field">
        Confidence: {confidence} %
        <input
          type="range"
          min={0}
          max={100}
          step={5}
          value={confidence}
          aria-valuetext={`${confidence} percent`}
          onChange={({ target }) => setConfidence(Number(target.value))}
        />
      </label>
      <div className="two">
        <label className="field">
          True from
          <input type="date" name="validFrom" />
        </label>
        <label className="field">
          True until
          <input type="date" name="validTo" />
        </label>
      </div>
    </FormDialog>
  )
}
