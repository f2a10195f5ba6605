// The architecture rules that the compiler does not check, for example allowed imports, SQL only in store/, and the
// length of files. Each rule is applied to the source tree, and to small trees that break it.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { VERBS } from '../../src/domain/kernel/rights/rights.ts'
import {
  meaninglessNames,
  fileCycles,
  importsOutsideSource,
  longFiles,
  misplacedEnvironment,
  misplacedGraphQL,
  misplacedPackages,
  misplacedSql,
  misplacedTests,
  outsideAreas,
  unitTestsWithServices,
  unauthorizedVerbs,
  verbsOf,
  withoutHeader,
  wrongDomainOrder,
  wrongFolderSizes,
  wrongLayer,
  repeatedStatementNames,
  scopedFindUnique,
  misnamedStatements,
  misplacedPrivateMembers,
  PRIVATE_PARTS,
  DOMAIN_ORDER,
  shortFiles,
  ownIntervals,
  timesOfTheProcess,
} from './architecture/rules.ts'
import { innerImports, packageImports, parseSource, readSources, root, type SourceFile } from './architecture/source.ts'

const files = readSources('src')
const tests = readSources('test')

/** Parses the given texts, by path, as a source tree. */
const tree = (texts: Record<string, string>) => Object.entries(texts).map(([path, text]) => parseSource(path, text))

type Rule = (files: readonly SourceFile[]) => string[]

/** Each rule, with trees that break it and the violations that it reports for them. */
const RULES: [description: string, rule: Rule, broken: [files: Record<string, string>, violations: string[]][]][] = [
  [
    'a layer imports only layers below it',
    wrongLayer,
    [
      [
        { 'src/store/db/db.ts': `import { x } from '../../domain/kernel/view.ts'` },
        ['src/store/db/db.ts imports src/domain/kernel/view.ts'],
      ],
      [
        {
          'src/graphql/turn/turn.ts': `import { x } from '../../store/db/db.ts'\nimport type { T } from '../../store/db/tx.ts'`,
        },
        ['src/graphql/turn/turn.ts imports src/store/db/db.ts'],
      ],
      [
        { 'src/domain/kernel/view.ts': `import type { Config } from '../../config/config.ts'` },
        ['src/domain/kernel/view.ts imports types of src/config/config.ts'],
      ],
      [{ 'src/somewhere/x.ts': '' }, ['src/somewhere/x.ts belongs to no layer']],
    ],
  ],
  [
    'a part of the domain imports only parts below it, types included',
    wrongDomainOrder,
    [
      [
        { 'src/domain/turn/turn.ts': `import type { Fact } from '../memory/fact/fact.ts'` },
        ['src/domain/turn/turn.ts imports src/domain/memory/fact/fact.ts'],
      ],
      [
        { 'src/domain/turn/append/append.ts': `import { commitTurn } from '../streaming/stream.ts'` },
        ['src/domain/turn/append/append.ts imports src/domain/turn/streaming/stream.ts'],
      ],
      [
        { 'src/domain/kernel/platform.ts': `import type { Feeds } from '../turn/journal/feed.ts'` },
        ['src/domain/kernel/platform.ts imports src/domain/turn/journal/feed.ts'],
      ],
      [
        { 'src/domain/turn/append/append.ts': `import type { Deps } from '../../deps.ts'` },
        ['src/domain/turn/append/append.ts imports src/domain/deps.ts'],
      ],
      [{ 'src/domain/turn/turn.ts': `import { append } from './append/append.ts'` }, []],
      [{ 'src/domain/mood/mood.ts': '' }, ['src/domain/mood/mood.ts belongs to no part of DOMAIN_ORDER']],
    ],
  ],
  [
    'graphql/, domain/ and store/sql/ have the same areas',
    outsideAreas,
    [
      [{ 'src/graphql/turn.ts': '', 'src/graphql/schema.ts': '' }, ['src/graphql/turn.ts']],
      [{ 'src/store/sql/title/read-titles.ts': '' }, ['src/store/sql/title/read-titles.ts']],
      [{ 'src/domain/memory/as-of.ts': '', 'src/domain/deps.ts': '', 'src/domain/background/jobs.ts': '' }, []],
    ],
  ],
  [
    'a folder has at least two entries, and at most 15 files',
    wrongFolderSizes,
    [
      [
        { 'src/main.ts': '', 'src/bus/bus.ts': '', 'src/bus/redis/redis.ts': '' },
        ['src/bus/redis has 1 files, 1 entries'],
      ],
      [
        Object.fromEntries(
          ['src/main.ts', ...Array.from({ length: 16 }, (_, n) => `src/text/file-${n}.ts`)].map((path) => [path, '']),
        ),
        ['src/text has 16 files, 16 entries'],
      ],
    ],
  ],
  [
    'every prepared statement has a name of its own',
    repeatedStatementNames,
    [
      [
        { 'src/store/a.ts': `const a = { name: 'read-time' }`, 'src/store/b.ts': `sql(named('read-time'))` },
        ['src/store/b.ts uses the name read-time of a statement in src/store/a.ts'],
      ],
    ],
  ],
  [
    'no file imports itself through other files, types included',
    fileCycles,
    [
      [
        { 'src/server/a.ts': `import type { B } from './b.ts'`, 'src/server/b.ts': `import { a } from './a.ts'` },
        ['src/server/a.ts → src/server/b.ts → src/server/a.ts'],
      ],
      [
        { 'src/server/a.ts': `const b = await import('./b.ts')`, 'src/server/b.ts': `export { a } from './a.ts'` },
        ['src/server/a.ts → src/server/b.ts → src/server/a.ts'],
      ],
    ],
  ],
  [
    'a package is imported at run time only by its layer',
    misplacedPackages,
    [
      [
        { 'src/domain/kernel/view.ts': `import pg from 'pg'\nimport type { Pool } from 'pg'` },
        ['src/domain/kernel/view.ts imports pg'],
      ],
      [{ 'src/server/live/ws.ts': `import OpenAI from 'openai'` }, ['src/server/live/ws.ts imports openai']],
    ],
  ],
  [
    'only graphql/, faces/ and server/ import GraphQL packages, types included',
    misplacedGraphQL,
    [[{ 'src/domain/kernel/view.ts': `import type { GraphQLError } from 'graphql'` }, ['src/domain/kernel/view.ts']]],
  ],
  [
    'the environment is read only in config/',
    misplacedEnvironment,
    [
      [{ 'src/server/live/ws.ts': 'const port = process.env.PORT' }, ['src/server/live/ws.ts']],
      [{ 'src/server/live/ws.ts': `import { env } from 'node:process'` }, ['src/server/live/ws.ts']],
    ],
  ],
  [
    'the domain uses the timers and the time of deps.clock',
    timesOfTheProcess,
    [
      [{ 'src/domain/wait.ts': 'setTimeout(resolve, 5)' }, ['src/domain/wait.ts']],
      [{ 'src/domain/wait.ts': 'const timer = setInterval(renew, 5).unref()' }, ['src/domain/wait.ts']],
      [{ 'src/domain/wait.ts': `import { setTimeout as sleep } from 'node:timers/promises'` }, ['src/domain/wait.ts']],
      [{ 'src/domain/wait.ts': 'const until = performance.now() + 5' }, ['src/domain/wait.ts']],
      [{ 'src/domain/wait.ts': 'const until = Date.now() + 5' }, ['src/domain/wait.ts']],
      [{ 'src/domain/wait.ts': 'await sleep(systemClock, 5)' }, ['src/domain/wait.ts']],
      [{ 'src/domain/wait.ts': 'clock.setTimeout(resolve, clock.performance.now() - clock.Date.now())' }, []],
      [{ 'src/server/live/ws.ts': 'setTimeout(resolve, 5)' }, []],
    ],
  ],
  [
    'only every() of clock.ts and the client start intervals',
    ownIntervals,
    [
      [{ 'src/server/live/ws.ts': 'const timer = clock.setInterval(ping, 5)' }, ['src/server/live/ws.ts']],
      [{ 'src/store/db/db.ts': 'setInterval(maintain, 5).unref()' }, ['src/store/db/db.ts']],
      [
        {
          'src/runtime/clock.ts': 'clock.setInterval(run, 5)',
          'src/client/conversation/write.ts': 'setInterval(beat, 5)',
        },
        [],
      ],
    ],
  ],
  [
    'SQL is written only in store/',
    misplacedSql,
    [
      [{ 'src/domain/kernel/view.ts': 'await pool.query(text)' }, ['src/domain/kernel/view.ts']],
      [{ 'src/domain/kernel/view.ts': 'const text = `\n  SELECT 1`' }, ['src/domain/kernel/view.ts']],
      [{ 'src/graphql/turn/turn.ts': 'await db.$queryRaw`x`' }, ['src/graphql/turn/turn.ts']],
    ],
  ],
  [
    'findUnique is called in transactions only',
    scopedFindUnique,
    [
      [
        {
          'src/domain/turn/turn.ts': 'await db.of(tenant).turn.findUnique({ where })',
          'src/domain/turn/pin.ts': 'await tx.turn.findUniqueOrThrow({ where })',
        },
        ['src/domain/turn/turn.ts'],
      ],
    ],
  ],
  [
    'a file of one statement has its name, and a file of several that of their notion',
    misnamedStatements,
    [
      [
        {
          'src/store/sql/turn/page-turns.ts': 'export const pageTurns = 1',
          'src/store/sql/turn/read-turns.ts': 'export async function readTurns() {}',
          'src/store/sql/turn/count-turns.ts': 'export const countUnread = 1',
          'src/store/sql/memory/fact/facts.ts': 'export const insertFacts = 1',
        },
        ['src/store/sql/turn/count-turns.ts exports no countTurns'],
      ],
    ],
  ],
  [
    'only the files of PRIVATE_PARTS use private members of packages',
    misplacedPrivateMembers,
    [
      [
        {
          'src/store/db/scoped-query.ts': 'this._result.fields',
          'src/store/db/tenant-pool.ts': `client._connected || client?.['_ending']`,
          'src/bus/redis.ts': 'const _unused = (row) => row.name_',
        },
        ['src/store/db/tenant-pool.ts'],
      ],
    ],
  ],
  [
    'a verb of the domain calls authorize with its name first',
    unauthorizedVerbs,
    [
      [
        {
          'src/index.ts': `export { getTurns, pinTurn, type Turn } from './domain/turn/turn.ts'`,
          'src/domain/turn/turn.ts':
            `export async function getTurns({ db }: Deps, viewer: Viewer): Promise<X> {\n  authorize(viewer, 'getTurn')\n}\n`
            + `export const pinTurn = (deps: Deps, viewer: Viewer) => pin(deps)\n`
            + `export function inner(deps: Deps, viewer: Viewer) {\n  return pin(deps)\n}\n`,
        },
        [
          'src/domain/turn/turn.ts: getTurns does not call authorize first',
          'src/domain/turn/turn.ts: pinTurn does not call authorize first',
        ],
      ],
    ],
  ],
  [
    'a file has at most 300 lines',
    longFiles,
    [[{ 'src/bus/bus.ts': 'x\n'.repeat(301) }, ['src/bus/bus.ts has 301 lines; at most 300 are allowed']]],
  ],
  [
    'a file has at least 25 lines, except ports, entry points, statements and some others',
    shortFiles,
    [
      [
        {
          'src/text/openai-name.ts': 'x\n'.repeat(24),
          'src/text/title.ts': 'x\n'.repeat(25),
          'src/providers/ports/reranker.ts': '',
          'src/domain/memory/recall/deps.ts': '',
          'src/domain/agent/run/lease-deps.ts': '',
        },
        [
          'src/text/openai-name.ts has 24 lines; at least 25 are required',
          'src/domain/agent/run/lease-deps.ts has 1 lines; at least 25 are required',
        ],
      ],
    ],
  ],
  [
    'a file begins with a comment that states its responsibility',
    withoutHeader,
    [
      [{ 'src/bus/bus.ts': `import { x } from './x.ts'` }, ['src/bus/bus.ts']],
      [{ 'src/bus/bus.ts': '// The bus.' }, ['src/bus/bus.ts']],
    ],
  ],
  [
    'a file has a meaningful name',
    meaninglessNames,
    [
      [
        { 'src/bus/redis-utils.ts': '', 'test/helpers/wait.ts': '' },
        ['src/bus/redis-utils.ts', 'test/helpers/wait.ts'],
      ],
    ],
  ],
  [
    'src imports nothing outside src',
    importsOutsideSource,
    [
      [
        { 'src/bus/bus.ts': `import { fake } from '../../test/support/fake.ts'` },
        ['src/bus/bus.ts imports test/support/fake.ts'],
      ],
    ],
  ],
]

describe('the source tree', () => {
  it('is parsed with its imports', () => {
    expect(files.length).toBeGreaterThan(60)
    expect(files.flatMap(innerImports).length).toBeGreaterThan(200)
    const [pothos] = files.filter(({ path }) => path === 'src/graphql/kernel/builder.ts').map(packageImports)
    expect(pothos).toContainEqual({ to: '@pothos/core', isType: false })
  })

  it.each(RULES)('follows the rule: %s', (_, rule) => {
    expect(rule(files)).toEqual([])
  })

  it('declares each verb of the table of rights, and no other', () => {
    const names = verbsOf(files).map(({ name }) => name)
    expect(names.toSorted()).toEqual(Object.keys(VERBS).toSorted())
  })

  it('has tests with meaningful file names', () => {
    expect(meaninglessNames(tests)).toEqual([])
  })

  it('has each test at the path of the file that it tests', () => {
    expect(misplacedTests(tests, files)).toEqual([])
    const placed = ['test/unit/bus/bus.test.ts', 'test/system/bus/redis.lost.test.ts', 'test/system/outages.test.ts']
    const moved = ['test/backend/bus/lost.test.ts', 'test/bus/redis.test.ts', 'test/outages.test.ts']
    const paths = tree(Object.fromEntries([...placed, ...moved].map((path) => [path, ''])))
    expect(misplacedTests(paths, tree({ 'src/bus/redis.ts': '', 'src/bus/bus/port.ts': '' }))).toEqual(moved)
  })

  it('has no unit test that reaches a socket, a process or a database', () => {
    expect(unitTestsWithServices(tests)).toEqual([])
    const wrong = tree({
      'test/unit/a.test.ts': `import { x } from '../support/x.ts'`,
      'test/unit/b.test.ts': `import type { x } from '../support/x.ts'`,
      'test/backend/c.test.ts': `import { x } from '../support/x.ts'`,
      'test/support/x.ts': `import { createServer } from 'node:http'`,
    })
    expect(unitTestsWithServices(wrong)).toEqual(['test/unit/a.test.ts'])
  })
})

describe.each(RULES)('the rule "%s"', (_, rule, broken) => {
  it.each(broken)('reports the violations of %j', (texts, violations) => {
    expect(rule(tree(texts))).toEqual(violations)
  })
})

describe('lists of the rules', () => {
  it('DOMAIN_ORDER names each part once', () => {
    expect(DOMAIN_ORDER).toEqual([...new Set(DOMAIN_ORDER)])
  })

  it.each(Object.entries(PRIVATE_PARTS))(
    'package.json requires one version of the package that %s uses',
    (path, name) => {
      const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
        dependencies: Record<string, string>
      }
      expect(dependencies[name]).toMatch(/^\d+\.\d+\.\d+$/)
      expect(files.find((file) => file.path === path)?.imports.map(({ from }) => from)).toContain(name)
    },
  )
})

describe('migrations', () => {
  const directory = join(root, 'prisma/migrations')
  const entries = readdirSync(directory, { withFileTypes: true })

  it('have the file layout of Prisma', () => {
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
