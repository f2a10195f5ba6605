// Reads the prompts from files on each call, so that edits take effect at once.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Reads <name>.md from the operator's directory if it exists there, else the built-in prompt. Throws if unreadable. */
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
