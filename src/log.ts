// The log of a process: JSON lines on stdout, without credentials.

import { pino, type Logger, type LoggerOptions } from 'pino'

/** Masks every `user:password@` of a URL in the text, and every password in a URL's query. Keeps a user alone. */
export const maskCredentials = (text: string): string =>
  text
    .replaceAll(/\b([a-z][a-z\d+.-]*:\/\/)[^\s"'`<>/@]*:[^\s"'`<>]*@/gi, '$1***@')
    .replaceAll(/([?&](?:password|sslpassword)=)[^\s"'`<>&]*/gi, '$1***')

export const createLog = (level: LoggerOptions['level']): Logger =>
  pino({ level, hooks: { streamWrite: maskCredentials } })

/** Returns the message of a network error. Node reports one error for each address of a host. */
export function reasonOf(error: Error & { errors?: readonly Error[]; code?: string }): string {
  const texts = (error.errors ?? [error]).map(({ message }) => message).filter(Boolean)
  return texts.join('; ') || error.code || error.name
}
