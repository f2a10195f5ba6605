// One line of an inspection, and the time limit of a check.

import { reasonOf } from '../runtime/log.ts'

export type Finding = {
  /** What was checked, in one or two words. */
  check: string
  state: 'ok' | 'warning' | 'failure'
  /** What was found. */
  message: string
  /** What to do; null if there is nothing to do. */
  next: string | null
}

export const ok = (check: string, message: string): Finding => ({ check, state: 'ok', message, next: null })
export const warning = (check: string, message: string, next: string): Finding => ({
  check,
  state: 'warning',
  message,
  next,
})
export const failure = (check: string, message: string, next: string): Finding => ({
  check,
  state: 'failure',
  message,
  next,
})

/** Time limit of each check, ms. */
export const CHECK_MS = 5_000

/** Returns the findings of the check; if it fails or takes longer than CHECK_MS, one failure with the next step. */
export async function checked(
  check: string,
  next: string,
  work: () => Promise<readonly Finding[]>,
  limitMs: number = CHECK_MS,
): Promise<readonly Finding[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<readonly Finding[]>((resolve) => {
    timer = setTimeout(() => resolve([failure(check, `has not answered within ${limitMs / 1000} s`, next)]), limitMs)
  })
  try {
    return await Promise.race([work(), late])
  } catch (error) {
    return [failure(check, reasonOf(error as Error), next)]
  } finally {
    clearTimeout(timer)
  }
}
