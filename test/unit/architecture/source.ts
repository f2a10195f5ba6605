// Reads the source tree for the architecture rules: each file's text, its code without comments, and its imports.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../..', import.meta.url))
/** Paths of the files that `npm run generate` generates. */
const GENERATED = /^src\/(store\/generated\/|client\/generated\.ts$)/

/** `isType`: the compiler erases the import. `isThread`: the module runs in a worker thread. */
export type Import = { from: string; isType: boolean; isThread: boolean }
export type SourceFile = { path: string; text: string; code: string; imports: Import[] }

/** The text without comments. The `//` of a URL is not a comment. */
const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1')

/** Static imports, re-exports, dynamic imports, and files of worker threads, which are named by `new URL`. */
function importsOf(code: string): Import[] {
  const statements = /^\s*(?:import|export)\s+(type\s)?(?:[\w*{}\s,$]+?\s+from\s+)?'([^']+)'/gm
  const dynamic = /\bimport\('([^']+)'\)/g
  const threads = /\bnew URL\('(\.[^']+\.ts)'/g
  const all = (pattern: RegExp, isThread: boolean) =>
    [...code.matchAll(pattern)].map(([, from]) => ({ from: from!, isType: false, isThread }))
  return [
    ...[...code.matchAll(statements)].map(([, type, from]) => ({ from: from!, isType: !!type, isThread: false })),
    ...all(dynamic, false),
    ...all(threads, true),
  ]
}

/** Extracts the code and the imports of a file. `path` starts at the root of the repository. */
export function parseSource(path: string, text: string): SourceFile {
  const code = withoutComments(text)
  return { path, text, code, imports: importsOf(code) }
}

/** All TypeScript files below a directory of the repository, sorted by path, without generated files. */
export const readSources = (directory: string): SourceFile[] =>
  readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !GENERATED.test(path))
    .sort()
    .map((path) => parseSource(path, readFileSync(join(root, path), 'utf8')))

/** A file's imports of other files, with paths from the repository's root. */
export const innerImports = ({ path, imports }: SourceFile) =>
  imports
    .filter(({ from }) => from.startsWith('.'))
    .map(({ from, ...kind }) => ({ to: normalize(join(dirname(path), from)), ...kind }))

/** A file's imports of packages, by the package's name. */
export const packageImports = ({ imports }: SourceFile) =>
  imports
    .filter(({ from }) => !/^(\.|node:)/.test(from))
    .map(({ from, isType }) => ({
      to: from
        .split('/')
        .slice(0, from.startsWith('@') ? 2 : 1)
        .join('/'),
      isType,
    }))
