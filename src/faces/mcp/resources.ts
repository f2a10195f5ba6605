// The resources of the MCP server: a conversation, its summary, and the profile of a user, as text.

import type { Resource, ResourceTemplate } from '@modelcontextprotocol/sdk/types.js'
import type {
  Conversation,
  ConversationEventType,
  ListedConversation,
  PageInfo,
  Summary,
  Turn,
  UserProfile,
} from '../../client/generated.ts'
import { linesOfTurn } from '../../text/turn-lines.ts'
import { conversationOf, type Caller } from './caller.ts'
import { RpcError } from './rpc-error.ts'

const SCHEME = 'colloquy://'
const TEXT = 'text/plain'
/** Number of the newest turns in the resource of a conversation. */
const TURNS = 50
/** Maximum number of summaries in the resource of a conversation's summary. */
const SUMMARIES = 100
/** Number of conversations on one page of the list. */
const PAGE = 50

/** What a URI names. `name` is the key or id of the conversation. */
type Named = { kind: 'conversation' | 'summary'; name: string } | { kind: 'profile'; userId: string }

const uriOf = (name: string) => `${SCHEME}conversation/${encodeURIComponent(name)}`

export const TEMPLATES: readonly ResourceTemplate[] = [
  {
    uriTemplate: `${SCHEME}conversation/{name}`,
    name: 'conversation',
    title: 'Conversation',
    description: `A conversation by its key or id: its title, and its newest ${TURNS} turns.`,
    mimeType: TEXT,
  },
  {
    uriTemplate: `${SCHEME}conversation/{name}/summary`,
    name: 'summary',
    title: 'Summary of a conversation',
    description: 'The summaries of the older turns of a conversation, by its key or id.',
    mimeType: TEXT,
  },
  {
    uriTemplate: `${SCHEME}profile/{userId}`,
    name: 'profile',
    title: 'Profile of a user',
    description: 'What is known about a user.',
    mimeType: TEXT,
  },
]

export const notFound = (uri: string): RpcError =>
  new RpcError('resourceNotFound', `There is no resource ${JSON.stringify(uri)} that you can see.`, { uri })

/** @throws RpcError for a URI that names no resource */
function namedBy(uri: string): Named {
  const [, kind, encoded, summary] = /^colloquy:\/\/(conversation|profile)\/([^/?#]+)(\/summary)?$/.exec(uri) ?? []
  try {
    const name = decodeURIComponent(encoded!)
    if (kind === 'conversation') return { kind: summary ? 'summary' : 'conversation', name }
    if (kind === 'profile' && !summary) return { kind, userId: name }
  } catch {
    // The URI is not percent-encoded UTF-8.
  }
  throw notFound(uri)
}

/** Returns the resources of a conversation. */
function resourcesOf({ key, id, title, updatedAt }: ListedConversation): Resource[] {
  const uri = uriOf(key ?? id)
  const name = title ?? key ?? id
  const annotations = { lastModified: updatedAt }
  return [
    { uri, name, mimeType: TEXT, annotations },
    { uri: `${uri}/summary`, name: `Summary of ${name}`, mimeType: TEXT, annotations },
  ]
}

/** Lists the conversations that the caller sees, the most recently active first. @throws VerbFailed */
export async function listResources(
  caller: Caller,
  cursor: string | undefined,
): Promise<{ resources: Resource[]; nextCursor?: string }> {
  const input = { orderBy: 'UPDATED_AT', first: PAGE, ...(cursor !== undefined && { after: cursor }) }
  const { nodes, pageInfo } = (await caller.call('conversations', input)) as {
    nodes: ListedConversation[]
    pageInfo: PageInfo
  }
  return { resources: nodes.flatMap(resourcesOf), ...(pageInfo.hasNextPage && { nextCursor: pageInfo.endCursor! }) }
}

async function textOfConversation(caller: Caller, name: string): Promise<string> {
  const conversation = conversationOf(name)
  const { key, id, title, owner }: Conversation = await caller.call('conversation', conversation)
  const page: { nodes: Turn[]; pageInfo: PageInfo } = await caller.call('turns', { ...conversation, last: TURNS })
  return [
    `${title ?? key ?? id} (conversation ${key ?? id} of ${owner})`,
    '',
    ...(page.pageInfo.hasPreviousPage ? ['(older turns are left out; the tool read_history returns them)'] : []),
    ...page.nodes.flatMap(linesOfTurn),
  ].join('\n')
}

async function textOfSummaries(caller: Caller, name: string): Promise<string> {
  const page: { nodes: Summary[] } = await caller.call('summaries', { ...conversationOf(name), last: SUMMARIES })
  return page.nodes.map(({ content }) => content).join('\n\n') || 'There is no summary.'
}

async function textOf(caller: Caller, named: Named): Promise<string> {
  if (named.kind === 'profile') {
    return ((await caller.call('userProfile', { userId: named.userId })) as UserProfile).content
  }
  return named.kind === 'summary' ? textOfSummaries(caller, named.name) : textOfConversation(caller, named.name)
}

/** Reads a resource. @throws RpcError @throws VerbFailed */
export async function readResource(caller: Caller, uri: string) {
  return { contents: [{ uri, mimeType: TEXT, text: await textOf(caller, namedBy(uri)) }] }
}

/** Types of the events that change a resource. */
const CHANGES: Readonly<Record<'conversation' | 'summary', readonly ConversationEventType[]>> = {
  conversation: [
    'TURN_APPENDED',
    'TURN_COMMITTED',
    'TURN_ABORTED',
    'TURN_SUPERSEDED',
    'TURN_ERASED',
    'CONVERSATION_UPDATED',
  ],
  summary: ['SUMMARY_WRITTEN', 'TURN_SUPERSEDED', 'TURN_ERASED'],
}

/**
 * Returns how to follow the changes of a resource.
 * @throws RpcError for a resource without a journal
 */
export function changesOf(uri: string) {
  const named = namedBy(uri)
  if (named.kind === 'profile') {
    throw new RpcError('invalidParams', 'Only conversations and their summaries can be subscribed to.')
  }
  return { ...conversationOf(named.name), types: CHANGES[named.kind] }
}
