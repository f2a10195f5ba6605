// The schema is a contract: within a major version it only grows, and CHANGELOG.md names the breaking changes of a new
// major version.

import { readFileSync } from 'node:fs'
import { buildSchema } from 'graphql'
import { describe, expect, it } from 'vitest'
import {
  changesSince,
  CONTRACT,
  printContract,
  printRelease,
  problemsOf,
  problemsOfRelease,
  readRelease,
} from '../../../scripts/contract.ts'
import { variables } from '../../../src/config/config.ts'
import { schema } from '../../../src/graphql/schema.ts'

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
const changelog = read('CHANGELOG.md')
const { version, scripts } = JSON.parse(read('package.json'))
const current = { version, schema, settings: variables.map(({ name }) => name), scripts: Object.keys(scripts) }

describe('the schema', () => {
  it('follows the last release: breaking changes have a new major version, and the changelog names additions', () => {
    expect(problemsOf(readRelease(readFileSync(CONTRACT, 'utf8')), current, changelog)).toEqual([])
  })

  it('is printed with every directive that it uses', () => {
    expect(() => buildSchema(printContract(schema))).not.toThrow()
    expect(printContract(schema)).toContain('directive @oneOf on INPUT_OBJECT')
  })

  it('is read from a release file exactly as it was printed', () => {
    const release = readRelease(printRelease({ ...current, version: '1.2.3' }))
    expect(release).toEqual({ ...current, version: '1.2.3', schema: release.schema })
    expect(printContract(release.schema)).toBe(printContract(schema))
    expect(() => readRelease(printContract(schema))).toThrow('does not begin with its version')
  })
})

const BEFORE = `
  type Query { turn(id: ID, key: String, first: Int = 50): Turn, gone: Int }
  interface Named { name: String }
  type Turn implements Named { name: String, text: String }
  union Any = Turn | Other
  type Other { x: Int }
  enum Role { USER, TOOL }
  input In { a: Int }`
const names = { settings: ['PORT'], scripts: ['start'] }
const last = { version: '1.4.0', schema: buildSchema(BEFORE), ...names }
const next = (of: string, text: string) => ({ version: of, schema: buildSchema(text), ...names })

describe('a breaking change', () => {
  it.each([
    ['a removed field', { 'gone: Int': '' }, 'Query.gone'],
    ['a removed type', { '| Other': '', 'type Other { x: Int }': '' }, 'Other'],
    ['a removed argument', { ', key: String': '' }, 'Query.turn'],
    ['a new required argument', { 'key: String': 'key: String, more: Int!' }, 'Query.turn'],
    ['another default', { 'Int = 50': 'Int = 20' }, 'Query.turn'],
    ['another field type', { 'text: String': 'text: Int' }, 'Turn.text'],
    ['a removed enum value', { 'USER, TOOL': 'USER' }, 'Role.TOOL'],
    ['a removed union member', { '| Other': '' }, 'Any'],
    ['a new required input field', { 'a: Int': 'a: Int, b: Int!' }, 'In.b'],
    ['a removed interface', { ' implements Named': '' }, 'Turn'],
  ])('is refused unless a new major version names it: %s', (_, changes, coordinate) => {
    const after = Object.entries(changes).reduce((text, [from, to]) => text.replace(from, to), BEFORE)
    const found = (of: string, lines: string) =>
      problemsOf(last, next(of, after), `# Changelog\n\n## [Unreleased]\n${lines}\n\n## [1.4.0] - 2026-01-01\n`)
    const named = `\n- \`${coordinate}\` changed.\n`
    expect(found('1.5.0', named)).toEqual(found('1.4.0', ''))
    expect(found('1.5.0', named)[0]).toMatch(/^Breaking change since 1\.4\.0: .*raise the version in .* to 2\.0\.0\.$/)
    expect(found('2.0.0', '')[0]).toMatch(/^Breaking change since 1\.4\.0: .*Name `[\w.]+` in the topmost section/)
    expect(found('2.0.0', named).length).toBeLessThan(found('2.0.0', '').length)
  })

  it('is not a new field, type, optional argument, enum value or union member', () => {
    const after = `${BEFORE.replace('gone: Int', 'gone: Int').replace('name: String, text: String', 'name: String, text: String, more(x: Int): New').replace('TOOL', 'TOOL, NEW').replace('Turn | Other', 'Turn | Other | New')} type New { y: Int }`
    expect(problemsOf(last, next('1.4.0', after), '')).toEqual([])
  })
})

describe('an addition', () => {
  const after = {
    ...next('1.5.0', `${BEFORE.replace('gone: Int', 'gone: Int, more: Int')} type Mutation { add: Int }`),
    settings: ['PORT', 'HOST'],
    scripts: ['start', 'test:long'],
  }
  const found = (lines: string) => problemsOf(last, after, `\n## [Unreleased]\n${lines}\n\n## [1.4.0] - 2026-01-01\n`)

  it('of a root field, a setting or a script is named in the changelog', () => {
    expect(found('')).toEqual([
      'New root field since 1.4.0: name `more` in the topmost section of CHANGELOG.md.',
      'New root field since 1.4.0: name `add` in the topmost section of CHANGELOG.md.',
      'New setting since 1.4.0: name `HOST` in the topmost section of CHANGELOG.md.',
      'New script since 1.4.0: name `test:long` in the topmost section of CHANGELOG.md.',
    ])
    expect(found('- `add(x: 1)` and `more` are new, and so are `HOST` and the script `test:long`.')).toEqual([])
  })

  it('is not named by another word', () => {
    expect(found('- `added`, more and `test`.')).toHaveLength(4)
  })
})

describe('a release', () => {
  const more = BEFORE.replace('x: Int', 'x: Int, more: Int')
  const sections = '\n## [Unreleased]\n\n## [1.5.0] - 2026-02-01\n\n- `Query.gone`.\n\n## [1.4.0] - 2026-01-01\n'

  it('needs a version of its own, with a dated section in the changelog', () => {
    expect(problemsOfRelease(last, next('1.5.0', more), sections)).toEqual([])
    expect(problemsOfRelease(last, next('1.4.0', more), sections)).toEqual([
      'Version 1.4.0 is released: raise the version in package.json before the next release.',
    ])
    expect(problemsOfRelease(last, next('1.6.0', more), sections)).toEqual([
      'CHANGELOG.md has no section "## [1.6.0] - YYYY-MM-DD".',
    ])
    expect(problemsOfRelease(last, next('1.3.9', more), sections)[0]).toBe(
      'package.json has version 1.3.9, but 1.4.0 is released.',
    )
  })

  it('may be repeated while only descriptions differ', () => {
    expect(problemsOfRelease(last, next('1.4.0', `"The root."${BEFORE}`), sections)).toEqual([])
  })

  it('is followed by the changes that the changelog names above it', () => {
    expect(changesSince(sections, '1.4.0')).toContain('`Query.gone`')
    expect(changesSince(sections, '1.5.0')).not.toContain('`Query.gone`')
  })
})
