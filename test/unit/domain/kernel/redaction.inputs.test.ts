// Under REDACT=turns, every text of every input is redacted, or listed here with the reason why it is not.

import { getNamedType, isInputObjectType, isLeafType, type GraphQLInputType } from 'graphql'
import { describe, expect, it } from 'vitest'
import { redactInput } from '../../../../src/domain/kernel/redaction.ts'
import { schema } from '../../../../src/graphql/schema.ts'

/** The fields of inputs with texts that are not redacted, by the reason. */
const KEPT: Record<string, readonly string[]> = {
  'Identifiers of Colloquy, and idempotency keys: a changed one would name nothing, or something else.': [
    'approvalId',
    'attachmentId',
    'callTurnId',
    'clientId',
    'contextId',
    'conversationId',
    'conversationIds',
    'factId',
    'id',
    'replyTo',
    'replyToId',
    'runId',
    'sourceTurnId',
    'supersedes',
    'through',
    'transferId',
    'turnId',
  ],
  'Names of actors and conversations, which the application uses to find them.': [
    'actor',
    'agentName',
    'as',
    'audience',
    'conversationKey',
    'key',
    'owner',
    'userId',
  ],
  'Cursors, which only the server reads, and names of files, which it only compares.': ['after', 'fileKey'],
  'Lines of a file, which the import redacts when it has parsed them (domain/trust/transfer/import/import-lines.ts), and its manifest.':
    ['lines', 'manifest'],
  'Secrets, of which only hashes are stored.': ['claimToken', 'writerToken'],
  'Hashes, which are only compared.': ['expectedCallHash'],
  'Names of tools and calls, models, providers and types, which programs compare.': [
    'adapter',
    'callId',
    'mediaType',
    'model',
    'name',
    'op',
    'provider',
    'summarizerModel',
  ],
  "Identifiers of the application's documents and traces. They are not searched, and a changed one finds nothing.": [
    'documentId',
    'traceId',
  ],
  'Addresses of files: a changed one does not work.': ['url'],
  "The provider's signature of reasoning. It is dropped if the reasoning is changed.": ['signature'],
  'Written by operators and developers: prompts, and definitions of tools.': [
    'description',
    'instructions',
    'schema',
    'systemPrompt',
  ],
  'Passed to the provider as it is, and deleted when the run ends.': ['agentContext'],
  'Facts, which REDACT=facts redacts by rules of its own (domain/memory/fact/redact-statement.ts).': [
    'object',
    'predicate',
    'subject',
  ],
}

const TEXT_TYPES: ReadonlySet<string> = new Set(['ID', 'JSON', 'String'])

/** Adds the names of the fields with texts that the type contains. */
function collect(type: GraphQLInputType, name: string, found: Set<string>, visited: Set<unknown>): void {
  const named = getNamedType(type)
  if (isLeafType(named)) {
    if (TEXT_TYPES.has(named.name)) found.add(name)
    return
  }
  if (!isInputObjectType(named) || visited.has(named)) return
  visited.add(named)
  for (const field of Object.values(named.getFields())) collect(field.type, field.name, found, visited)
}

const found = new Set<string>()
for (const { args } of Object.values(schema.getMutationType()!.getFields())) {
  for (const { type, name } of args) collect(type, name, found, new Set())
}

const SECRET = 'ada.lovelace@example.org'
const redacted = (input: object) =>
  redactInput(
    { redaction: { least: 'turns', of: () => 'turns', changed() {} }, detectors: [], audit: { note() {} } },
    { tenant: 't', actor: 'ada' },
    'verb',
    input,
  )

describe('under REDACT=turns,', () => {
  const kept = Object.values(KEPT).flat()

  const refused = ['from', 'path']

  it.each([...found].filter((name) => ![...kept, ...refused].includes(name)).sort())('%s is redacted', async (name) => {
    expect(await redacted({ [name]: SECRET })).toEqual({ [name]: '[EMAIL]' })
  })

  it.each(refused)('%s, a JSON Pointer, is refused', async (name) => {
    await expect(redacted({ [name]: `/a/${SECRET}/0` })).rejects.toThrow(/redacted: email/)
    expect(await redacted({ [name]: '/a/0' })).toEqual({ [name]: '/a/0' })
    expect(found).toContain(name)
  })

  it.each(kept)('%s is kept, and is a field of an input', async (name) => {
    expect(await redacted({ [name]: SECRET })).toEqual({ [name]: SECRET })
    expect(found).toContain(name)
  })
})
