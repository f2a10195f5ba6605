// The schema builder: plugins, defaults and the root types. Each other file that defines types covers one domain
// concept. Such a file refers to the object types of other files by name, as a string, so that no two files import each
// other.

import SchemaBuilder from '@pothos/core'
import ErrorsPlugin from '@pothos/plugin-errors'
import type { ApiKey } from '../../domain/trust/api-key/api-key.ts'
import type { AuditLine } from '../../domain/trust/audit-page.ts'
import type { Claim } from '../../domain/agent/claim/claim.ts'
import type { WakeUp } from '../../domain/agent/claim/wake-up-page.ts'
import type { SharedState } from '../../domain/conversation/shared-state/shared-state.ts'
import type { Conversation } from '../../domain/conversation/conversation.ts'
import type { ErasureReceipt } from '../../domain/trust/erasure/receipt.ts'
import type { InboxEvent } from '../../domain/turn/journal/inboxes.ts'
import type { Fact } from '../../domain/memory/fact/fact.ts'
import type { FactSource } from '../../domain/memory/fact/source.ts'
import type { EmbeddingProgress } from '../../domain/memory/indexing/progress.ts'
import type { Job } from '../../domain/background/job/job.ts'
import type { Participant } from '../../domain/conversation/participant/participant.ts'
import type { NamedProvider, Run } from '../../domain/agent/definition/visible.ts'
import type { UserProfile } from '../../domain/memory/profile/profile.ts'
import type { Approval } from '../../domain/agent/run/approval/approval.ts'
import type { Summary } from '../../domain/memory/summary/summary.ts'
import type { Turn } from '../../domain/turn/turn.ts'
import type { Viewer } from '../../domain/kernel/view.ts'
import type { DomainError } from '../../errors.ts'
import { refused } from '../../runtime/counters.ts'
import { FIELD_OPTIONS } from './field-options.ts'
import type { RequestContext } from './request.ts'

export const builder = new SchemaBuilder<{
  InferredFieldOptionsKind: 'Marked'
  Context: RequestContext
  DefaultFieldNullability: false
  Objects: {
    ApiKey: ApiKey
    Approval: Approval
    AuditLine: AuditLine
    Claim: Claim
    Conversation: Conversation
    EmbeddingProgress: EmbeddingProgress
    ErasureReceipt: ErasureReceipt
    Fact: Fact
    FactSource: FactSource
    InboxEvent: InboxEvent
    Job: Job
    Participant: Participant
    Provider: NamedProvider
    Run: Run
    SharedState: SharedState
    Summary: Summary
    Turn: Turn
    UserProfile: UserProfile
    Viewer: Viewer
    WakeUp: WakeUp
  }
  Scalars: {
    // Output only.
    BigInt: { Input: never; Output: number }
    DateTime: { Input: Date; Output: Date }
    ID: { Input: string; Output: string }
    // An input may be any JSON value. For a field that requires an object, the domain rejects other values.
    JSON: { Input: Record<string, unknown>; Output: unknown }
  }
}>({
  plugins: [ErrorsPlugin, FIELD_OPTIONS],
  // Every null has a documented meaning, so each nullable field is declared explicitly.
  defaultFieldNullability: false,
  errors: { directResult: true, onResolvedError: (error) => refused((error as DomainError).code) },
})

type SchemaTypes = (typeof builder)['$inferSchemaTypes']
/** The builder of fields that several input types share. */
export type InputFieldBuilder = PothosSchemaTypes.InputFieldBuilder<SchemaTypes, 'InputObject'>
/** The builder of fields that several object types share. */
export type ObjectFieldBuilder<Shape> = PothosSchemaTypes.ObjectFieldBuilder<SchemaTypes, Shape>

builder.queryType({
  description: 'Read operations. Each returns only data in the view of the viewer, or of the actor in `as`.',
})
builder.mutationType({
  description: 'Write operations. Each returns its payload, or an error that implements UserError.',
})
builder.subscriptionType({ description: 'Streams of events, over WebSocket or Server-Sent Events.' })
