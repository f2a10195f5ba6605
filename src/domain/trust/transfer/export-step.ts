// The type of a step of an export: one read of the database, and the stage that follows it.

import type { Platform } from '../../kernel/platform.ts'
import type { ConversationsOf } from '../../../store/sql/trust/transfer/read-conversation.ts'
import type { Stage } from './position.ts'

export type ExportedLine = { type: string } & Record<string, unknown>

/** The lines of a step, in order, and the next stage. */
export type StepResult = { objects: ExportedLine[]; next: Stage }

export type StepDeps = Platform

/** Reads the next lines of an export at that stage. */
export type Step = (deps: StepDeps, scope: ConversationsOf, stage: Stage) => Promise<StepResult>

/** Maximum number of rows that one step reads. */
export const STEP_ROWS = 500
/** Number of bytes of content after which a step reads no more turns. */
export const STEP_BYTES = 512 * 1024

/** Adds the type to the objects of a read. */
export const linesOf = (type: string, objects: readonly Record<string, unknown>[]): ExportedLine[] =>
  objects.map((each) => ({ type, ...each }))
