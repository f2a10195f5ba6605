// Reads the Markdown documents of the repository, and extracts their code blocks, tables and heading ids.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

export type Document = {
  /** Path from the root of the repository. */
  path: string
  text: string
  /** The text without its code blocks. */
  prose: string
}

/** A fenced code block. `line` is the line number of its first line of code, counted from 1. */
export type Block = { path: string; language: string; text: string; line: number }

export function readDocument(path: string): Document {
  const text = readFileSync(join(root, path), 'utf8')
  return { path, text, prose: text.replace(/^ *```[\s\S]*?^ *```$/gm, '') }
}

/** README.md and the other documents at the root, those of scripts/, then the pages of docs/ and its folders by name. */
export const documents: Document[] = [
  ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', 'scripts/README.md', 'scripts/bench/README.md'],
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `docs/${name}`),
].map(readDocument)

/** The document's code blocks in these languages, in order; all blocks if no language is given. */
export function blocks({ path, text }: Document, ...languages: string[]): Block[] {
  return [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)]
    .map((match) => ({
      path,
      language: match[2]!,
      text: match[3]!.replaceAll(new RegExp(`^${match[1]}`, 'gm'), ''),
      line: text.slice(0, match.index).split('\n').length + 1,
    }))
    .filter(({ language }) => languages.length === 0 || languages.includes(language))
}

/** The rows of the table whose header line begins with `head`, as trimmed cells. Throws if there is no such table. */
export function table({ path, text }: Document, head: string): string[][] {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => line.startsWith(head))
  if (start === -1) throw new Error(`${path} has no table that begins with ${head}`)
  const rest = lines.slice(start + 2)
  const end = rest.findIndex((line) => !line.startsWith('|'))
  return rest.slice(0, end === -1 ? undefined : end).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

/** The ids that GitHub gives to the document's headings. */
export const anchors = ({ prose }: Document): string[] =>
  [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

/** The cell without the backticks around it. */
export const unquoted = (cell: string) => cell.replace(/^`|`$/g, '')

/** Returns a pattern of an output that a document shows, in which … stands for any text. */
export const patternOf = (shown: string): RegExp =>
  new RegExp(`^${shown.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll('…', '.+?')}$`)
