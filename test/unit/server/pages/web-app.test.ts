// The files of the web app: those of the newest build, also while the next one replaces them.

import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { openWebApp } from '../../../../src/server/pages/web-app.ts'

/** Writes a build as scripts/build-web.ts does: the page last. `second`: when it was written. */
async function build(directory: string, name: string, second: number): Promise<void> {
  await rm(directory, { recursive: true, force: true })
  await mkdir(directory)
  await writeFile(join(directory, `main-${name}.js`), name)
  const page = join(directory, 'index.html')
  await writeFile(page, `<html><head></head>${name}</html>`)
  await utimes(page, second, second)
}

it('serves each build from its first request on, and names GraphiQL if the server has it', async () => {
  const directory = join(await mkdtemp(join(tmpdir(), 'web-app-')), 'web')
  const app = openWebApp(pathToFileURL(`${directory}/`))
  const page = async (graphiql = false) => String((await app.page({ graphiql })).content)
  await expect(page()).rejects.toThrow('ENOENT')
  await build(directory, 'one', 1)
  expect(await page()).toBe('<html><head></head>one</html>')
  expect(await page(true)).toContain('<meta name="graphiql" content="/graphiql" />')
  expect((await app.page({ graphiql: true })).etag).not.toBe((await app.page({ graphiql: false })).etag)
  expect(await app.file('/web/main-one.js')).toMatchObject({ content: Buffer.from('one') })
  await rm(directory, { recursive: true })
  expect(await page()).toContain('one')
  await build(directory, 'two', 2)
  expect(await page()).toContain('two')
  expect(await app.file('/web/main-two.js')).toBeDefined()
  expect(await app.file('/web/main-one.js')).toBeUndefined()
  await rm(directory, { recursive: true })
})
