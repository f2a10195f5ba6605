// The credential that started a run. The run is stored with its rights and limits, and reads data from outside its
// conversation only as the credential permits, at every call of a provider. Its own conversation it reads as the agent.

import { z } from 'zod'
import { DomainError, NotAllowed, NotFound } from '../../../errors.ts'
import { ParticipantKind } from '../../../store/generated/enums.ts'
import type { RunRow } from '../../../store/sql/agent/run/run-columns.ts'
import { currentPrincipal } from '../../trust/api-key/current-principal.ts'
import { authorize, requireWriter } from '../../kernel/rights/authorize.ts'
import { isWideRecall, type Sources } from '../../memory/context/sources.ts'
import type { Platform } from '../../kernel/platform.ts'
import { RIGHTS, type Principal } from '../../kernel/rights/principal.ts'
import type { Viewer } from '../../kernel/view.ts'
import { RunFailure } from './answer/failure.ts'

const storedPrincipal = z.object({
  credential: z.string(),
  actor: z.string(),
  kind: z.enum(ParticipantKind),
  rights: z.array(z.enum(RIGHTS)),
  conversations: z.array(z.string()).nullable(),
  expiresAt: z.coerce.date().nullable(),
})
export type StoredCredential = z.input<typeof storedPrincipal>

/** Returns the credential to store with a run; null for a viewer without a principal. */
export const storedCredential = ({ principal }: Viewer): StoredCredential | null =>
  principal === undefined
    ? null
    : {
        credential: principal.credential,
        actor: principal.actor,
        kind: principal.kind,
        rights: [...principal.rights],
        conversations: principal.conversations && [...principal.conversations],
        expiresAt: principal.expiresAt,
      }

type RunOfCredential = Pick<RunRow, 'tenant' | 'conversationId' | 'actor' | 'viewer' | 'credential'>

/** Returns the principal with access to nothing but the conversation. */
const confined = (principal: Principal, conversationId: string): Principal => ({
  ...principal,
  rights: new Set(['read', 'write']),
  conversations: new Set([conversationId]),
  expiresAt: null,
})

/**
 * Returns the viewer as which the run reads data from outside its conversation: the agent if the credential is the
 * agent's or may act as it, or if no credential started the run; otherwise the actor who started the run. The viewer's
 * principal is confined to the conversation once the credential has expired, or the actor who started the run has left a
 * MEMBERS conversation.
 * @throws RunFailure NOT_ALLOWED if the API key was revoked, or no longer permits the run
 */
export async function readerOf({ clock, db }: Pick<Platform, 'clock' | 'db'>, run: RunOfCredential): Promise<Viewer> {
  const { tenant, conversationId } = run
  const agent = { tenant, actor: run.actor }
  if (run.credential === null) return agent
  const { rights, conversations, ...stored } = storedPrincipal.parse(run.credential)
  const given = { ...stored, tenant, rights: new Set(rights), conversations: conversations && new Set(conversations) }
  const principal = await currentPrincipal(db.of(tenant), given, clock.Date.now())
  if (principal === 'EXPIRED') return { ...agent, principal: confined(given, conversationId) }
  if (typeof principal === 'string') {
    throw new RunFailure('NOT_ALLOWED', 'The API key that started the run was revoked. Start a new run.')
  }
  requireRunnable(principal, conversationId)
  if (principal.actor === run.actor || principal.rights.has('act-as')) return { ...agent, principal }
  const reader = { tenant, actor: run.viewer, principal }
  const isWriter = await requireWriter(db.of(tenant), reader, conversationId).then(() => true, isRefusal)
  return isWriter ? reader : { ...agent, principal: confined(principal, conversationId) }
}

/** Returns false for a refusal. @throws any other error */
function isRefusal(error: unknown): false {
  if (error instanceof NotFound || error instanceof NotAllowed) return false
  throw error
}

/** @throws RunFailure NOT_ALLOWED if the principal could not start the run */
function requireRunnable(principal: Principal, conversationId: string): void {
  const { tenant, actor } = principal
  try {
    authorize({ tenant, actor, principal }, 'runTurn', { conversationId })
  } catch (error) {
    throw error instanceof DomainError ? notAllowed(error) : error
  }
}

/** Returns the failure of a run whose credential no longer permits it. */
export const notAllowed = ({ message }: DomainError): RunFailure =>
  new RunFailure('NOT_ALLOWED', `The credential that started the run no longer permits it: ${message}`)

/** Returns the options without the sources that a reader limited to some conversations may not read. */
export function sourcesFor<Given extends Sources>({ principal }: Viewer, context: Given): Given {
  if (principal === undefined || principal.conversations === null) return context
  const { semanticRecall } = context
  return {
    ...context,
    includeProfile: false,
    ...(semanticRecall && isWideRecall(context)
      ? { semanticRecall: { ...semanticRecall, scope: 'CONVERSATION' as const } }
      : null),
  }
}
