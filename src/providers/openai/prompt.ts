// The prompts, which are files beside the providers that use them: read anew each time, so that an edit holds at once.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** prompts/<name>.md of the operator's own folder where it has one, else ours. Throws where neither can be read. */
export async function readPrompt(name: string, directory?: string): Promise<string> {
  if (directory !== undefined) {
    try {
      return await readFile(join(directory, `${name}.md`), 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return readFile(new URL(`./prompts/${name}.md`, import.meta.url), 'utf8')
}
