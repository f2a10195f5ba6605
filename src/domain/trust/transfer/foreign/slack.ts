// Slack's workspace export: an element is a channel with its messages of all days in order, and the users of the
// workspace (src/command/transfer/foreign-files.ts reads the folder). Replies in a thread reply to its first message.

import {
  isObject,
  listOf,
  objectOf,
  textOf,
  timeOf,
  type Converter,
  type ConverterOptions,
  type ForeignParticipant,
  type ForeignTurn,
  type Json,
} from './foreign.ts'

type Users = ReadonlyMap<string, ForeignParticipant>

/** Returns the users by their ids. A name that several users have is followed by the id. */
function usersOf(list: unknown): Users {
  const users = listOf(list).filter(isObject)
  const taken = new Set<string>()
  return new Map(
    users.map((user) => {
      const id = textOf(user.id)
      const name = textOf(user.name) || id
      const actor = taken.has(name) ? `${name} ${id}` : name
      taken.add(actor)
      const displayName =
        textOf(user.profile?.display_name) || textOf(user.profile?.real_name) || textOf(user.real_name)
      return [id, { actor, kind: user.is_bot ? ('AGENT' as const) : ('HUMAN' as const), displayName }]
    }),
  )
}

/** Returns the text with the names of users and channels, and with links, as people read them. */
const readable = (text: string, users: Users): string =>
  text
    .replaceAll(/<@(\w+)(?:\|[^>]*)?>/g, (_, id: string) => `@${users.get(id)?.actor ?? id}`)
    .replaceAll(/<#\w+\|([^>]*)>/g, '#$1')
    .replaceAll(/<!(\w+)(?:\|[^>]*)?>/g, '@$1')
    .replaceAll(/<((?:https?|mailto):[^|>]+)\|([^>]*)>/g, '$2 ($1)')
    .replaceAll(/<((?:https?|mailto):[^>]+)>/g, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')

/** Subtypes of messages that a person or a bot wrote. */
const WRITTEN = new Set(['', 'bot_message', 'me_message', 'thread_broadcast', 'file_share'])

function turnOf(message: Json, users: Users, { unfit }: ConverterOptions): ForeignTurn | null {
  const { ts, user, subtype, text, thread_ts: thread, username, bot_id: bot, files, reactions, attachments } = message
  if (!WRITTEN.has(textOf(subtype))) {
    unfit(`messages of the subtype ${textOf(subtype)}`)
    return null
  }
  if (listOf(files).length > 0) unfit('files', listOf(files).length)
  if (listOf(reactions).length > 0) unfit('reactions', listOf(reactions).length)
  if (listOf(attachments).length > 0) unfit('attachments', listOf(attachments).length)
  const isBot = textOf(user) === '' || users.get(user)?.kind === 'AGENT'
  const actor = users.get(user)?.actor ?? (textOf(user) || textOf(username) || textOf(bot) || 'bot')
  return {
    id: textOf(ts),
    actor,
    role: isBot ? 'ASSISTANT' : 'USER',
    content: readable(textOf(text), users),
    createdAt: timeOf(ts),
    ...(textOf(thread) !== '' && thread !== ts && { replyTo: textOf(thread) }),
  }
}

export function createSlack(options: ConverterOptions): Converter {
  return {
    convert(element) {
      const { channel, messages, users: list } = objectOf(element, 'Slack', 'channel')
      const users = usersOf(list)
      const turns = listOf(messages)
        .filter(isObject)
        .flatMap((message) => turnOf(message, users, options) ?? [])
      const members = new Set([
        ...listOf(channel.members).map((id) => users.get(id as string)?.actor),
        ...turns.map(({ actor }) => actor),
      ])
      const participants = [...users.values()].filter(({ actor }) => members.has(actor))
      const name = textOf(channel.name)
      const createdAt = timeOf(channel.created)
      return {
        conversations: [{ id: textOf(channel.id) || name, title: name && `#${name}`, createdAt, participants, turns }],
      }
    },
  }
}
