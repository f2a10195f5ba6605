// The participants that a turn names: its author, and those that its text mentions.

import { MAX_MENTIONS } from '../../domain/turn/content.ts'
import { builder } from '../kernel/builder.ts'
import { loadParticipant } from '../kernel/loaders.ts'

builder.objectField('Turn', 'author', (t) =>
  t.field({
    type: 'Participant',
    nullable: true,
    description:
      'The author as a present or former participant of the conversation. Every author is one, so this is null only '
      + 'if the conversation was deleted after the turn was read.',
    sharing: 'SHAREABLE',
    resolve: (turn, _, context) => loadParticipant(context, turn),
  }),
)

builder.objectField('Turn', 'mentions', (t) =>
  t.field({
    type: ['Participant'],
    description:
      'Participants that the text mentions by `@name` or `@"name with blanks"`, in the order of their first mentions. A '
      + 'name is an actor or a display name, in this order, exactly or else ignoring case; an ambiguous name mentions '
      + 'no participant, and neither do addresses, URLs and code (Markdown). The server looks for the participants '
      + `present when the version is written, for at most ${MAX_MENTIONS} names. Empty while the turn is open.`,
    sharing: 'SHAREABLE',
    async resolve({ conversationId, mentions }, _, context) {
      const actors = mentions ?? []
      const found = await Promise.all(actors.map((actor) => loadParticipant(context, { conversationId, actor })))
      return found.filter((participant) => participant !== null)
    },
  }),
)
