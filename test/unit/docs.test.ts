// Checks that the documents agree with the repository: settings, scripts, errors, operations, links and paths.
// docs-examples.test.ts runs their examples.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { buildSchema, parse, validate, type GraphQLInputObjectType } from 'graphql'
import { describe, expect, it } from 'vitest'
import { secretFileVariables, variables } from '../../src/config/config.ts'
import { MAX_WAITING_ANSWERS } from '../../src/domain/kernel/limits/tenant-gates.ts'
import { MAX_WAITING } from '../../src/runtime/limits/gate.ts'
import { MAX_SESSIONS, MAX_SUBSCRIPTIONS } from '../../src/domain/kernel/live/mcp-session.ts'
import type { Caller } from '../../src/faces/mcp/caller.ts'
import { listPrompts } from '../../src/faces/mcp/prompts.ts'
import { TEMPLATES } from '../../src/faces/mcp/resources.ts'
import { TOOLS } from '../../src/faces/mcp/tools.ts'
import { TIMEOUT } from '../../src/faces/mcp/wait.ts'
import { STATUS } from '../../src/faces/rest/problem.ts'
import { verbEntries } from '../../src/faces/verbs.ts'
import { LARGE_ANSWER_VALUES } from '../../src/graphql/kernel/limits/plugin.ts'
import * as errors from '../../src/errors.ts'
import { METRICS } from '../../src/server/load/metrics.ts'
import { DOMAIN_ORDER } from './architecture/rules.ts'
import { readSources } from './architecture/source.ts'
import { anchors, blocks, documents, readDocument, root, table, unquoted, type Document } from '../support/documents.ts'

const { scripts, ...packageJson } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string
  scripts: Record<string, string>
}
const namesIn = (folder: string) => readdirSync(join(root, folder))
const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => `test/${name}`)
const document = (path: string): Document => documents.find((each) => each.path === path)!

/** The document's links to files of the repository: the path from its root, and the heading id, if any. */
const linksOf = ({ path, prose }: Document) =>
  [...prose.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)].map(([, to, anchor]) => ({
    to: to === '' ? path : normalize(join(dirname(path), to!)),
    anchor,
  }))

describe('README.md', () => {
  it('is at most 200 lines long', () => {
    expect(document('README.md').text.trimEnd().split('\n').length).toBeLessThanOrEqual(200)
  })

  it('links to every page of docs/ and to the other documents', () => {
    const linked = new Set(linksOf(document('README.md')).map(({ to }) => to))
    // CONTRIBUTING.md links to those of scripts/.
    const paths = documents
      .map(({ path }) => path)
      .filter((path) => path !== 'README.md' && !path.startsWith('scripts/'))
    expect(paths.filter((path) => !linked.has(path))).toEqual([])
  })
})

describe('docs/configuration.md', () => {
  it('lists every setting with its default and meaning, in the order of config.ts', () => {
    const rows = table(document('docs/configuration.md'), '| Variable |').map(([name, value, meaning]) => ({
      name: unquoted(name!),
      default: unquoted(value!) || undefined,
      meaning,
    }))
    expect(rows).toEqual(variables)
  })

  it('lists every variable that names the file of a secret', () => {
    const [line] = document('docs/configuration.md').text.match(/^Secrets may be read from files: [^.]*\./m)!
    expect([...line.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(secretFileVariables)
  })
})

describe('docs/reference.md', () => {
  it('lists every error class with its code', () => {
    const instances: errors.DomainError[] = [
      errors.InvalidInput.at('x', 'y'),
      new errors.NotFound('x', 'y'),
      new errors.UnknownActor('x'),
      new errors.NotAllowed('x'),
      new errors.Conflict('x'),
      new errors.LimitReached('x', 1),
      new errors.QuotaExceeded('x', { limit: 1, used: 2, reserved: 0 }, new Date()),
      new errors.StreamClosed('x', 'y'),
      new errors.ProviderFailed('x', true),
      new errors.BudgetTooSmall(1, 2),
      new errors.QueueFull(1),
      new errors.FileBusy(),
      new errors.DatabaseUnavailable(),
      new errors.ReadTimeout(1),
    ]
    const classes = instances.map((error) => error.constructor.name)
    // No result contains Unavailable, because any field may fail with it. ServerBusy is abstract.
    const omitted = new Set(['DomainError', 'Unavailable', 'ServerBusy'])
    const exported = Object.keys(errors).filter((name) => !omitted.has(name))
    expect(classes.toSorted()).toEqual(exported.sort())
    const rows = table(document('docs/reference.md'), '| Code |').map(([code, type]) => [
      unquoted(code!),
      unquoted(type!),
    ])
    expect(rows).toEqual(instances.map(({ code, constructor }) => [code, constructor.name]))
  })
})

describe('docs/streaming-and-subscriptions.md', () => {
  it('names a test for every rule of the protocol', () => {
    const rules = table(document('docs/streaming-and-subscriptions.md'), '| Rule |')
    expect(rules.length).toBeGreaterThan(7)
    for (const [rule, tests] of rules) expect(tests, rule).toMatch(/\]\(\.\.\/test\/[\w/-]+\.test\.ts\)/)
  })
})

describe('docs/operations.md', () => {
  it('lists every metric with its meaning', () => {
    const rows = table(document('docs/operations.md'), '| Metric |').map(([name, ...rest]) => [
      unquoted(name!),
      ...rest,
    ])
    expect(rows).toEqual(METRICS.map(({ name, type, help }) => [name, type, help]))
  })

  it('states the default of every threshold', () => {
    const rows = table(document('docs/operations.md'), '| Threshold |')
    const expected = variables
      .filter(({ name }) => name.endsWith('_EVERY_N'))
      .map(({ name, default: value }) => [name, value])
    expect(rows.map(([name, value]) => [unquoted(name!), value!.replace(/: off$/, '')])).toEqual(expected)
  })
})

describe('docs/limits.md', () => {
  const page = document('docs/limits.md')
  const rows = [...page.text.matchAll(/^\| (?<what>[^|]+) \| (?<limit>[^|]+) \| (?<by>[^|]*\S)? *\| [^|]*\|$/gm)]
    .map(({ groups }) => groups as { what: string; limit: string; by?: string })
    .filter(({ what, by }) => what !== 'What' && what !== 'Work' && by?.startsWith('`'))
  const schema = buildSchema(readFileSync(join(root, 'schema.graphql'), 'utf8'))

  /** The value of a constant of src, as its source states it; `name` may name a property of an object of numbers. */
  function constant(name: string, file: string): number {
    const [variable, property] = name.split('.')
    const source = readFileSync(join(root, 'src', file), 'utf8')
    const text = new RegExp(`^(?:export )?const ${variable}\\b[^=]*= (\\{[^}]*\\}|.*)`, 'm').exec(source)?.[1]
    const value = property ? new RegExp(`\\b${property}: ([^,}\\n]*)`).exec(text ?? '')?.[1] : text
    if (!value || !/^[\d\s_*]+$/.test(value)) throw new Error(`${file} has no number ${name}`)
    return value.split('*').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1)
  }

  /** The ways in which the page may print a number. */
  function printed(value: number, isTime: boolean): string[] {
    const whole = (count: number) => count.toLocaleString('en-US')
    if (isTime) {
      const units = { ms: 1, s: 1_000, days: 86_400_000 }
      return Object.entries(units).map(([unit, ms]) => `${whole(value / ms)} ${unit}`)
    }
    const days = `${value / 86_400} days`
    return [whole(value), `${value / 2 ** 10} KiB`, `${value / 2 ** 20} MiB`, `${value / 2 ** 20} Mi`, days]
  }
  const states = (limit: string, numbers: string[]) =>
    numbers.some((number) => new RegExp(`(?<![\\d,.])${number}(?![\\d,.]*\\d| ?[KM]iB|i)`).test(limit))

  it('has a source for most rows', () => {
    expect(rows.length).toBeGreaterThan(100)
  })

  it.each(rows)('states $what as $by does', ({ limit, by }) => {
    const [, name, file] = /^`([\w.]+)`(?: \(([\w/.-]+)\))?$/.exec(by!)!
    if (file) return expect(states(limit, printed(constant(name!, file), name!.endsWith('_MS'))), limit).toBe(true)
    const [type, field] = name!.split('.')
    if (field) {
      const { description } = (schema.getType(type!) as GraphQLInputObjectType).getFields()[field]!
      return expect(description).toContain(/[\d,]+/.exec(limit)![0])
    }
    const { default: value } = variables.find((each) => each.name === name)!
    expect(states(limit, printed(Number(value), name!.endsWith('_MS'))), `${name}=${value}`).toBe(true)
  })

  it('states the limits of each tenant', () => {
    const fairness = table(page, '| Work |')
    const beside = new Map(fairness.map(([what, , limit]) => [what, limit]))
    const whole = (count: number) => count.toLocaleString('en-US')
    expect(beside.get('queries with such an answer that wait')).toBe(whole(MAX_WAITING_ANSWERS))
    expect(beside.get(`queries with an estimated answer of at least ${whole(LARGE_ANSWER_VALUES)} values`)).toContain(
      '2',
    )
    const waiting = fairness.find(([what]) => what === 'other work of one of these kinds that waits')!
    expect(waiting[1]).toBe(whole(MAX_WAITING))
  })
})

describe('docs/rest.md', () => {
  it('lists the route of every verb', () => {
    const rows = table(document('docs/rest.md'), '| Route |').map((row) => row.map(unquoted))
    expect(rows).toEqual(verbEntries().map(([verb, { route }]) => [route, verb]))
  })

  it('lists every code whose status is not 400', () => {
    const rows = table(document('docs/rest.md'), '| Status |')
    const listed = new Map(
      rows.flatMap(([status, codes]) =>
        [...codes!.matchAll(/`([A-Z_]+)`/g)].map(([, code]) => [code!, Number(status)]),
      ),
    )
    for (const [code, status] of Object.entries(STATUS)) {
      if (code !== 'CONFLICT') expect([code, listed.get(code)]).toEqual([code, status])
    }
    expect(rows.find(([status]) => status === '409')![1]).toContain('`CONFLICT`')
  })
})

describe('docs/mcp.md', () => {
  it('lists every tool, resource and prompt', () => {
    const names = (head: string) => table(document('docs/mcp.md'), head).map(([name]) => unquoted(name!))
    expect(names('| Tool |')).toEqual(Object.keys(TOOLS))
    expect(names('| Resource |')).toEqual(TEMPLATES.map(({ uriTemplate }) => uriTemplate))
    const caller = { conversationId: null } as Caller
    expect(names('| Prompt |')).toEqual(listPrompts(caller).map(({ name }) => name))
  })

  it('states the limits', () => {
    const { text } = document('docs/mcp.md')
    expect(text).toContain(`at most ${MAX_SUBSCRIPTIONS} in a session`)
    expect(text).toContain(`at\nmost ${MAX_SESSIONS}; a further one`)
    expect(text).toContain(`waits up to ${TIMEOUT.maximum} s`)
  })
})

describe('docs/architecture.md', () => {
  it('shows only existing paths, and every folder and file of src', () => {
    const layout = blocks(document('docs/architecture.md'), 'text').find(({ text }) => text.startsWith('prisma/'))!.text
    const rows = layout.split('\n').filter((row) => row !== 'src/' && row !== '')
    const shown = rows.flatMap((row) => {
      const names = [...row.matchAll(/(?<=^| )[\w-]+(?:\/|\.(?:ts|prisma)\b)/g)].map(([name]) => name)
      const parent = row.startsWith(' ') ? 'src/' : ''
      // A row shows one folder with its subfolders, or a few files.
      return names.map((name, index) =>
        index > 0 && names[0]!.endsWith('/') ? parent + names[0] + name : parent + name,
      )
    })
    expect(shown.length).toBeGreaterThan(20)
    expect(shown.filter((path) => !existsSync(join(root, path)))).toEqual([])
    const entries = namesIn('src').map((name) => (name.includes('.') ? `src/${name}` : `src/${name}/`))
    expect(entries.filter((path) => !shown.includes(path))).toEqual([])
  })

  it('lists every cache', () => {
    const listed = table(document('docs/architecture.md'), '| Cache,').map(([file]) => `src/${unquoted(file!)}`)
    expect(listed.filter((path) => !existsSync(join(root, path)))).toEqual([])
    const caching = readSources('src').filter(({ code }) => code.includes('new LRUCache'))
    expect(caching.map(({ path }) => path).filter((path) => !listed.includes(path))).toEqual([])
  })

  it('lists the parts of the domain in their order', () => {
    const lists = blocks(document('docs/architecture.md'), 'text').map(({ text }) => text)
    const list = lists.find((text) => text.startsWith('deps '))!
    const parts = list.split('\n').filter(Boolean)
    expect(parts.map((part) => part.split(' ')[0]!).toReversed()).toEqual(DOMAIN_ORDER)
  })
})

describe('CHANGELOG.md', () => {
  it('has a section for the version of package.json', () => {
    expect(document('CHANGELOG.md').text).toContain(`\n## [${packageJson.version}]`)
  })
})

describe('CONTRIBUTING.md', () => {
  it('has at most 7 KB', () => {
    expect(Buffer.byteLength(document('CONTRIBUTING.md').text)).toBeLessThanOrEqual(7 * 1024)
  })
})

describe('scripts/README.md', () => {
  it('lists every script of package.json once', () => {
    const listed = [...document('scripts/README.md').text.matchAll(/^\| `npm (?:run )?([\w:-]+)` \|/gm)].map(
      ([, name]) => name,
    )
    const internal = /^(pre|post)/
    expect(listed.sort()).toEqual(
      Object.keys(scripts)
        .filter((name) => !internal.test(name))
        .sort(),
    )
  })
})

describe('scripts/bench/README.md', () => {
  it('lists every benchmark once', () => {
    const source = readFileSync(join(root, 'scripts/bench/main.ts'), 'utf8')
    const [, short] = source.match(/^const benchmarks: .* = \{\n([^]*?)^\}/m)!
    const [, long] = source.match(/^const longBenchmarks: .* = \{\n([^]*?)^\}/m)!
    const names = [...`${short}${long}`.matchAll(/^ {2}'?([\w-]+)/gm)].map(([, name]) => name!)
    const rows = table(document('scripts/bench/README.md'), '| Name |')
    expect(rows.flatMap(([cell]) => cell!.split(', ').map(unquoted)).toSorted()).toEqual(names.sort())
  })
})

describe.each(documents)('$path', (page) => {
  it('names the tarballs of the version in package.json', () => {
    const versions = [...page.text.matchAll(/colloquy(?:-client)?-(\d[\w.-]*)\.tgz/g)].map(([, version]) => version!)
    expect(versions.filter((version) => version !== packageJson.version)).toEqual([])
  })

  it('links only to existing files and headings', () => {
    const broken = linksOf(page).filter(({ to, anchor }) => {
      if (!existsSync(join(root, to))) return true
      return anchor !== undefined && to.endsWith('.md') && !anchors(readDocument(to)).includes(anchor)
    })
    expect(broken).toEqual([])
  })

  it('names only existing paths', () => {
    const folders = /^(src|test|docs|prisma|scripts|\.github|\.ci)\//
    const paths = [...page.prose.matchAll(/`([^`\s]+)`/g)]
      .map(([, path]) => path!)
      .filter((path) => folders.test(path) && !/[<*]/.test(path))
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  it('runs only tests that exist', () => {
    // Vitest ignores a word that no path contains as long as another word selects a file.
    const commands = [...page.text.matchAll(/\bvitest\.config\.ts((?:[^`\n#\\]|\\\n)*)/g)]
    const words = commands.flatMap(([, named]) => named!.split(/[\s\\]+/).filter((word) => word.includes('/')))
    const missing = words.filter((word) => !word.includes('<') && !tests.some((path) => path.includes(word)))
    expect(missing).toEqual([])
  })

  it('names only existing npm scripts', () => {
    const named = [...page.text.matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b(?!:))/g)].map(
      ([, run, own]) => run ?? own!,
    )
    expect(named.filter((name) => !scripts[name])).toEqual([])
  })

  it('names only existing settings', () => {
    const names = new Set([...variables.map(({ name }) => name), ...secretFileVariables])
    const external = /^(NODE_ENV|TEST_DATABASE_URL|TEST_REDIS_URL|TEST_EMBEDDED)$/
    const named = [...page.text.matchAll(/(?<![\w.])([A-Z][A-Z\d]*(?:_[A-Z\d]+)+)=/g)].map(([, name]) => name!)
    expect(named.filter((name) => !names.has(name) && !external.test(name))).toEqual([])
  })

  it('shows only GraphQL operations that are valid in the schema', () => {
    const schema = buildSchema(readFileSync(join(root, 'schema.graphql'), 'utf8'))
    for (const { text, line } of blocks(page, 'graphql')) {
      expect(validate(schema, parse(text)), `line ${line}`).toEqual([])
    }
  })

  it('uses the term conversation, not its synonyms', () => {
    const rooms = page.text.match(/\brooms?\b/gi) ?? []
    // Only the definition uses the word: a conversation is a room that several agents and people share.
    const definitions = page.text.match(/is a room that/g) ?? []
    expect(rooms.length).toBe(definitions.length)
  })
})
