// Reads the files of prompts. Each call reads the file again, so that edits take effect immediately.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Reads `<name>.md` from the operator's directory, or the built-in prompt if that file does not exist. */
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
