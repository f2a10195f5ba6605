// Items and messages of contexts for the tests.

import type { ContextItem, ContextItemKind, ContextMessage } from '../../../../src/client/index.ts'

export const item = (kind: ContextItemKind, tokenCount: number, ...sourceIds: string[]): ContextItem => ({
  kind,
  included: true,
  reason: 'for the test',
  tokenCount,
  sourceIds,
})

export const omitted = (kind: ContextItemKind, tokenCount: number, ...sourceIds: string[]): ContextItem => ({
  ...item(kind, tokenCount, ...sourceIds),
  included: false,
})

export const messageOf = ({ tokenCount, sourceIds }: ContextItem): ContextMessage => ({
  role: 'USER',
  name: null,
  content: '',
  parts: [],
  tokenCount,
  sourceIds,
})
