// The commands of a chat that only read or write the conversation: their results as lines.

import type { Client, Turn } from '../../client/index.ts'
import { columns, type Result } from '../output.ts'
import { listConversations, listFacts, readContext, readHistory, resultOfRecall } from '../read.ts'
import { COMMANDS } from './input.ts'
import type { Session } from './session.ts'

/** Parses a whole number from 1 to `max`; null for any other text. */
function numberOf(text: string, max: number): number | null {
  const value = Number(text)
  return /^\d+$/.test(text) && value >= 1 && value <= max ? value : null
}

/** The command cannot be carried out. The message says why. */
class Refused extends Error {}

function limited(text: string, fallback: number, max: number): number {
  const value = text === '' ? fallback : numberOf(text, max)
  if (value === null) throw new Refused(`It must be a whole number from 1 to ${max}.`)
  return value
}

const help = (): string[] =>
  columns(
    Object.entries(COMMANDS).map(([name, { usage, description }]) => [`/${name} ${usage}`.trimEnd(), description]),
  )

async function listParticipants({ conversation }: Session): Promise<string[]> {
  const { nodes } = await conversation.participants({ first: 200 })
  return columns(
    nodes
      .filter(({ leftAt }) => leftAt === null)
      .map(({ actor, displayName, kind, presence, respond }) => [
        actor,
        displayName ?? '',
        kind.toLowerCase(),
        presence.toLowerCase(),
        respond === 'NEVER' ? '' : `answers ${respond.toLowerCase()}`,
      ]),
  )
}

/** Returns the turn with that seq, among the newest 200. @throws Refused @throws ColloquyError */
export async function findTurn({ conversation }: Session, argument: string): Promise<Turn> {
  const seq = numberOf(argument.replace(/^#/, ''), 2_147_483_647)
  if (seq === null) throw new Refused('Usage: /forget #SEQ, for example /forget #12')
  const { nodes } = await conversation.turns({ last: 200 })
  const turn = nodes.find((each) => each.seq === seq)
  if (!turn) throw new Refused(`None of the newest 200 turns is #${seq}.`)
  return turn
}

const linesOf = async (result: Promise<Result>): Promise<readonly string[]> => (await result).lines

/** Carries out a command that prints. @throws Refused @throws ColloquyError */
export async function read(
  client: Client,
  session: Session,
  name: 'sessions' | 'history' | 'context' | 'recall' | 'facts' | 'who' | 'help',
  argument: string,
): Promise<readonly string[]> {
  const { conversation, key } = session
  switch (name) {
    case 'sessions':
      return linesOf(listConversations(client, { limit: 20 }))
    case 'history':
      return linesOf(readHistory(conversation, { last: limited(argument, 20, 200) }))
    case 'context': {
      const tokenBudget = argument === '' ? undefined : limited(argument, 0, 2_000_000)
      return linesOf(readContext(conversation, { tokenBudget, includeFacts: true, includeProfile: false }))
    }
    case 'recall':
      return linesOf(conversation.recall(argument).then(resultOfRecall))
    case 'facts':
      return linesOf(listFacts(client, { conversation: key, limit: 50 }))
    case 'who':
      return listParticipants(session)
    default:
      return help()
  }
}
