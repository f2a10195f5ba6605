// The dialog that changes the title of the open conversation.

import { FormDialog, textOf } from '../kit/form-dialog.tsx'
import { useOpenConversation } from './open-conversation.tsx'

export function Rename({ onClose }: { onClose(): void }) {
  const { conversation, transcript } = useOpenConversation()
  async function rename(data: FormData): Promise<void> {
    // The version prevents that a title which somebody else has just given is overwritten.
    const expectedVersion = transcript.conversation?.version
    await conversation.update({ title: textOf(data, 'title') || null, expectedVersion })
  }
  return (
    <FormDialog title="Rename the conversation" verb="Save" act={rename} onClose={onClose}>
      <label className="field">
        Title
        <input
          name="title"
          maxLength={1_000}
          defaultValue={transcript.conversation?.title ?? ''}
          placeholder="Made from the first messages if it is empty"
        />
      </label>
    </FormDialog>
  )
}
