// Checks that the documents agree with the repository: settings, scripts, errors, operations, links and paths.
// docs-examples.test.ts runs their examples.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { buildSchema, parse, validate } from 'graphql'
import { describe, expect, it } from 'vitest'
import { secretFileVariables, variables } from '../../src/config/config.ts'
import { ANSWER_BYTES, MAX_WAITING_FOR_BYTES } from '../../src/domain/answer-budget.ts'
import { MAX_WAITING_LOOKUPS } from '../../src/domain/api-key/look-up.ts'
import { CATCH_UP_BYTES, VIEWER_SUBSCRIPTIONS } from '../../src/domain/event/feeds.ts'
import { MAX_RECENT_TURNS } from '../../src/domain/context/options.ts'
import { MAX_EXTRACTED_TURNS } from '../../src/domain/fact/extract.ts'
import { MAX_UNREAD } from '../../src/domain/participant-details.ts'
import { MAX_WAITING_ANSWERS } from '../../src/domain/tenant-gates.ts'
import { MAX_WAITING } from '../../src/limits/gate.ts'
import { MAX_SESSIONS, MAX_SUBSCRIPTIONS } from '../../src/domain/mcp-session.ts'
import type { Caller } from '../../src/faces/mcp/caller.ts'
import { listPrompts } from '../../src/faces/mcp/prompts.ts'
import { TEMPLATES } from '../../src/faces/mcp/resources.ts'
import { TOOLS } from '../../src/faces/mcp/tools.ts'
import { TIMEOUT } from '../../src/faces/mcp/wait.ts'
import { STATUS } from '../../src/faces/rest/problem.ts'
import { verbEntries } from '../../src/faces/verbs.ts'
import { FREE_BYTES } from '../../src/graphql/limits/answer-share.ts'
import { LARGE_ANSWER_VALUES } from '../../src/graphql/limits/plugin.ts'
import { MAX_PROVIDERS } from '../../src/domain/provider.ts'
import { MAX_REPLY_BYTES, MAX_REPLY_CALLS } from '../../src/providers/chat-adapter.ts'
import { HISTORY_BYTES, MIN_SHARE_BYTES, PAGE_BYTES } from '../../src/domain/turn/history.ts'
import * as errors from '../../src/errors.ts'
import { MAX_TOKEN_LENGTH, REMEMBERED_BYTES } from '../../src/server/auth/authenticator.ts'
import { ADDRESS_BODY_BYTES, LARGE_BODY_BYTES, TOTAL_BODY_BYTES } from '../../src/server/body-gate.ts'
import { MAX_CONNECTIONS } from '../../src/server/http.ts'
import { MESSAGE_BURST, MESSAGES_PER_SECOND } from '../../src/server/socket.ts'
import { METRICS } from '../../src/server/metrics.ts'
import { TOTAL_WAITING_BYTES } from '../../src/server/outbox.ts'
import { JOURNAL_PAGE_BYTES } from '../../src/store/sql/event/read-journal.ts'
import { innerImports, readSources } from './architecture/source.ts'
import { anchors, blocks, documents, readDocument, root, table, unquoted, type Document } from '../support/documents.ts'

const { scripts, ...packageJson } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string
  scripts: Record<string, string>
}
const namesIn = (folder: string) => readdirSync(join(root, folder))
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
    const paths = documents.map(({ path }) => path).filter((path) => path !== 'README.md')
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

describe('docs/concepts.md', () => {
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
      new errors.DatabaseUnavailable(),
      new errors.ReadTimeout(1),
    ]
    const classes = instances.map((error) => error.constructor.name)
    // No result contains Unavailable, because any field may fail with it. ServerBusy is abstract.
    const omitted = new Set(['DomainError', 'Unavailable', 'ServerBusy'])
    const exported = Object.keys(errors).filter((name) => !omitted.has(name))
    expect(classes.toSorted()).toEqual(exported.sort())
    const rows = table(document('docs/concepts.md'), '| Code |').map(([code, type]) => [
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
  it('states the limits that the constants define', () => {
    const rows = new Map(table(document('docs/operations.md'), '| What |').map(([what, limit]) => [what, limit]))
    const whole = (count: number) => count.toLocaleString('en-US')
    const MiB = (bytes: number) => `${bytes / 2 ** 20} MiB`
    const ofBodies = rows.get('bytes that have arrived of the bodies of requests in progress')
    expect(ofBodies).toContain(`${MiB(TOTAL_BODY_BYTES)} in total, ${MiB(ADDRESS_BODY_BYTES)} from one address`)
    expect(ofBodies).toContain(`${MiB(LARGE_BODY_BYTES)} of bodies above`)
    expect(rows.get('length of a token')).toBe(`${whole(MAX_TOKEN_LENGTH)} characters`)
    expect(rows.get('API keys that wait to be looked up')).toBe(whole(MAX_WAITING_LOOKUPS))
    const remembered = rows.get('tokens that are remembered by their hashes')
    for (const bytes of Object.values(REMEMBERED_BYTES)) expect(remembered).toContain(MiB(bytes))
    expect(rows.get('open connections')).toBe(whole(MAX_CONNECTIONS))
    expect(rows.get('messages from one WebSocket')).toBe(
      `${whole(MESSAGES_PER_SECOND)} per second, ${whole(MESSAGE_BURST)} at once`,
    )
    expect(rows.get('subscriptions of one viewer, Server-Sent Events included')).toBe(whole(VIEWER_SUBSCRIPTIONS))
    expect(rows.get('data that all clients have not read, over every transport')).toContain(MiB(TOTAL_WAITING_BYTES))
    expect(
      rows.get(`answers of more than ${FREE_BYTES / 1024} KiB that are being rendered or wait to be written`),
    ).toContain(MiB(ANSWER_BYTES))
    expect(rows.get('operations that wait for this memory')).toBe(
      `${MAX_WAITING_FOR_BYTES.total} in total, ${MAX_WAITING_FOR_BYTES.perViewer} per viewer`,
    )
    expect(rows.get('pages that readers hold while they catch up')).toContain(MiB(CATCH_UP_BYTES))
    expect(rows.get('page of the journal for a reader that catches up')).toContain(`${JOURNAL_PAGE_BYTES / 1024} KiB`)
  })

  it('states the limits of chat providers', () => {
    const rows = new Map(
      table(document('docs/operations.md'), '| What | Maximum |').map(([what, limit]) => [what, limit]),
    )
    expect(rows.get('size of one reply of a chat provider: its text and the arguments of its calls')).toBe(
      `${MAX_REPLY_BYTES / 2 ** 20} MiB`,
    )
    expect(rows.get('tool calls of one reply of a chat provider')).toBe(String(MAX_REPLY_CALLS))
    expect(rows.get('configured chat providers')).toBe(String(MAX_PROVIDERS))
  })

  it('states the limits of each tenant', () => {
    const fairness = table(document('docs/operations.md'), '| Work |')
    const rows = new Map(fairness.map(([what, limit]) => [what, limit]))
    const beside = new Map(fairness.map(([what, , limit]) => [what, limit]))
    const whole = (count: number) => count.toLocaleString('en-US')
    expect(beside.get('queries with such an answer that wait')).toBe(whole(MAX_WAITING_ANSWERS))
    expect(beside.get(`queries with an estimated answer of at least ${whole(LARGE_ANSWER_VALUES)} values`)).toContain(
      '2',
    )
    expect(rows.get('other work of one of these kinds that waits')).toBe(whole(MAX_WAITING))
    expect(rows.get('turns that one `extractFacts` reads')).toContain(whole(MAX_EXTRACTED_TURNS))
    expect(rows.get('recent turns of a context')).toContain(whole(MAX_RECENT_TURNS))
    expect(rows.get('unread turns that are counted for a participant')).toBe(whole(MAX_UNREAD))
    const sizes = new Map(table(document('docs/operations.md'), '| Limit |').map(([what, limit]) => [what, limit]))
    expect(sizes.get('turns on one page')).toContain(`${PAGE_BYTES / 2 ** 20} MiB`)
    expect(sizes.get('turns on one page')).toContain(`${MIN_SHARE_BYTES / 1024} KiB`)
    expect(sizes.get('turns in one `history`')).toContain(`${HISTORY_BYTES / 2 ** 20} MiB`)
  })

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

  it('shows every folder of the domain, above the folders that it imports', () => {
    const diagrams = blocks(document('docs/architecture.md'), 'mermaid').map(({ text }) => text)
    const diagram = diagrams.find((text) => text.includes('background/'))!
    const shown = [...new Set([...diagram.matchAll(/([a-z-]+)\//g)].map(([, folder]) => folder!))]
    expect(shown.toSorted()).toEqual(namesIn('src/domain').filter((name) => !name.includes('.')))

    const folderOf = (path: string) => /^src\/domain\/([a-z-]+)\//.exec(path)?.[1]
    const imports = readSources('src/domain').flatMap((file) => {
      const from = folderOf(file.path)
      return innerImports(file).flatMap(({ to }) => {
        const folder = folderOf(to)
        return from && folder && from !== folder ? [`${from} → ${folder}`] : []
      })
    })
    expect(imports.length).toBeGreaterThan(10)
    const upwards = [...new Set(imports)].filter((each) => {
      const [from, to] = each.split(' → ').map((folder) => shown.indexOf(folder))
      return from! >= to!
    })
    expect(upwards).toEqual([])
  })
})

describe('CHANGELOG.md', () => {
  it('has a section for the version of package.json', () => {
    expect(document('CHANGELOG.md').text).toContain(`\n## [${packageJson.version}]`)
  })
})

describe('CONTRIBUTING.md', () => {
  it('lists every script of package.json', () => {
    const listed = table(document('CONTRIBUTING.md'), '| Script |').map(([script]) =>
      unquoted(script!).replace(/^npm (run )?/, ''),
    )
    const internal = /^(pre|post)/
    expect(listed.sort()).toEqual(
      Object.keys(scripts)
        .filter((name) => !internal.test(name))
        .sort(),
    )
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
