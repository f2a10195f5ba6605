// What single settings may be: zod fields over the text of a variable, and in which words they are refused.

import { readdirSync } from 'node:fs'
import { BlockList, isIP, isIPv6 } from 'node:net'
import { z } from 'zod'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

export const isLoopback = (host: string) =>
  host.toLowerCase() === 'localhost' || (isIP(host) > 0 && loopback.check(host, isIPv6(host) ? 'ipv6' : 'ipv4'))

/** A decimal number, so that 1e3, 0x10 and 4000.5 are mistakes. */
export const number = (least: number, most: number) => {
  const range = `must be a whole number from ${least} to ${most}`
  return z
    .string()
    .regex(/^\d{1,15}$/, range)
    .transform(Number)
    .refine((n) => n >= least && n <= most, range)
}
export const whole = (least: number, most: number, fallback: number) => number(least, most).prefault(String(fallback))

/** Not looked into beyond its scheme: hosts, sockets and options are the driver's to judge. */
export const url = (...schemes: string[]) =>
  z
    .string()
    .refine(
      (text) => URL.canParse(text) && schemes.includes(new URL(text).protocol.slice(0, -1)),
      `must be a URL that begins with ${schemes.map((s) => `${s}://`).join(' or ')}, its password percent-encoded`,
    )
    .optional()

/** Where an HTTP API begins, without a slash at its end. Credentials and queries have no place in it. */
export const endpoint = z
  .string()
  .refine(
    (text) => /^https?:\/\/[^/?#@\\\s]+(\/[^?#@\\\s]*)?$/i.test(text) && URL.canParse(text),
    'must be a URL like https://api.openai.com/v1 or http://localhost:11434/v1, without password or query',
  )
  .transform((text) => text.replace(/\/+$/, ''))

const flags: Record<string, boolean> = { '1': true, true: true, '0': false, false: false }
export const flag = (fallback: string) =>
  z
    .string()
    .refine((text) => Object.hasOwn(flags, text), 'must be 1, 0, true or false')
    .transform((text) => flags[text] === true)
    .prefault(fallback)

/** The form in which browsers send an origin: lower case, without a scheme's own port. */
const origin = z
  .string()
  .refine(
    (text) => /^[a-z][a-z\d+.-]*:\/\/[^/?#@\\\s]+$/i.test(text) && URL.canParse(text),
    'must be origins like https://app.example or http://localhost:3000 (no path), separated by commas',
  )
  .transform((text) => {
    const { protocol, host } = new URL(text)
    return `${protocol}//${host}`
  })

export const origins = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  )
  .pipe(z.array(origin))
  .prefault('')

function isReadableDirectory(path: string): boolean {
  try {
    readdirSync(path)
    return true
  } catch {
    return false
  }
}

/** Of files to read: it is there when the process starts. Relative to where that starts. */
export const directory = z
  .string()
  .refine(isReadableDirectory, 'must be a directory that exists and can be read')
  .optional()

/** A name that a provider knows a model by. */
export const model = z
  .string()
  .regex(/^\S(.*\S)?$/, 'must be one line that begins and ends with no space')
  .optional()

/** One of a few words. */
export const oneOf = <const T extends string>(...words: T[]) =>
  z.string().pipe(z.enum(words, `must be one of ${words.join(', ')}`))
