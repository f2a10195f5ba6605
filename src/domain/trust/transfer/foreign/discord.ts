// Discord: an element is a channel with its messages, as DiscordChatExporter writes it as JSON; or a channel of the data
// package that Discord sends to a user, which contains only the messages of that user.

import {
  isObject,
  listOf,
  objectOf,
  textOf,
  timeOf,
  type Converter,
  type ConverterOptions,
  type ForeignConversation,
  type ForeignParticipant,
  type ForeignTurn,
  type Json,
} from './foreign.ts'

/** Types of messages that a person or a bot wrote. */
const WRITTEN = new Set(['', 'Default', 'Reply', 'ThreadStarterMessage', '20', 'ChatInputCommand'])

function exportedTurn(message: Json, { unfit }: ConverterOptions): ForeignTurn | null {
  const { id, type, timestamp, content, author, attachments, embeds, reactions, stickers, reference } = message
  if (!WRITTEN.has(textOf(type))) {
    unfit(`messages of the type ${textOf(type)}`)
    return null
  }
  for (const [list, label] of [
    [attachments, 'attachments'],
    [embeds, 'embeds'],
    [reactions, 'reactions'],
    [stickers, 'stickers'],
  ] as const) {
    unfit(label, listOf(list).length)
  }
  return {
    id: textOf(id),
    actor: textOf(author?.name) || textOf(author?.id),
    role: author?.isBot ? 'ASSISTANT' : 'USER',
    content: textOf(content),
    createdAt: timeOf(timestamp),
    ...(textOf(reference?.messageId) !== '' && { replyTo: textOf(reference.messageId) }),
  }
}

function exportedChannel(file: Json, options: ConverterOptions): ForeignConversation {
  const messages = listOf(file.messages).filter(isObject)
  const authors = new Map<string, ForeignParticipant>()
  for (const { author } of messages) {
    const actor = textOf(author?.name) || textOf(author?.id)
    const kind = author?.isBot ? ('AGENT' as const) : ('HUMAN' as const)
    if (actor !== '') authors.set(actor, { actor, kind, displayName: textOf(author?.nickname) || undefined })
  }
  const { channel, guild } = file
  const title = [textOf(guild?.name), textOf(channel?.name)].filter((each) => each !== '').join(' #')
  const turns = messages.flatMap((message) => exportedTurn(message, options) ?? [])
  return { id: textOf(channel?.id), title, createdAt: null, participants: [...authors.values()], turns }
}

/** Returns a channel of the data package, whose messages are listed newest first. */
function packagedChannel({ channel, messages }: Json, { owner, unfit }: ConverterOptions): ForeignConversation {
  const turns = listOf(messages)
    .filter(isObject)
    .map(({ ID: id, Timestamp: at, Contents: content, Attachments: attachments }): ForeignTurn => {
      if (textOf(attachments) !== '') unfit('attachments')
      // The data package has times such as `2024-01-31 12:00:00`, in UTC.
      const time = textOf(at).replace(/^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)(?:\+00:00)?$/, '$1T$2Z')
      return { id: String(id), actor: owner, role: 'USER', content: textOf(content), createdAt: timeOf(time) }
    })
    .toSorted((a, b) => (a.createdAt?.getTime() ?? 0) - (b.createdAt?.getTime() ?? 0))
  const title = [textOf(channel.guild?.name), textOf(channel.name)].filter((each) => each !== '').join(' #')
  return { id: textOf(channel.id), title, createdAt: null, participants: [], turns }
}

export const createDiscord = (options: ConverterOptions): Converter => ({
  convert(element) {
    const file = objectOf(element, 'Discord', 'messages')
    objectOf(file, 'Discord', 'channel')
    const isPackaged = listOf(file.messages).some((message) => isObject(message) && 'Contents' in message)
    return { conversations: [isPackaged ? packagedChannel(file, options) : exportedChannel(file, options)] }
  },
})
