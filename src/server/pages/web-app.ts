// Serves the web app: its page at /, and its files below /web/. scripts/build-web.ts builds both from src/web, and the
// names of the files contain a digest. The content security policy of the page allows no other origin, no inline script
// and no HTML that DOMPurify has not sanitized.

import { readdir, readFile } from 'node:fs/promises'
import { createStaticFile, IMMUTABLE, type StaticFile } from './static-file.ts'

/** Path below which the files are served. */
export const WEB_FILES = '/web/'

/** Directives of the content security policy. `data:` is needed for the icon. */
export const WEB_POLICY = {
  'style-src': "'self'",
  'img-src': "'self' data:",
  'font-src': "'self'",
  'manifest-src': "'self'",
  'require-trusted-types-for': "'script'",
  'trusted-types': 'dompurify',
}

async function readFiles(): Promise<Map<string, StaticFile>> {
  const directory = new URL('./web/', import.meta.url)
  const names = await readdir(directory)
  return new Map(
    await Promise.all(
      names.map(async (name): Promise<[string, StaticFile]> => {
        const content = await readFile(new URL(name, directory))
        return name === 'index.html'
          ? ['/', createStaticFile(name, content, 'no-cache')]
          : [WEB_FILES + name, createStaticFile(name, content, IMMUTABLE)]
      }),
    ),
  )
}

let allFiles: Promise<Map<string, StaticFile>> | null = null

/** Returns the page for /, or the file at `path`; undefined if there is no such file. */
export const readWebApp = async (path: string): Promise<StaticFile | undefined> =>
  (await (allFiles ??= readFiles())).get(path)
