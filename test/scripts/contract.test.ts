// The schema is a contract: CHANGELOG.md names each breaking change since the last release.

import { readFileSync } from 'node:fs'
import { buildSchema } from 'graphql'
import { describe, expect, it } from 'vitest'
import { CONTRACT, newestVersion, printContract, unnamedBreakingChanges } from '../../scripts/contract.ts'
import { schema } from '../../src/graphql/schema.ts'

const changelog = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8')

describe('the schema', () => {
  it('has no breaking change since the last release that CHANGELOG.md does not name', () => {
    const released = buildSchema(readFileSync(CONTRACT, 'utf8'))
    expect(unnamedBreakingChanges(released, schema, changelog)).toEqual([])
  })

  it('is printed with every directive that it uses', () => {
    expect(() => buildSchema(printContract(schema))).not.toThrow()
    expect(printContract(schema)).toContain('directive @oneOf on INPUT_OBJECT')
  })
})

describe('a breaking change', () => {
  const before = `
    type Query { turn(id: ID, key: String): Turn, gone: Int }
    interface Named { name: String }
    type Turn implements Named { name: String, text: String }
    union Any = Turn | Other
    type Other { x: Int }
    enum Role { USER, TOOL }
    input In { a: Int }`

  it.each([
    ['a removed field', { 'gone: Int': '' }, 'Query.gone'],
    ['a removed type', { '| Other': '', 'type Other { x: Int }': '' }, 'Other'],
    ['a removed argument', { ', key: String': '' }, 'Query.turn'],
    ['a new required argument', { 'key: String': 'key: String, more: Int!' }, 'Query.turn'],
    ['another field type', { 'text: String': 'text: Int' }, 'Turn.text'],
    ['a removed enum value', { 'USER, TOOL': 'USER' }, 'Role.TOOL'],
    ['a removed union member', { '| Other': '' }, 'Any'],
    ['a new required input field', { 'a: Int': 'a: Int, b: Int!' }, 'In.b'],
    ['a removed interface', { ' implements Named': '' }, 'Turn'],
  ])('is found unless the changelog names it: %s', (_, changes, coordinate) => {
    const after = Object.entries(changes).reduce((text, [from, to]) => text.replace(from, to), before)
    const found = (changes: string) =>
      unnamedBreakingChanges(buildSchema(before), buildSchema(after), `# Changelog\n\n## [2]\n${changes}`)
    expect(found('\n- Something.\n\n## [1]\n')).not.toEqual([])
    expect(found(`\n- \`${coordinate}\` changed.\n`).length).toBeLessThan(found('').length)
    expect(found(`\n## [1]\n\n- \`${coordinate}\` changed.\n`)).toEqual(found(''))
  })

  it('is not a new field, type, optional argument, enum value or union member', () => {
    const after = buildSchema(
      `${before.replace('gone: Int', 'gone: Int, more(x: Int): New').replace('TOOL', 'TOOL, NEW').replace('Turn | Other', 'Turn | Other | New')} type New { y: Int }`,
    )
    expect(unnamedBreakingChanges(buildSchema(before), after, '')).toEqual([])
  })
})

it('only the newest version of the changelog counts', () => {
  expect(newestVersion('# Changelog\n\n## [2]\na\n\n## [1]\nb\n')).toBe('## [2]\na\n\n')
  expect(newestVersion('# Changelog\n\n## [2]\na\n')).toBe('## [2]\na\n')
})
