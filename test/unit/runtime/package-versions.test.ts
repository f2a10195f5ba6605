// Packages whose private parts the code uses: package.json requires one version, and another one stops the start.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { EXACT_VERSIONS, requireVersion } from '../../../src/runtime/package-versions.ts'

const root = new URL('../../..', import.meta.url)
const read = (path: string) => readFileSync(fileURLToPath(new URL(path, root)), 'utf8')
const names = Object.keys(EXACT_VERSIONS) as (keyof typeof EXACT_VERSIONS)[]

describe.each(names)('%s', (name) => {
  const { version, usedBy } = EXACT_VERSIONS[name]

  it('is required and installed in exactly the version that is known to work', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> }
    expect(dependencies[name]).toBe(version)
    expect(() => requireVersion(name)).not.toThrow()
    expect(read(`src/${usedBy}`)).toContain(`from '${name}'`)
  })

  it('stops the start in another version, with the remedy', () => {
    expect(() => requireVersion(name, '99.0.0')).toThrow(expect.objectContaining({ name: 'WrongPackageVersion' }))
    expect(() => requireVersion(name, '99.0.0')).toThrow(`"${name}": "${version}" to "overrides"`)
  })
})
