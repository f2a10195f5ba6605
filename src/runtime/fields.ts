// Zod fields for the text of environment variables, with their error texts.

import { readdirSync } from 'node:fs'
import { BlockList, isIP, isIPv6 } from 'node:net'
import { z } from 'zod'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Whether the host is `localhost` or a loopback address. Does not resolve names. */
export const isLoopback = (host: string) =>
  host.toLowerCase() === 'localhost' || (isIP(host) > 0 && loopback.check(host, isIPv6(host) ? 'ipv6' : 'ipv4'))

/** An IP address or a host name. */
export const host = z
  .string()
  .refine((text) => isIP(text) || /^[a-z\d]([a-z\d.-]*[a-z\d])?$/i.test(text), 'must be an IP address or a host name')

/** A decimal whole number from `min` to `max`, both included; 1e3, 0x10 and 4000.5 are rejected. */
export const number = (min: number, max: number) => {
  const range = `must be a whole number from ${min} to ${max}`
  return z
    .string()
    .regex(/^\d{1,15}$/, range)
    .transform(Number)
    .refine((n) => n >= min && n <= max, range)
}
/** Like `number`, with the default `fallback`. */
export const whole = (min: number, max: number, fallback: number) => number(min, max).prefault(String(fallback))

/** A decimal number from 0 to 1, both included. */
export const share = z
  .string()
  .regex(/^(0(\.\d{1,15})?|1(\.0{1,15})?)$/, 'must be a number from 0 to 1')
  .transform(Number)

/** A URL with one of the schemes. Only the scheme is checked: the driver checks host, socket and options. */
export const url = (...schemes: string[]) =>
  z
    .string()
    .refine(
      (text) => URL.canParse(text) && schemes.includes(new URL(text).protocol.slice(0, -1)),
      `must be a URL that begins with ${schemes.map((s) => `${s}://`).join(' or ')}, with a percent-encoded password`,
    )
    .optional()

/** Base URL of an HTTP API, without credentials, query and trailing slash. */
export const endpoint = z
  .string()
  .refine(
    (text) => /^https?:\/\/[^/?#@\\\s]+(\/[^?#@\\\s]*)?$/i.test(text) && URL.canParse(text),
    'must be a URL like https://api.openai.com/v1 or http://localhost:11434/v1, without password or query',
  )
  .transform((text) => text.replace(/\/+$/, ''))

const flags: Record<string, boolean> = { '1': true, true: true, '0': false, false: false }
/** A boolean without a default. */
export const choice = z
  .string()
  .refine((text) => Object.hasOwn(flags, text), 'must be 1, 0, true or false')
  .transform((text) => flags[text] === true)

/** A boolean; `fallback` is the default, in the same notation. */
export const flag = (fallback: string) => choice.prefault(fallback)
/** A boolean without a default. */
export const optionalFlag = choice.optional()

/** An origin as browsers send it: lower case, without the scheme's default port. */
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

/** The parts of a text that commas separate, without empty ones. */
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean),
)

/** A comma-separated list of origins. Defaults to an empty list. */
export const origins = list.pipe(z.array(origin)).prefault('')

/** Whether the text is an IP address, or a network like 10.0.0.0/8. */
function isNetwork(text: string): boolean {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  return isIP(address) > 0 && Number(bits ?? 0) <= (isIPv6(address) ? 128 : 32)
}

/** A comma-separated list of IP addresses and networks. Defaults to an empty list. */
export const networks = list
  .pipe(
    z.array(
      z.string().refine(isNetwork, 'must be IP addresses or networks like 10.0.0.0/8 or fd00::/8, separated by commas'),
    ),
  )
  .prefault('')

function isReadableDirectory(path: string): boolean {
  try {
    readdirSync(path)
    return true
  } catch {
    return false
  }
}

/** A readable directory, relative to the working directory. */
export const directory = z
  .string()
  .refine(isReadableDirectory, 'must be a directory that exists and can be read')
  .optional()

/** A model name of a provider: one line. */
export const model = z
  .string()
  .regex(/^\S(.*\S)?$/, 'must be one line without leading or trailing spaces')
  .optional()

/** One of the given words. */
export const oneOf = <const T extends string>(...words: T[]) =>
  z.string().pipe(z.enum(words, `must be one of ${words.join(', ')}`))
