// The house rules that a compiler does not keep: who may import whom, where SQL and the environment may be touched, how
// long files and lines may be. Read from the files' text; what Prisma generates is not ours to judge.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const GENERATED = 'src/store/generated/'

/** `isType`: gone when the program runs. `isThread`: a module that is started in a thread of its own. */
type Import = { from: string; isType: boolean; isThread: boolean }
type File = { path: string; text: string; code: string; imports: Import[] }

/** The text without its comments; a `//` in a URL is none. */
const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1')

/** Modules that the code names: static and dynamic imports, re-exports, and threads started by `new URL`. */
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

function read(path: string): File {
  const text = readFileSync(join(root, path), 'utf8')
  const code = withoutComments(text)
  return { path, text, code, imports: importsOf(code) }
}

const list = (directory: string) =>
  readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !path.startsWith(GENERATED))
    .sort()

const files = list('src').map(read)
const tests = list('test').map(read)

/** A file's imports of others in src, as paths like `src/errors.ts`. */
const inner = ({ path, imports }: File) =>
  imports
    .filter(({ from }) => from.startsWith('.'))
    .map(({ from, ...kind }) => ({ to: relative(root, resolve(root, dirname(path), from)), ...kind }))

/** A file's imports of packages, by the package's name. */
const outer = ({ imports }: File) =>
  imports
    .filter(({ from }) => !/^(\.|node:)/.test(from))
    .map(({ from, isType }) => ({
      to: from
        .split('/')
        .slice(0, from.startsWith('@') ? 2 : 1)
        .join('/'),
      isType,
    }))

/** The folder under src, or the file's own name for those that lie beside main.ts. */
const layerOf = (path: string) => path.split('/')[1]!.replace(/\.ts$/, '')

const LEAVES = ['errors', 'thread']
/** What each layer may import; `types` only for what is gone when the program runs. */
const ALLOWED: Record<string, { all: string[]; types?: string[] }> = {
  errors: { all: [] },
  thread: { all: [] },
  config: { all: ['config'] },
  store: { all: ['store', ...LEAVES] },
  providers: { all: ['providers', ...LEAVES] },
  bus: { all: ['bus', ...LEAVES] },
  domain: { all: ['domain', 'store', 'providers', 'bus', 'errors'] },
  // The shapes of rows and enums come from below; whatever happens goes through the domain.
  graphql: { all: ['graphql', 'domain', 'errors'], types: ['store'] },
  server: { all: ['server', 'graphql', 'domain', 'errors'], types: ['config'] },
  deps: { all: ['domain', 'store', 'providers', 'bus', 'errors'], types: ['config'] },
  main: { all: ['server', 'deps', 'domain', 'store', 'providers', 'config', 'errors'] },
  index: { all: ['server', 'deps', 'domain', 'config', 'errors'] },
}

/** Where a package may be imported at run time; packages that stand here nowhere are free for all. */
const HOMES: [packages: RegExp, layers: string[]][] = [
  [/^(graphql|graphql-.*|@pothos\/.*|@graphql-yoga\/.*)$/, ['graphql', 'server']],
  [/^dataloader$/, ['graphql']],
  [/^ws$/, ['server']],
  [/^(pg|pg-boss|@prisma\/.*|@electric-sql\/.*)$/, ['store']],
  [/^redis$/, ['bus']],
  [/^(gpt-tokenizer|openai|@huggingface\/transformers)$/, ['providers']],
]

describe('imports', () => {
  it('are found: every file but the leaves has some', () => {
    expect(files.length).toBeGreaterThan(60)
    expect(files.flatMap(inner).length).toBeGreaterThan(200)
    const [pothos] = files.filter(({ path }) => path === 'src/graphql/builder.ts').map(outer)
    expect(pothos).toContainEqual({ to: '@pothos/core', isType: false })
  })

  it('go one way: main → server → graphql → domain → store, providers, bus', () => {
    const wrong = files.flatMap((file) => {
      const from = ALLOWED[layerOf(file.path)]
      if (!from) return [`${file.path} is in no known layer`]
      return inner(file)
        .filter(({ to, isType }) => ![...from.all, ...(isType ? (from.types ?? []) : [])].includes(layerOf(to)))
        .map(({ to, isType }) => `${file.path} imports ${isType ? 'types of ' : ''}${to}`)
    })
    expect(wrong).toEqual([])
  })

  it('make no cycle', () => {
    const loadedBy = (file: File) =>
      inner(file)
        .filter(({ isType, isThread }) => !isType && !isThread)
        .map(({ to }) => to)
    const next = new Map(files.map((file) => [file.path, loadedBy(file)]))
    const done = new Set<string>()
    const cycles: string[] = []
    const visit = (path: string, trail: string[]) => {
      if (trail.includes(path)) return void cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
      if (done.has(path)) return
      for (const to of next.get(path) ?? []) visit(to, [...trail, path])
      done.add(path)
    }
    for (const path of next.keys()) visit(path, [])
    expect(cycles).toEqual([])
  })

  it('of a package stay where it belongs', () => {
    const wrong = files.flatMap((file) =>
      outer(file).flatMap(({ to, isType }) => {
        const home = HOMES.find(([packages]) => packages.test(to))
        return !home || isType || home[1].includes(layerOf(file.path)) ? [] : [`${file.path} imports ${to}`]
      }),
    )
    expect(wrong).toEqual([])
  })

  it('of GraphQL, be it for types, stay in graphql/ and server/', () => {
    const isGraphQL = HOMES[0]![0]
    const users = files.filter((file) => outer(file).some(({ to }) => isGraphQL.test(to)))
    expect([...new Set(users.map(({ path }) => layerOf(path)))].sort()).toEqual(['graphql', 'server'])
  })
})

/** Files whose code matches. */
const matching = (pattern: RegExp, among = files) =>
  among.filter(({ code }) => pattern.test(code)).map(({ path }) => path)

describe('what is touched', () => {
  it('in the environment, only by config.ts', () => {
    expect(matching(/\bprocess\s*(\.|\?\.|\[\s*['"])env\b|import \{[^}]*\benv\b[^}]*\} from 'node:process'/)).toEqual([
      'src/config.ts',
    ])
  })

  it('in SQL, only by store/', () => {
    const raw = /\$(query|execute)Raw|\bPrisma\.(sql|raw|join)\b|\b(pool|client|connection)\.query\s*[(<]/
    const sql = /['"`]\s*(SELECT\s|INSERT INTO\s|UPDATE \w+ SET\s|DELETE FROM\s|WITH \w+ AS\s|BEGIN\b|COMMIT\b)/
    const outside = [...matching(raw), ...matching(sql)].filter((path) => layerOf(path) !== 'store')
    expect([...new Set(outside)]).toEqual([])
  })
})

describe('files', () => {
  it('are short: 300 lines at most', () => {
    const long = [...files, ...tests]
      .map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
      .filter(({ lines }) => lines > 300)
    expect(long).toEqual([])
  })

  it('are narrow: 120 characters a line at most', () => {
    const long = [...files, ...tests].flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, i) => ([...line].length > 120 ? [`${path}:${i + 1}`] : [])),
    )
    expect(long).toEqual([])
  })

  it('say their job in their first lines', () => {
    expect(files.filter(({ text }) => !/^\/\/ \S.{20,}/.test(text)).map(({ path }) => path)).toEqual([])
  })

  it('have names that say something', () => {
    const empty = /(^|\/|-)(utils?|helpers?|common|misc|shared|stuff|lib)(\.|\/|-)/i
    expect([...files, ...tests].map(({ path }) => path).filter((path) => empty.test(path))).toEqual([])
  })

  it('are of this repository: nothing imports a test from src', () => {
    expect(
      files
        .flatMap(inner)
        .map(({ to }) => to)
        .filter((to) => !to.startsWith('src/')),
    ).toEqual([])
  })
})

describe('migrations', () => {
  const directory = join(root, 'prisma/migrations')
  const entries = readdirSync(directory, { withFileTypes: true })

  it('lie as Prisma lays them', () => {
    const lock = readFileSync(join(directory, 'migration_lock.toml'), 'utf8')
    expect(lock).toMatch(/^provider = "postgresql"$/m)
    expect(entries.filter((entry) => entry.isFile()).map(({ name }) => name)).toEqual(['migration_lock.toml'])
    const folders = entries.filter((entry) => entry.isDirectory())
    expect(folders.length).toBeGreaterThan(0)
    for (const { name } of folders) {
      expect(name).toMatch(/^\d{14}_[a-z0-9_]+$/)
      expect(readdirSync(join(directory, name))).toEqual(['migration.sql'])
    }
  })
})
