// Files of other programs, one in each published format, as the lines of an export.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { foreignSource } from '../../../../src/command/transfer/foreign-source.ts'
import { FIRST_HASH, parseManifest } from '../../../../src/domain/trust/transfer/format.ts'
import { readNext } from '../../../../src/domain/trust/transfer/file-position.ts'
import { PROGRAMS, type Program } from '../../../../src/domain/trust/transfer/foreign/foreign.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../../../support/foreign/${name}`, import.meta.url))

/** Reads the file twice. Returns its objects, after checking that the lines are valid and the same both times. */
async function read(program: Program, path: string) {
  const source = foreignSource(path, { program, tenant: 't', owner: 'ada' })
  const lines: string[] = []
  for await (const line of source.lines()) lines.push(line)
  const again: string[] = []
  for await (const line of source.lines()) again.push(line)
  expect(again).toEqual(lines)
  const [manifest, ...rest] = lines as [string, ...string[]]
  parseManifest(manifest)
  const position = { manifest, lines: 0, chain: FIRST_HASH, counts: {}, state: null, isEnd: false }
  const objects = rest.map((line) => readNext(position, line) as any)
  expect(position.isEnd).toBe(true)
  const turns = objects.flatMap(({ turn }) => turn ?? [])
  const of = (type: string) => objects.filter((each) => each.type === type)
  return { objects, turns, of, unfit: source.unfit(), fileKey: source.fileKey() }
}

/** The author, the role and the text of each turn, or the types of its parts. */
const shown = (turns: any[]) =>
  turns.map(({ actor, role, text, parts }) => [actor, role, text, ...(parts ?? []).map(({ type }: any) => type)])

const EXPECTED: Record<Program, { file: string; turns: unknown[][]; unfit: Record<string, number> }> = {
  chatgpt: {
    file: 'chatgpt.json',
    turns: [
      ['ada', 'USER', '\nWhat sail is "this"? [boat]'],
      ['chatgpt', 'ASSISTANT', 'search("sails")'],
      ['browser', 'TOOL', 'Gaff rigs'],
      ['chatgpt', 'ASSISTANT', 'A gaff sail.'],
    ],
    unfit: {
      'messages of other branches': 1,
      'hidden messages': 1,
      'images, sound and files': 1,
      'conversations without messages': 1,
    },
  },
  claude: {
    file: 'claude.json',
    turns: [
      ['ada', 'USER', 'When is high tide?', 'text', 'data'],
      ['claude', 'ASSISTANT', 'At 18:40.', 'reasoning', 'toolCall', 'toolResult', 'text'],
    ],
    unfit: { 'attached files without text': 1, 'content blocks of the type voice_note': 1 },
  },
  openai: {
    file: 'openai.json',
    turns: [
      ['ada', 'USER', 'How do I get there?'],
      ['asst_1', 'ASSISTANT', 'Take the ferry.'],
      ['ada', 'USER', 'Rain?'],
      ['assistant', 'ASSISTANT', '', 'reasoning'],
      ['assistant', 'ASSISTANT', '', 'toolCall'],
      ['tool', 'TOOL', '', 'toolResult'],
      ['assistant', 'ASSISTANT', 'Yes.'],
    ],
    unfit: { 'content parts of the type image_file': 1, 'items of the type web_search_call': 1 },
  },
  letta: {
    file: 'letta.json',
    turns: [
      ['ada', 'USER', 'Note that I like tea.'],
      ['skipper', 'ASSISTANT', 'Noting.', 'text', 'toolCall'],
      ['core_memory_append', 'TOOL', '', 'toolResult'],
    ],
    unfit: { 'system messages': 1, tools: 1 },
  },
  mem0: { file: 'mem0.json', turns: [], unfit: { 'metadata of memories': 1, 'categories of memories': 1 } },
  langgraph: {
    file: 'langgraph.json',
    turns: [
      ['ada', 'USER', 'Is the sail torn?'],
      ['agent', 'ASSISTANT', '', 'toolCall'],
      ['inspect', 'TOOL', '', 'toolResult'],
      ['agent', 'ASSISTANT', 'It is torn.'],
    ],
    unfit: { 'other channels of checkpoints': 1, 'older checkpoints of a thread': 1 },
  },
  slack: {
    file: 'slack',
    turns: [
      ['ada', 'USER', 'Who sails & when, @bo? See the plan (https://example.org)'],
      ['bo', 'USER', 'I do, at noon.'],
      ['weather', 'ASSISTANT', 'Wind: 5 m/s'],
      ['ada', 'USER', 'Only for you.'],
    ],
    unfit: { 'messages of the subtype channel_join': 1, reactions: 1, files: 1 },
  },
  discord: {
    file: 'discord.json',
    turns: [
      ['ada', 'USER', 'Who has a boat?'],
      ['helper', 'ASSISTANT', 'I have.'],
    ],
    unfit: { 'messages of the type GuildMemberJoin': 1, attachments: 1 },
  },
}

describe('a file of another program', () => {
  it.each(PROGRAMS)('of %s becomes lines of an export, and a report of what did not fit', async (program) => {
    const { file, turns, unfit } = EXPECTED[program]
    const found = await read(program, fixture(file))
    expect(shown(found.turns)).toEqual(turns)
    expect(found.unfit).toEqual(unfit)
  })

  it('has the titles, times, models, participants and keys of the program', async () => {
    const { of, turns, objects } = await read('chatgpt', fixture('chatgpt.json'))
    expect(of('conversation')).toMatchObject([
      { key: 'chatgpt:chat-1', keyScope: 'ada', title: 'Sails', visibility: 'MEMBERS', owner: 'ada', lastSeq: 7 },
    ])
    expect(of('conversation')[0].createdAt).toBe('2025-01-01T00:00:00.500Z')
    expect(of('participant').map(({ actor, kind, displayName }) => [actor, kind, displayName])).toEqual([
      ['ada', 'HUMAN', undefined],
      ['chatgpt', 'AGENT', 'ChatGPT'],
      ['browser', 'TOOL', undefined],
    ])
    expect(turns.at(-1)).toMatchObject({
      model: 'gpt-4o',
      createdAt: '2025-01-01T00:00:04.000Z',
      clientId: 'chatgpt:n4',
    })
    expect(objects.filter(({ kind }) => kind === 'JOINED')).toHaveLength(3)
  })

  it('has tool results that answer their calls, and replies', async () => {
    const { turns } = await read('langgraph', fixture('langgraph.json'))
    const [, call, result] = turns
    expect(result.parts).toMatchObject([
      { callId: 'call_1', name: 'inspect', callTurnId: call.id, callPosition: call.position },
    ])
    const slack = await read('slack', fixture('slack'))
    expect(slack.turns[1].replyToId).toBe(slack.turns[0].id)
    expect(slack.of('conversation').map(({ title }) => title)).toEqual(['#general', undefined])
    const discord = await read('discord', fixture('discord.json'))
    expect(discord.turns[1].replyToId).toBe(discord.turns[0].id)
  })

  it('has facts for memories', async () => {
    const memories = await read('mem0', fixture('mem0.json'))
    expect(memories.of('fact')).toMatchObject([
      { userId: 'ada', subject: 'ada', object: 'Likes to sail on Sundays', observedAt: '2025-04-01T16:00:00.000Z' },
      { subject: 'skipper', object: 'Answers briefly' },
    ])
    const blocks = await read('letta', fixture('letta.json'))
    expect(blocks.of('fact').map(({ subject, object }) => [subject, object])).toEqual([
      ['ada', 'Likes tea.'],
      ['agent-0', 'A calm skipper.'],
    ])
  })

  it('may be the data package of Discord, whose messages are listed newest first', async () => {
    const { turns, unfit } = await read('discord', fixture('discord-package'))
    expect(shown(turns)).toEqual([
      ['ada', 'USER', 'First.'],
      ['ada', 'USER', 'Second.'],
    ])
    expect(unfit).toEqual({ attachments: 1 })
  })

  it('has other ids in another tenant, and the same name for the same import', async () => {
    const path = fixture('claude.json')
    const one = await read('claude', path)
    const other = foreignSource(path, { program: 'claude', tenant: 'u', owner: 'ada' })
    const lines: any[] = []
    for await (const line of other.lines()) lines.push(JSON.parse(line))
    expect(lines[1].id).not.toBe(one.of('conversation')[0].id)
    expect(other.fileKey()).not.toBe(one.fileKey)
    expect((await read('claude', path)).fileKey).toBe(one.fileKey)
  })

  it.each<[Program, string, string]>([
    ['chatgpt', '[{"mapping": {}', 'element 1 is not JSON'],
    ['chatgpt', '[{"chat_messages": []}]', 'element 1 is not of an export of ChatGPT: it has no "mapping"'],
    ['claude', '{"a": 1}', 'it has no "chat_messages"'],
    ['openai', '[1]', 'element 1 is not of an export of OpenAI'],
    ['letta', '{}', 'the file is not a Letta agent file'],
    ['mem0', '[{}]', 'it has no "memory"'],
    ['langgraph', '[{"a":1}]', 'is not a checkpoint of LangGraph'],
    ['discord', '[]', 'is not of an export of Discord'],
  ])('of %s that contains %s is refused', async (program, content, reason) => {
    const directory = await mkdtemp(join(tmpdir(), 'colloquy-foreign-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    const path = join(directory, 'file.json')
    await writeFile(path, content)
    await expect(read(program, path)).rejects.toThrow(reason)
    await expect(read('slack', directory)).rejects.toThrow('it has no users.json')
  })
})
