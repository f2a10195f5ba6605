// The log of a process: JSON lines on stdout, without credentials.

import { pino, type Logger, type LoggerOptions } from 'pino'

/** Replaces the user and password of every URL in the text, and passwords in its query. */
export const maskCredentials = (text: string): string =>
  text
    .replaceAll(/\b([a-z][a-z\d+.-]*:\/\/)[^\s"'`<>/@]*:[^\s"'`<>]*@/gi, '$1***@')
    .replaceAll(/([?&](?:password|sslpassword)=)[^\s"'`<>&]*/gi, '$1***')

export const createLog = (level: LoggerOptions['level']): Logger =>
  pino({ level, hooks: { streamWrite: maskCredentials } })

/** Returns the text of an error from the network. Node reports a host with several addresses as one error for each. */
export function reasonOf(error: Error & { errors?: readonly Error[]; code?: string }): string {
  const texts = (error.errors ?? [error]).map(({ message }) => message).filter(Boolean)
  return texts.join('; ') || error.code || error.name
}
