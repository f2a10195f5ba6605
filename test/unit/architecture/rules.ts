// The architecture rules, each a pure function from files to violations. architecture.test.ts applies them to the
// source tree, and to small trees with violations.

import { innerImports, packageImports, type SourceFile } from './source.ts'

/** The name of a folder of src, or of a file directly in src. */
const layerOf = (path: string) => path.split('/')[1]!.replace(/\.ts$/, '')

/** The layers that each layer may import; those of `types` only with `import type`. */
const ALLOWED: Record<string, { all: string[]; types?: string[] }> = {
  errors: { all: [] },
  runtime: { all: ['runtime', 'errors'] },
  text: { all: ['text', 'runtime'] },
  config: { all: ['config', 'providers', 'runtime', 'text'] },
  store: { all: ['store', 'runtime', 'errors', 'text'] },
  providers: { all: ['providers', 'runtime', 'errors', 'text'] },
  bus: { all: ['bus', 'runtime', 'errors', 'text'] },
  domain: { all: ['domain', 'store', 'providers', 'bus', 'text', 'runtime', 'errors'] },
  graphql: { all: ['graphql', 'domain', 'runtime', 'errors'], types: ['store'] },
  faces: { all: ['faces', 'client', 'graphql', 'domain', 'text', 'errors'] },
  server: { all: ['server', 'faces', 'graphql', 'domain', 'runtime', 'errors'], types: ['config'] },
  transcript: { all: ['transcript', 'client'] },
  'open-transcript': { all: ['domain'], types: ['transcript'] },
  'conversation-core': { all: ['conversation-core', 'transcript'], types: ['providers'] },
  'conversation-store': { all: ['conversation-store', 'transcript'] },
  bin: { all: ['main', 'config'] },
  'deps-config': { all: [], types: ['config', 'domain', 'providers', 'text'] },
  'open-files': { all: ['domain', 'store', 'runtime'], types: ['deps-config'] },
  deps: {
    all: ['deps-config', 'open-files', 'domain', 'store', 'providers', 'bus', 'text', 'runtime', 'errors'],
    types: ['config'],
  },
  inspection: { all: ['inspection', 'deps', 'domain', 'store', 'providers', 'runtime'], types: ['config'] },
  command: {
    all: ['command', 'inspection', 'client', 'server', 'deps', 'domain', 'text', 'runtime', 'errors'],
    types: ['config'],
  },
  main: { all: ['command', 'server', 'deps', 'domain', 'store', 'providers', 'config', 'runtime', 'errors'] },
  client: { all: ['client'] },
  react: { all: ['react', 'client'] },
  'ai-sdk': { all: ['ai-sdk', 'client'] },
  web: { all: ['web', 'react', 'client'] },
  index: { all: ['server', 'open-transcript', 'deps', 'domain', 'store', 'providers', 'text', 'config', 'errors'] },
}

/** Imports that ALLOWED forbids. Each layer imports only lower ones: main → server → graphql → domain → {store, …}. */
export const wrongLayer = (files: readonly SourceFile[]): string[] =>
  files.flatMap((file) => {
    const from = ALLOWED[layerOf(file.path)]
    if (!from) return [`${file.path} belongs to no layer`]
    return innerImports(file)
      .filter(({ to, isType }) => ![...from.all, ...(isType ? (from.types ?? []) : [])].includes(layerOf(to)))
      .map(({ to, isType }) => `${file.path} imports ${isType ? 'types of ' : ''}${to}`)
  })

/**
 * The parts of src/domain, each a folder with its subfolders or a file, from the lowest to the highest. A part may import
 * only the parts before it. A file belongs to the part with the longest name that its path begins with.
 */
export const DOMAIN_ORDER: readonly string[] = [
  'kernel',
  'agent/definition',
  'background/job',
  'conversation',
  'trust/audit-page',
  'trust/api-key',
  'turn/journal',
  'memory/indexing',
  'turn',
  'turn/streaming',
  'agent/claim',
  'memory/summary',
  'memory/fact',
  'memory/profile',
  'memory/recall',
  'memory/context',
  'memory/as-of',
  'agent/run',
  'trust/erasure',
  'trust/transfer',
  'background',
  'deps',
]

/** Returns the index in DOMAIN_ORDER of the part to which a file of the domain belongs; -1 for none; null elsewhere. */
function partOf(path: string): number | null {
  const [, inner] = /^src\/domain\/(.*)\.ts$/.exec(path) ?? []
  if (inner === undefined) return null
  const parts = DOMAIN_ORDER.filter((part) => inner === part || inner.startsWith(`${part}/`))
  const [longest] = parts.toSorted((a, b) => b.length - a.length)
  return longest === undefined ? -1 : DOMAIN_ORDER.indexOf(longest)
}

/** Imports between parts of the domain that DOMAIN_ORDER forbids, types included. */
export const wrongDomainOrder = (files: readonly SourceFile[]): string[] =>
  files.flatMap((file) => {
    const part = partOf(file.path)
    if (part === null) return []
    if (part < 0) return [`${file.path} belongs to no part of DOMAIN_ORDER`]
    return innerImports(file)
      .filter(({ to }) => (partOf(to) ?? part) > part)
      .map(({ to }) => `${file.path} imports ${to}`)
  })

/** The areas of the product, which have the same names in each layer; kernel is what they stand on. */
const AREAS = ['kernel', 'conversation', 'turn', 'memory', 'agent', 'trust']
/** The folders that are divided by area, and what each has besides. */
const DIVIDED: Record<string, string[]> = {
  'src/graphql': ['schema.ts'],
  'src/domain': ['background', 'deps.ts'],
  'src/store/sql': ['background'],
}

/** Files of the folders in DIVIDED that are in no area. */
export const outsideAreas = (files: readonly SourceFile[]): string[] =>
  Object.entries(DIVIDED).flatMap(([folder, besides]) =>
    files
      .map(({ path }) => path)
      .filter((path) => path.startsWith(`${folder}/`))
      .filter((path) => ![...AREAS, ...besides].includes(path.slice(folder.length + 1).split('/')[0]!)),
  )

/** Minimum number of entries of a folder in src, and maximum number of its files. */
const FOLDER = { entries: 2, files: 15 }
/** Folders with other sizes: the hooks are one file. */
const OTHER_SIZES = new Set(['src/react'])

/** Folders of src with too many files, or with a single entry. */
export function wrongFolderSizes(files: readonly SourceFile[]): string[] {
  const folders = new Map<string, { files: number; entries: Set<string> }>()
  for (const { path } of files) {
    const names = path.split('/')
    for (let depth = 1; depth < names.length; depth++) {
      const folder = names.slice(0, depth).join('/')
      const known = folders.get(folder) ?? { files: 0, entries: new Set() }
      folders.set(folder, known)
      known.entries.add(names[depth]!)
      if (depth === names.length - 1) known.files += 1
    }
  }
  return [...folders]
    .filter(([folder]) => !OTHER_SIZES.has(folder))
    .filter(([, { files: count, entries }]) => count > FOLDER.files || entries.size < FOLDER.entries)
    .map(([folder, { files: count, entries }]) => `${folder} has ${count} files, ${entries.size} entries`)
}

/** Cycles in a graph of names, each as `a → b → a`. */
function cyclesIn(next: ReadonlyMap<string, Iterable<string>>): string[] {
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (name: string, trail: string[]) => {
    if (trail.includes(name)) return void cycles.push([...trail.slice(trail.indexOf(name)), name].join(' → '))
    if (done.has(name)) return
    for (const to of next.get(name) ?? []) visit(to, [...trail, name])
    done.add(name)
  }
  for (const name of next.keys()) visit(name, [])
  return cycles
}

/** Import cycles between files, types included. Starting a worker thread is not an import. */
export const fileCycles = (files: readonly SourceFile[]): string[] =>
  cyclesIn(
    new Map(
      files.map((file) => [
        file.path,
        innerImports(file)
          .filter(({ isThread }) => !isThread)
          .map(({ to }) => to),
      ]),
    ),
  )

/** The layers that may import GraphQL packages. */
const GRAPHQL_LAYERS = ['graphql', 'faces', 'server']

/** The layers that may import a package at run time. All layers may import the packages that are not listed. */
const PACKAGE_LAYERS: [packages: RegExp, layers: string[]][] = [
  [/^(graphql|graphql-.*|@pothos\/.*|@graphql-yoga\/.*)$/, GRAPHQL_LAYERS],
  [/^dataloader$/, ['graphql']],
  [/^(ws|jose)$/, ['server']],
  [/^(pg|pg-boss|pgvector|@prisma\/.*|@electric-sql\/.*|aws4fetch)$/, ['store']],
  [/^redis$/, ['bus']],
  [/^react$/, ['react', 'web']],
  [/^(react-dom|@tanstack\/.*|marked|dompurify)$/, ['web']],
  [/^gpt-tokenizer$/, ['text']],
  [/^(openai|@huggingface\/transformers)$/, ['providers']],
]

/** Run-time imports of a package outside its layer. */
export const misplacedPackages = (files: readonly SourceFile[]): string[] =>
  files.flatMap((file) =>
    packageImports(file).flatMap(({ to, isType }) => {
      const rule = PACKAGE_LAYERS.find(([packages]) => packages.test(to))
      return !rule || isType || rule[1].includes(layerOf(file.path)) ? [] : [`${file.path} imports ${to}`]
    }),
  )

/** Files outside GRAPHQL_LAYERS that import a GraphQL package, types included. */
export const misplacedGraphQL = (files: readonly SourceFile[]): string[] =>
  files
    .filter((file) => !GRAPHQL_LAYERS.includes(layerOf(file.path)))
    .filter((file) => packageImports(file).some(({ to }) => PACKAGE_LAYERS[0]![0].test(to)))
    .map(({ path }) => path)

/** Paths of the files whose code matches the pattern. */
const matching = (pattern: RegExp, files: readonly SourceFile[]) =>
  files.filter(({ code }) => pattern.test(code)).map(({ path }) => path)

/** Files outside config/ that read the environment. The web app only writes code that reads it. */
export const misplacedEnvironment = (files: readonly SourceFile[]): string[] =>
  matching(/\bprocess\s*(\.|\?\.|\[\s*['"])env\b|import \{[^}]*\benv\b[^}]*\} from 'node:process'/, files).filter(
    (path) => layerOf(path) !== 'config' && layerOf(path) !== 'web',
  )

/** The files of the domain that may use the process's clock. */
const OWN_TIME = new Set([
  // Schemas, which have no dependencies. Each compares a time that a client gives with the current time.
  'src/domain/kernel/input.ts',
  'src/domain/trust/api-key/api-key.ts',
  // They free unused memory. The caches below them measure the time themselves.
  'src/domain/memory/recall/index/products.ts',
  'src/domain/memory/recall/index/index-cache.ts',
])

/**
 * Files of the domain that use timers or times of the process instead of those of `deps.clock`. `new Date()` is allowed,
 * for times that are only stored or delivered.
 */
export const timesOfTheProcess = (files: readonly SourceFile[]): string[] =>
  matching(/(?<![\w.])((set(Timeout|Interval)|(Date|performance)\.now)\(|systemClock\b)|'(node:)?timers/, files).filter(
    (path) => layerOf(path) === 'domain' && !OWN_TIME.has(path),
  )

/** Files that start an interval instead of calling `every`, or `useTicks` in the web app. The client imports neither. */
export const ownIntervals = (files: readonly SourceFile[]): string[] =>
  matching(/\bsetInterval\(/, files).filter(
    (path) => !['src/runtime/clock.ts', 'src/web/kit/visible.ts'].includes(path) && layerOf(path) !== 'client',
  )

/** Files outside store/ that contain SQL. */
export function misplacedSql(files: readonly SourceFile[]): string[] {
  const raw = /\$(query|execute)Raw|\bPrisma\.(sql|raw|join)\b|\b(pool|client|connection)\.query\s*[(<]/
  const sql = /['"`]\s*(SELECT\s|INSERT INTO\s|UPDATE \w+ SET\s|DELETE FROM\s|WITH \w+ AS\s|BEGIN\b|COMMIT\b)/
  const outside = [...matching(raw, files), ...matching(sql, files)].filter((path) => layerOf(path) !== 'store')
  return [...new Set(outside)]
}

/**
 * Files that call findUnique outside a transaction (`tx`). Prisma merges all findUnique calls of one tick into one
 * statement, which would have the scope of the first call (store/db/db.ts).
 */
export const scopedFindUnique = (files: readonly SourceFile[]): string[] =>
  files.filter(({ code }) => /\.findUnique/.test(code.replaceAll(/\btx\.\w+\.findUnique/g, ''))).map(({ path }) => path)

/** The files that use private members of a package, with the package. package.json requires one version of each. */
export const PRIVATE_PARTS: Record<string, string> = {
  'src/store/db/scoped-query.ts': 'pg',
  'src/server/load/metrics-registry.ts': 'prom-client',
  'src/store/embedded/embedded-worker.ts': '@electric-sql/pglite',
}

/** Other files that use a member whose name begins with an underscore. */
export const misplacedPrivateMembers = (files: readonly SourceFile[]): string[] =>
  matching(/[\w)\]]\??\._[A-Za-z]|\[['"]_[A-Za-z]/, files).filter((path) => !(path in PRIVATE_PARTS))

/** The verbs of statements. */
const STATEMENT_VERBS =
  /^(compare|count|close|drop|find|insert|is|lock|mark|page|read|register|revoke|rotate|update|write)-/

/**
 * Files of store/sql whose name is a verb and a noun, for example page-turns.ts, and that export no function or constant
 * of that name. A file with several statements has the name of their notion, for example facts.ts.
 */
export const misnamedStatements = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, code }) => {
    const name = /^src\/store\/sql\/.*?([\w-]+)\.ts$/.exec(path)?.[1]
    if (!name || !STATEMENT_VERBS.test(name)) return []
    const exported = name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
    const found = new RegExp(`export (const|(async )?function\\*?) ${exported}\\b`).test(code)
    return found ? [] : [`${path} exports no ${exported}`]
  })

/** Maximum number of lines of a file in src. */
const MAX_LINES = 300

export const longFiles = (files: readonly SourceFile[]): string[] =>
  files
    .map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
    .filter(({ lines }) => lines > MAX_LINES)
    .map(({ path, lines }) => `${path} has ${lines} lines; at most ${MAX_LINES} are allowed`)

/** Minimum number of lines of a file in src. */
const MIN_LINES = 25
/** Parts of the web app, ports, dependencies of parts of the domain, entry points, statements: one file for each. */
const ONE_FILE_EACH =
  /^src\/(web\/.+|providers\/ports\/.+|bus\/(bus|presence|rate-limit)|domain\/(.+\/)?deps|(.+\/)?(index|bin)|store\/sql\/.+)\.tsx?$/
/** Files that are separate for another reason. */
const SEPARATE = new Set([
  // Data that scripts write.
  'src/domain/memory/recall/index/products-wasm.ts',
  'src/domain/memory/recall/rank/relevance-coefficients.ts',
  // The entry point of a thread.
  'src/text/tokens-worker.ts',
])

/** Files with few lines, which belong in the file that uses them most. */
export const shortFiles = (files: readonly SourceFile[]): string[] =>
  files
    .filter(({ path }) => !ONE_FILE_EACH.test(path) && !SEPARATE.has(path))
    .map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
    .filter(({ lines }) => lines < MIN_LINES)
    .map(({ path, lines }) => `${path} has ${lines} lines; at least ${MIN_LINES} are required`)

/** Tests that cover several files of src, or files outside src. */
const UNMIRRORED = /^test\/(contract\/|system\/web\/|(unit|backend|system)\/(scripts\/|[\w.-]+$))/

/**
 * Tests that are in no tier, or have no file in src: test/<tier>/a/b.test.ts and test/<tier>/a/b.aspect.test.ts must
 * test src/a/b.ts or src/a/b/.
 */
export const misplacedTests = (tests: readonly SourceFile[], files: readonly SourceFile[]): string[] =>
  tests
    .map(({ path }) => path)
    .filter((path) => path.endsWith('.test.ts') && !UNMIRRORED.test(path))
    .filter((path) => {
      const tested = path.replace(/^test\/(unit|backend|system)/, 'src').replace(/(\.[\w-]+)?\.test\.ts$/, '')
      const isTested = (path: string) => path.replace(/\.tsx?$/, '') === tested || path.startsWith(`${tested}/`)
      return !files.some((file) => isTested(file.path))
    })

/** Modules through which a test reaches a socket, a process or a database. */
const OUTSIDE = /^(node:(child_process|net|http2?|https|tls)|ws|pg|redis|playwright-core)$/

/** Unit tests that reach a socket, a process or a database, themselves or through another file of test/. */
export function unitTestsWithServices(tests: readonly SourceFile[]): string[] {
  const byPath = new Map(tests.map((file) => [file.path, file]))
  const reached = (file: SourceFile, seen: Set<SourceFile>): Set<SourceFile> => {
    if (seen.has(file)) return seen
    seen.add(file)
    for (const { to, isType } of innerImports(file)) {
      const next = isType ? undefined : byPath.get(to)
      if (next) reached(next, seen)
    }
    return seen
  }
  return tests
    .filter(({ path }) => /^test\/unit\/.*\.test\.ts$/.test(path))
    .filter((file) =>
      [...reached(file, new Set())].some(({ imports }) =>
        imports.some(({ from, isType }) => !isType && OUTSIDE.test(from)),
      ),
    )
    .map(({ path }) => path)
}

/** Files that do not begin with a comment of more than 20 characters, which should state their responsibility. */
export const withoutHeader = (files: readonly SourceFile[]): string[] =>
  files.filter(({ text }) => !/^(#!.*\n)?\/\/ \S.{20,}/.test(text)).map(({ path }) => path)

/** Files with a meaningless name. */
export const meaninglessNames = (files: readonly SourceFile[]): string[] =>
  files
    .map(({ path }) => path)
    .filter((path) => /(^|\/|-)(utils?|helpers?|common|misc|shared(?!-state)|stuff|lib)(\.|\/|-)/i.test(path))

/** Imports of files outside src. */
export const importsOutsideSource = (files: readonly SourceFile[]): string[] =>
  files.flatMap((file) =>
    innerImports(file)
      .filter(({ to }) => !to.startsWith('src/'))
      .map(({ to }) => `${file.path} imports ${to}`),
  )

/** The functions that determine a viewer before a verb runs, or that verbs call to check rights. */
const BELOW_VERBS = /^src\/domain\/kernel\/rights\/(authorize|known-actor)\.ts$/

/** The names that files outside the domain import from it, or export. */
function namesUsedOutside(files: readonly SourceFile[]): Set<string> {
  const outside = files.filter(({ path }) => ['graphql', 'server', 'index', 'bin'].includes(layerOf(path)))
  const lists = outside.flatMap(({ code }) => [
    ...code.matchAll(/(?:import|export) \{([^}]*)\} from '[^']*\/domain\//g),
  ])
  return new Set(lists.flatMap(([, names]) => names!.split(',').map((each) => each.trim())))
}

export type DeclaredVerb = { path: string; name: string; first: string }

/**
 * The verbs of the domain, each with its first statement. A verb is a function that is used outside the domain, and
 * whose second parameter is the viewer.
 */
export function verbsOf(files: readonly SourceFile[]): DeclaredVerb[] {
  const used = namesUsedOutside(files)
  const head =
    /export (?:async )?(?:function|const) (\w+)(?: = (?:async )?)?\(\s*(?:\{[^}]*\}|\w+): [^()]*?\b\w+: Viewer\b/g
  return files
    .filter(({ path }) => partOf(path) !== null && !BELOW_VERBS.test(path))
    .flatMap(({ path, code }) =>
      [...code.matchAll(head)]
        .filter(([, name]) => used.has(name!))
        .map((match) => ({ path, name: match[1]!, first: /\{\n\s*(.*)/.exec(code.slice(match.index))?.[1] ?? '' })),
    )
}

/**
 * Names of prepared statements that are used twice. A connection prepares one statement per name, so a second statement
 * with the same name fails.
 */
export function repeatedStatementNames(files: readonly SourceFile[]): string[] {
  const seen = new Map<string, string>()
  const violations: string[] = []
  for (const { path, code } of files) {
    if (!path.startsWith('src/store/')) continue
    for (const [, first, second] of code.matchAll(/\bnamed\('([\w-]+)'\)|\bname: '([\w-]+)'/g)) {
      const name = (first ?? second)!
      const other = seen.get(name)
      if (other !== undefined) violations.push(`${path} uses the name ${name} of a statement in ${other}`)
      seen.set(name, path)
    }
  }
  return violations
}

/** Verbs whose first statement does not call `authorize` with their name. */
export const unauthorizedVerbs = (files: readonly SourceFile[]): string[] =>
  verbsOf(files)
    .filter(({ name, first }) => !new RegExp(`^authorize\\(\\w+, '${name}'`).test(first))
    .map(({ path, name }) => `${path}: ${name} does not call authorize first`)
