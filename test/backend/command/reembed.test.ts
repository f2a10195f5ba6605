// `colloquy reembed` on the database itself: after a new revision of the model, after Ctrl-C, and when nothing remains.

import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXIT, type Io } from '../../../src/command/program.ts'
import { loadConfig, type Config } from '../../../src/config/config.ts'
import { createDeps } from '../../../src/deps.ts'
import { createConversation } from '../../../src/domain/conversation/conversation.ts'
import { recall } from '../../../src/domain/memory/recall/recall.ts'
import { appendTurns } from '../../../src/domain/turn/append/append.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { backends, newDataDir, type Opened } from '../../support/backend.ts'
import { runCommand } from '../../support/command.ts'
import { createFakeOpenAi, replies, type FakeOpenAi } from '../../support/fake-openai.ts'

const TURNS = 300
const VIEWER = { tenant: 'default', actor: 'ada' }

describe.each(backends)('colloquy reembed on $name', (backend) => {
  let opened: Opened | null = null
  let directory: string | null = null
  let api: FakeOpenAi
  let conversationId: string

  const config = (revision: string): Config =>
    loadConfig({
      ...(opened ? { DATABASE_URL: opened.url, REDIS_URL: opened.redisUrl } : { DATA_DIR: directory! }),
      EMBEDDER: 'openai',
      OPENAI_BASE_URL: api.url,
      EMBEDDING_MODEL: 'm',
      EMBEDDING_DIMENSIONS: '8',
      EMBEDDING_REVISION: revision,
    })
  const reembed = async (revision: string, io: Partial<Io> = {}) => {
    const result = await runCommand(['reembed', '--json'], { loadConfig: () => config(revision), ...io })
    return { ...result, texts: api.requests.flatMap(({ input }) => input) }
  }
  /** Returns the texts among these that are turns, without the texts that test the embedder. */
  const turnsIn = (texts: readonly string[]) => texts.filter((text) => text.startsWith('Turn'))

  beforeAll(async () => {
    if (backend.name === 'embedded') directory = await newDataDir()
    else opened = await backend.open()
    api = await createFakeOpenAi({ dimension: 8 })
    const { deps, close } = await createDeps(config('1'), createLog('silent'))
    conversationId = (await createConversation(deps, VIEWER, {})).conversation.id
    const turns = Array.from({ length: TURNS }, (_, n) => ({ role: 'USER' as const, content: `Turn ${n}` }))
    await appendTurns(deps, VIEWER, { conversationId, turns })
    await close()
  })
  afterAll(async () => {
    await api.stop()
    await opened?.close()
    if (directory) await rm(directory, { recursive: true })
  })

  it('embeds everything once, and again only for a new revision; Ctrl-C interrupts it, and it continues', async () => {
    const first = await reembed('1')
    expect([first.code, first.stderr]).toEqual([EXIT.success, ''])
    expect(JSON.parse(first.stdout)).toMatchObject({ embedder: 'openai:m:8', serving: 'openai:m:8', remaining: 0 })
    const done = turnsIn(first.texts).length
    expect(new Set(turnsIn(first.texts)).size).toBe(TURNS)
    expect(turnsIn((await reembed('1')).texts)).toHaveLength(done)

    // After the request that tests the model, the second one for turns is stopped by Ctrl-C.
    const stopping = new AbortController()
    const seen = api.requests.length
    api.next(
      replies((regular) => regular),
      replies((regular) => regular),
      () => stopping.abort(),
    )
    const stopped = await reembed('2', { signal: stopping.signal })
    expect(stopped.code).toBe(EXIT.interrupted)
    const after = JSON.parse((await reembed('2')).stdout)
    expect(after).toMatchObject({ embedder: 'openai:m:8@2', remaining: 0 })
    expect(new Set(turnsIn(api.requests.slice(seen).flatMap(({ input }) => input))).size).toBe(TURNS)

    const { deps, close } = await createDeps(config('2'), createLog('silent'))
    try {
      expect(deps.embedding.serving().name).toBe('openai:m:8@2')
      const { hits } = await recall(deps, VIEWER, { query: 'Turn 7', conversationId, k: 1 })
      expect(hits[0]!.similarity).toBeCloseTo(1, 2)
    } finally {
      await close()
    }
  })

  it('draws the progress on a terminal', async () => {
    const lines: string[] = []
    const { stdout } = await runCommand(['reembed'], {
      loadConfig: () => config('3'),
      draw: (line) => void lines.push(line),
    })
    expect(stdout).toMatch(/^openai:m:8@3 has embedded all \d+ entries\.\n$/)
    expect(lines.slice(-2)).toEqual([expect.stringMatching(/^\[#{24}\] 100 % {2}0 entries remain/), ''])
  })
})
