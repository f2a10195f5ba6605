// A file of another program as the lines of an export, which it is converted to while it is read.

import { createHash, type Hash } from 'node:crypto'
import { chainHash, FIRST_HASH, sha256, BadLine, printLine } from '../../domain/trust/transfer/format.ts'
import { createChatGpt } from '../../domain/trust/transfer/foreign/chatgpt.ts'
import { createClaude } from '../../domain/trust/transfer/foreign/claude.ts'
import { createDiscord } from '../../domain/trust/transfer/foreign/discord.ts'
import type { Converted, Converter, ConverterOptions, Program } from '../../domain/trust/transfer/foreign/foreign.ts'
import { createLangGraph } from '../../domain/trust/transfer/foreign/langgraph.ts'
import { createLetta } from '../../domain/trust/transfer/foreign/letta.ts'
import {
  conversationLines,
  factLines,
  foreignManifest,
  type LineOptions,
} from '../../domain/trust/transfer/foreign/lines-of.ts'
import { createMem0 } from '../../domain/trust/transfer/foreign/mem0.ts'
import { createOpenAi } from '../../domain/trust/transfer/foreign/openai.ts'
import { createSlack } from '../../domain/trust/transfer/foreign/slack.ts'
import type { Source } from './import.ts'
import { elementsOf } from './foreign-files.ts'
import { TransferFailed } from './transfer-failure.ts'

const CONVERTERS: Record<Program, (options: ConverterOptions) => Converter> = {
  chatgpt: createChatGpt,
  claude: createClaude,
  openai: createOpenAi,
  letta: createLetta,
  mem0: createMem0,
  langgraph: createLangGraph,
  slack: createSlack,
  discord: createDiscord,
}

function* linesIn({ conversations = [], facts = [] }: Converted, options: LineOptions): Generator<object, void> {
  for (const conversation of conversations) yield* conversationLines(conversation, options)
  for (const fact of facts) yield* factLines(fact, options)
}

/** Yields the objects of the lines between the first and the last one. Conversations come before facts. */
async function* objectsOf(path: string, hash: Hash | null, options: LineOptions): AsyncGenerator<object, void> {
  const { program, owner, unfit } = options
  const converter = CONVERTERS[program]({ owner, unfit })
  for await (const { value, place } of elementsOf(program, path, hash)) {
    try {
      yield* linesIn(converter.convert(value), options)
    } catch (error) {
      if (error instanceof BadLine)
        throw new TransferFailed(`${path}: ${place} ${error.message}. Nothing was imported.`)
      throw error
    }
  }
  yield* linesIn(converter.end?.() ?? {}, options)
}

/** Returns the source of a file or folder of another program. `tenant` and `owner` are those of the import. */
export function foreignSource(path: string, { program, tenant, owner }: Omit<LineOptions, 'unfit'>): Source {
  let key: string | null = null
  let unfit: Record<string, number> = {}
  return {
    path,
    async *lines() {
      const counted: Record<string, number> = {}
      const options: LineOptions = {
        program,
        tenant,
        owner,
        unfit(reason, number = 1) {
          if (number > 0) counted[reason] = (counted[reason] ?? 0) + number
        },
      }
      const manifest = printLine(foreignManifest({ program }))
      yield manifest
      const hash = key === null ? createHash('sha256') : null
      let [chain, lines] = [FIRST_HASH, 0]
      const counts: Record<string, number> = {}
      for await (const object of objectsOf(path, hash, options)) {
        const text = printLine(object)
        const { type } = object as { type: string }
        chain = chainHash(chain, text)
        lines++
        counts[type] = (counts[type] ?? 0) + 1
        yield text
      }
      unfit = counted
      key ??= hash!.update(JSON.stringify([program, tenant, owner])).digest('hex')
      yield printLine({ type: 'end', lines, counts, sha256: chain, manifestSha256: sha256(manifest) })
    },
    fileKey: () => key!,
    unfit: () => unfit,
  }
}
