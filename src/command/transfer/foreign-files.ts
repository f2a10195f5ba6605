// Reads the files of other programs as elements that their importers convert: the elements of a list, a whole file, or
// the channels of a folder.

import { createReadStream } from 'node:fs'
import type { Hash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Program } from '../../domain/trust/transfer/foreign/foreign.ts'
import { ElementTooLong, jsonElements } from '../../text/json-elements.ts'
import { fileFailure, TransferFailed } from './transfer-failure.ts'

/** An element, and where it is, for error messages. */
export type Element = { value: unknown; place: string }

async function* chunksOf(path: string, hash: Hash | null): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    hash?.update(chunk)
    yield decoder.decode(chunk, { stream: true })
  }
}

function parsed(text: string, path: string, place: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new TransferFailed(`${path}: ${place} is not JSON: the file is damaged. Nothing was imported.`)
  }
}

/** Yields the elements of the list in the file; the whole of it if it is no list. */
async function* listElements(path: string, hash: Hash | null): AsyncGenerator<Element, void> {
  let number = 0
  for await (const text of jsonElements(chunksOf(path, hash))) {
    const place = `element ${++number}`
    yield { value: parsed(text, path, place), place }
  }
}

async function readJson(path: string, hash: Hash | null): Promise<unknown> {
  const bytes = await readFile(path)
  hash?.update(bytes)
  return parsed(bytes.toString('utf8'), path, 'it')
}

const exists = async (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )

const LISTS = ['channels.json', 'groups.json', 'dms.json', 'mpims.json']
type Channel = { id?: string; name?: string }

/** Yields the channels of an unpacked workspace export of Slack, each with its messages of all days. */
async function* slackChannels(folder: string, hash: Hash | null): AsyncGenerator<Element, void> {
  const usersFile = join(folder, 'users.json')
  if (!(await exists(usersFile))) {
    throw new TransferFailed(
      `${folder} is not an unpacked export of Slack: it has no users.json. Nothing was imported.`,
    )
  }
  const users = await readJson(usersFile, hash)
  for (const list of LISTS) {
    if (!(await exists(join(folder, list)))) continue
    for (const channel of (await readJson(join(folder, list), hash)) as Channel[]) {
      // The folder of a direct conversation has its id as the name.
      const names = [channel.name, channel.id].filter((name) => name !== undefined).map((name) => basename(name))
      for (const name of names) {
        if (!(await exists(join(folder, name)))) continue
        const days = (await readdir(join(folder, name))).filter((day) => day.endsWith('.json')).sort()
        const messages: unknown[] = []
        for (const day of days) messages.push(...((await readJson(join(folder, name, day), hash)) as unknown[]))
        yield { value: { channel, users, messages }, place: `the channel ${name}` }
        break
      }
    }
  }
}

/** Yields the channels in a folder of Discord: of its data package, or files of DiscordChatExporter. */
async function* discordChannels(folder: string, hash: Hash | null): AsyncGenerator<Element, void> {
  const root = (await exists(join(folder, 'messages'))) ? join(folder, 'messages') : folder
  for (const name of (await readdir(root)).sort()) {
    const path = join(root, name)
    if (await exists(join(path, 'channel.json'))) {
      const channel = await readJson(join(path, 'channel.json'), hash)
      const messages = await readJson(join(path, 'messages.json'), hash)
      yield { value: { channel, messages }, place: `the channel ${name}` }
    } else if (name.endsWith('.json') && name !== 'index.json') {
      yield { value: await readJson(path, hash), place: `the file ${name}` }
    }
  }
}

async function* elementsIn(program: Program, path: string, hash: Hash | null): AsyncGenerator<Element, void> {
  const isFolder = (await stat(path)).isDirectory()
  if (program === 'slack') return yield* slackChannels(path, hash)
  if (program === 'discord' && isFolder) return yield* discordChannels(path, hash)
  if (program === 'discord' || program === 'letta')
    return yield { value: await readJson(path, hash), place: 'the file' }
  const file = isFolder ? join(path, 'conversations.json') : path
  for await (const element of listElements(file, hash)) {
    const results = (element.value as { results?: unknown } | null)?.results
    if (program !== 'mem0' || !Array.isArray(results)) yield element
    else for (const [index, value] of results.entries()) yield { value, place: `result ${index + 1}` }
  }
}

/**
 * Yields the elements of the file or folder.
 * @param hash is updated with the bytes of the files
 * @throws TransferFailed
 */
export async function* elementsOf(program: Program, path: string, hash: Hash | null): AsyncGenerator<Element, void> {
  try {
    yield* elementsIn(program, path, hash)
  } catch (error) {
    if (error instanceof ElementTooLong) throw new TransferFailed(`${path}: ${error.message} Nothing was imported.`)
    throw fileFailure(path, 'read', error)
  }
}
