// The architecture rules, each a pure function from files to violations. architecture.test.ts applies them to the
// source tree, and to small trees with violations.

import { innerImports, packageImports, type SourceFile } from './source.ts'

/** The name of a folder of src, or of a file directly in src. */
const layerOf = (path: string) => path.split('/')[1]!.replace(/\.ts$/, '')

/** The layers that store, providers and bus may import. LEAVES import only each other. */
const LEAVES = [
  'backoff',
  'push-iterator',
  'clock',
  'dot',
  'errors',
  'thread',
  'yield',
  'json-text',
  'json-steps',
  'fields',
  'log',
  'text',
  'queue-delay',
  'limits',
  'free-memory',
]

/** The layers that each layer may import; those of `types` only with `import type`. */
const ALLOWED: Record<string, { all: string[]; types?: string[] }> = {
  clock: { all: [] },
  errors: { all: [] },
  backoff: { all: [] },
  'push-iterator': { all: [] },
  counters: { all: [] },
  thread: { all: [] },
  yield: { all: ['clock'] },
  'queue-delay': { all: ['clock'] },
  limits: { all: ['limits', 'queue-delay', 'clock', 'errors'] },
  'free-memory': { all: [] },
  webassembly: { all: [] },
  dot: { all: [] },
  'package-versions': { all: [] },
  cleanup: { all: [] },
  'json-text': { all: [] },
  'json-steps': { all: ['yield', 'json-text'] },
  fields: { all: [] },
  log: { all: [] },
  text: { all: ['text', 'thread'] },
  config: { all: ['config', 'providers', 'fields', 'text'] },
  store: { all: ['store', ...LEAVES] },
  providers: { all: ['providers', ...LEAVES] },
  bus: { all: ['bus', ...LEAVES] },
  domain: {
    all: [
      'domain',
      'store',
      'providers',
      'bus',
      'text',
      'json-text',
      'yield',
      'queue-delay',
      'limits',
      'push-iterator',
      'backoff',
      'clock',
      'errors',
      'counters',
      'package-versions',
      'webassembly',
      'dot',
    ],
  },
  graphql: { all: ['graphql', 'domain', 'json-text', 'yield', 'clock', 'errors', 'counters'], types: ['store'] },
  faces: { all: ['faces', 'client', 'graphql', 'domain', 'text', 'errors'] },
  server: {
    all: [
      'server',
      'faces',
      'graphql',
      'domain',
      'json-text',
      'json-steps',
      'yield',
      'queue-delay',
      'limits',
      'push-iterator',
      'free-memory',
      'clock',
      'errors',
      'counters',
      'package-versions',
    ],
    types: ['config'],
  },
  transcript: { all: ['transcript', 'client'] },
  'open-transcript': { all: ['domain'], types: ['transcript'] },
  'conversation-core': { all: ['conversation-core', 'transcript'], types: ['providers'] },
  'conversation-store': { all: ['conversation-store', 'transcript'] },
  bin: { all: ['main', 'config'] },
  'deps-config': { all: [], types: ['config', 'domain', 'providers', 'text'] },
  deps: {
    all: [
      'deps-config',
      'domain',
      'store',
      'providers',
      'bus',
      'text',
      'queue-delay',
      'cleanup',
      'clock',
      'errors',
      'log',
      'package-versions',
    ],
    types: ['config'],
  },
  inspection: {
    all: ['inspection', 'deps', 'domain', 'store', 'providers', 'fields', 'cleanup', 'clock', 'log'],
    types: ['config'],
  },
  command: {
    all: [
      'command',
      'inspection',
      'client',
      'server',
      'cleanup',
      'deps',
      'domain',
      'text',
      'clock',
      'errors',
      'log',
      'package-versions',
    ],
    types: ['config'],
  },
  main: {
    all: [
      'command',
      'server',
      'deps',
      'domain',
      'store',
      'providers',
      'config',
      'clock',
      'errors',
      'free-memory',
      'log',
      'thread',
      'webassembly',
    ],
  },
  client: { all: ['client'] },
  react: { all: ['react', 'client'] },
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
 * The folders of src/domain and its files, which count as folders, in rows from the lowest to the highest. A folder may
 * import only earlier rows. The files in the rows of ROWS_OF_FILES may also import files of their own row.
 */
const DOMAIN_ORDER: readonly (readonly string[])[] = [
  [
    'id',
    'derived-id',
    'merge-patch',
    'input',
    'tool-definition',
    'metadata-filter',
    'page',
    'cursor',
    'principal',
    'rights',
    'relation',
    'rights-text',
    'view',
    'participant-kind',
    'integrity-key',
    'audit',
    'presence-state',
    'publisher',
    'announced-presence',
    'connections',
    'writers',
    'byte-budget',
    'answer-budget',
    'journal-notifier',
    'automatic-thresholds',
    'ask-provider',
    'tenant-activity',
    'tenant-share',
    'tenant-gates',
    'replica',
    'known-actor',
    'redaction',
    'call-defaults',
    'tenant-cache',
    'platform',
    'authorize',
    'mcp-session',
  ],
  ['job'],
  [
    'compaction-policy',
    'retention-policy',
    'tool-definition',
    'agent-settings',
    'tenant-settings',
    'participant',
    'participant-details',
    'first-participants',
    'participant-conditions',
    'participant-page',
    'provider',
    'update-participant',
    'presence',
    'conversation',
    'conversation-page',
    'conversation-conditions',
    'conversation-visibility',
    'audit-page',
    'visible-run',
  ],
  ['api-key'],
  ['event'],
  ['indexing'],
  ['turn'],
  ['streaming-turn'],
  ['claim'],
  ['summary'],
  ['fact'],
  ['profile'],
  ['recall'],
  ['context'],
  ['past'],
  ['run'],
  ['erasure'],
  ['transfer'],
  ['background'],
  ['deps'],
]
/** The indexes of the rows whose files may import each other; fileCycles reports cycles among them. */
const ROWS_OF_FILES = new Set([0, 2])

const domainFolderOf = (path: string) => /^src\/domain\/([^/]+?)(?:\.ts)?(?:\/|$)/.exec(path)?.[1] ?? null
const rowOf = (folder: string) => DOMAIN_ORDER.findIndex((row) => row.includes(folder))

/** Imports between folders of the domain that DOMAIN_ORDER forbids, types included. */
export const wrongDomainOrder = (files: readonly SourceFile[]): string[] =>
  files.flatMap((file) => {
    const folder = domainFolderOf(file.path)
    if (folder === null) return []
    const row = rowOf(folder)
    if (row < 0) return [`${file.path} belongs to no row of DOMAIN_ORDER`]
    return innerImports(file).flatMap(({ to }) => {
      const other = domainFolderOf(to)
      if (other === null || other === folder) return []
      const otherRow = rowOf(other)
      return otherRow < row || (otherRow === row && ROWS_OF_FILES.has(row)) ? [] : [`${file.path} imports ${to}`]
    })
  })

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

/** Import cycles between folders of the domain, types included. */
export function folderCycles(files: readonly SourceFile[]): string[] {
  const next = new Map<string, Set<string>>()
  for (const file of files) {
    const folder = domainFolderOf(file.path)
    if (folder === null) continue
    const others = innerImports(file).flatMap(({ to }) => domainFolderOf(to) ?? [])
    const imported = next.get(folder) ?? new Set()
    for (const other of others) if (other !== folder) imported.add(other)
    next.set(folder, imported)
  }
  return cyclesIn(next)
}

/** The layers that may import GraphQL packages. */
const GRAPHQL_LAYERS = ['graphql', 'faces', 'server']

/** The layers that may import a package at run time. All layers may import the packages that are not listed. */
const PACKAGE_LAYERS: [packages: RegExp, layers: string[]][] = [
  [/^(graphql|graphql-.*|@pothos\/.*|@graphql-yoga\/.*)$/, GRAPHQL_LAYERS],
  [/^dataloader$/, ['graphql']],
  [/^(ws|jose)$/, ['server']],
  [/^(pg|pg-boss|pgvector|@prisma\/.*|@electric-sql\/.*)$/, ['store']],
  [/^redis$/, ['bus']],
  [/^react$/, ['react']],
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

/** Files outside config/ that read the environment. */
export const misplacedEnvironment = (files: readonly SourceFile[]): string[] =>
  matching(/\bprocess\s*(\.|\?\.|\[\s*['"])env\b|import \{[^}]*\benv\b[^}]*\} from 'node:process'/, files).filter(
    (path) => layerOf(path) !== 'config',
  )

/** The files of the domain that may use the process's clock. */
const OWN_TIME = new Set([
  // Schemas, which have no dependencies. Each compares a time that a client gives with the current time.
  'src/domain/input.ts',
  'src/domain/api-key/api-key.ts',
  // They free unused memory. The caches below them measure the time themselves.
  'src/domain/recall/products.ts',
  'src/domain/recall/index-cache.ts',
])

/**
 * Files of the domain that use timers or times of the process instead of those of `deps.clock`. `new Date()` is allowed,
 * for times that are only stored or delivered.
 */
export const timesOfTheProcess = (files: readonly SourceFile[]): string[] =>
  matching(/(?<![\w.])((set(Timeout|Interval)|(Date|performance)\.now)\(|systemClock\b)|'(node:)?timers/, files).filter(
    (path) => layerOf(path) === 'domain' && !OWN_TIME.has(path),
  )

/** Files outside clock.ts that start an interval instead of calling `every`. The client imports nothing else. */
export const ownIntervals = (files: readonly SourceFile[]): string[] =>
  matching(/\bsetInterval\(/, files).filter((path) => !['clock', 'client'].includes(layerOf(path)))

/** Files outside store/ that contain SQL. */
export function misplacedSql(files: readonly SourceFile[]): string[] {
  const raw = /\$(query|execute)Raw|\bPrisma\.(sql|raw|join)\b|\b(pool|client|connection)\.query\s*[(<]/
  const sql = /['"`]\s*(SELECT\s|INSERT INTO\s|UPDATE \w+ SET\s|DELETE FROM\s|WITH \w+ AS\s|BEGIN\b|COMMIT\b)/
  const outside = [...matching(raw, files), ...matching(sql, files)].filter((path) => layerOf(path) !== 'store')
  return [...new Set(outside)]
}

/** Maximum number of lines of a file in src. */
const MAX_LINES = 300

export const longFiles = (files: readonly SourceFile[]): string[] =>
  files
    .map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
    .filter(({ lines }) => lines > MAX_LINES)
    .map(({ path, lines }) => `${path} has ${lines} lines; at most ${MAX_LINES} are allowed`)

/** Tests that cover several files of src, or files outside src. */
const UNMIRRORED = /^test\/(contract\/|(unit|backend|system)\/(scripts\/|[\w.-]+$))/

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
      return !files.some((file) => file.path === `${tested}.ts` || file.path.startsWith(`${tested}/`))
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
    .filter((path) => /(^|\/|-)(utils?|helpers?|common|misc|shared|stuff|lib)(\.|\/|-)/i.test(path))

/** Imports of files outside src. */
export const importsOutsideSource = (files: readonly SourceFile[]): string[] =>
  files.flatMap((file) =>
    innerImports(file)
      .filter(({ to }) => !to.startsWith('src/'))
      .map(({ to }) => `${file.path} imports ${to}`),
  )

/** The functions that determine a viewer before a verb runs, or that verbs call to check rights. */
const BELOW_VERBS = /^src\/domain\/(authorize|known-actor)\.ts$/

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
    .filter(({ path }) => domainFolderOf(path) !== null && !BELOW_VERBS.test(path))
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
