// The dialog that changes the title of the open conversation. Fails with CONFLICT if the title has changed meanwhile.

import { useState } from 'react'
import { FormDialog, textOf } from '../kit/form-dialog.tsx'
import { useOpenConversation } from './open-conversation.tsx'

export function Rename({ onClose }: { onClose(): void }) {
  const { conversation, transcript } = useOpenConversation()
  // Of the title that the person sees in the field.
  const [shown] = useState(transcript.conversation)
  const rename = (data: FormData) =>
    conversation.update({ title: textOf(data, 'title') || null, expectedVersion: shown?.version })
  return (
    <FormDialog title="Rename the conversation" verb="Save" act={rename} onClose={onClose}>
      <label className="field">
        Title
        <input
          name="title"
          maxLength={1_000}
          defaultValue={shown?.title ?? ''}
          placeholder="Generated from the first messages if empty"
        />
      </label>
    </FormDialog>
  )
}
