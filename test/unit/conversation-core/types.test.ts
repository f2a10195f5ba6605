// The types of `colloquy/conversation-core` equal those of document 003: each is assignable to the other. The compiler
// checks this file with all others (`npm run check`).

import { expect, expectTypeOf, it } from 'vitest'
import * as core from '../../../src/conversation-core/index.ts'
import type * as document from './document.ts'

type Core = typeof import('../../../src/conversation-core/index.ts')

/** The stable surface of the document (§9), by name: [ours, the document's]. Classes are compared below. */
type Surface = {
  ConversationId: [core.ConversationId, document.ConversationId]
  TurnId: [core.TurnId, document.TurnId]
  MessageId: [core.MessageId, document.MessageId]
  ProviderCallId: [core.ProviderCallId, document.ProviderCallId]
  MessageRole: [core.MessageRole, document.MessageRole]
  TextContentPart: [core.TextContentPart, document.TextContentPart]
  ToolCallContentPart: [core.ToolCallContentPart, document.ToolCallContentPart]
  ToolResultContentPart: [core.ToolResultContentPart, document.ToolResultContentPart]
  MetadataContentPart: [core.MetadataContentPart, document.MetadataContentPart]
  MessageContentPart: [core.MessageContentPart, document.MessageContentPart]
  ConversationMessage: [core.ConversationMessage, document.ConversationMessage]
  Conversation: [core.Conversation, document.Conversation]
  TokenUsage: [core.TokenUsage, document.TokenUsage]
  ProviderRole: [core.ProviderRole, document.ProviderRole]
  ProviderTextPart: [core.ProviderTextPart, document.ProviderTextPart]
  ProviderContentPart: [core.ProviderContentPart, document.ProviderContentPart]
  ProviderMessage: [core.ProviderMessage, document.ProviderMessage]
  ProviderToolDefinition: [core.ProviderToolDefinition, document.ProviderToolDefinition]
  ProviderToolCall: [core.ProviderToolCall, document.ProviderToolCall]
  ProviderCallMetadata: [core.ProviderCallMetadata, document.ProviderCallMetadata]
  ProviderCallParams: [core.ProviderCallParams, document.ProviderCallParams]
  ProviderCallResult: [core.ProviderCallResult, document.ProviderCallResult]
  ProviderStreamEvent: [core.ProviderStreamEvent, document.ProviderStreamEvent]
  ProviderStream: [core.ProviderStream, document.ProviderStream]
  ProviderAdapter: [core.ProviderAdapter, document.ProviderAdapter]
  ProviderCallRecord: [core.ProviderCallRecord, document.ProviderCallRecord]
  ConversationTurn: [core.ConversationTurn, document.ConversationTurn]
  ListConversationsOptions: [core.ListConversationsOptions, document.ListConversationsOptions]
  ListMessagesOptions: [core.ListMessagesOptions, document.ListMessagesOptions]
  ConversationStore: [core.ConversationStore, document.ConversationStore]
  HistoryBudget: [core.HistoryBudget, document.HistoryBudget]
  HistoryBuildRequest: [core.HistoryBuildRequest, document.HistoryBuildRequest]
  HistoryBuildResult: [core.HistoryBuildResult, document.HistoryBuildResult]
  HistoryBuilder: [core.HistoryBuilder, document.HistoryBuilder]
  RecentNTurnsHistoryBuilderOptions: [
    core.RecentNTurnsHistoryBuilderOptions,
    document.RecentNTurnsHistoryBuilderOptions,
  ]
  TurnInput: [core.TurnInput, document.TurnInput]
  TurnOutput: [core.TurnOutput, document.TurnOutput]
  StreamingTurnEvent: [core.StreamingTurnEvent, document.StreamingTurnEvent]
  StreamingTurn: [core.StreamingTurn, document.StreamingTurn]
  ConversationEngine: [core.ConversationEngine, document.ConversationEngine]
  DefaultConversationEngineOptions: [core.DefaultConversationEngineOptions, document.DefaultConversationEngineOptions]
}

/** The keys that the value must have. */
type Required<T> = T extends object ? { [Key in keyof T]-?: object extends Pick<T, Key> ? never : Key }[keyof T] : never

/** The names whose two types are not assignable to each other, or do not require the same keys. */
type Different = {
  [Name in keyof Surface]: [Surface[Name][0]] extends [Surface[Name][1]]
    ? [Surface[Name][1]] extends [Surface[Name][0]]
      ? [Required<Surface[Name][0]>, Required<Surface[Name][1]>] extends [
          Required<Surface[Name][1]>,
          Required<Surface[Name][0]>,
        ]
        ? never
        : Name
      : Name
    : Name
}[keyof Surface]

it('colloquy/conversation-core has the types of the stable surface', () => {
  expectTypeOf<Different>().toBeNever()
  expectTypeOf<core.ConversationMessage['content']>().toEqualTypeOf<core.MessageContentPart[]>()
})

it('colloquy/conversation-core has the classes of the stable surface, with their constructors', () => {
  type Constructor<T> = T extends abstract new (...parameters: infer Parameters) => unknown ? Parameters : never
  expectTypeOf<Constructor<Core['RecentNTurnsHistoryBuilder']>>().toExtend<[core.RecentNTurnsHistoryBuilderOptions]>()
  expectTypeOf<document.DefaultConversationEngineOptions>().toExtend<
    Constructor<Core['DefaultConversationEngine']>[0]
  >()
  expectTypeOf<core.DefaultConversationEngine>().toExtend<document.DefaultConversationEngine>()
  expectTypeOf<core.RecentNTurnsHistoryBuilder>().toExtend<document.RecentNTurnsHistoryBuilder>()
  expectTypeOf<core.InMemoryConversationStore>().toExtend<document.ConversationStore>()
  expectTypeOf<core.ColloquyConversationStore>().toExtend<document.ConversationStore>()
  expect(Object.keys(core)).toEqual(
    expect.arrayContaining(['DefaultConversationEngine', 'InMemoryConversationStore', 'RecentNTurnsHistoryBuilder']),
  )
})
