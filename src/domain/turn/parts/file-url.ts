// Validates the URL of a file part. Clients show it as a link or image, so it must not run a script when opened.

import { z } from 'zod'
import { text } from '../../kernel/input.ts'

/** Maximum length of a URL, in characters. It also limits the content of a data URL. */
export const MAX_URL = 8192

/** Schemes of web addresses and object stores. */
const SCHEMES = ['http', 'https', 'data', 's3', 'gs', 'az', 'ipfs', 'urn', 'cid']
/** Prefixes of application-defined schemes, which browsers and operating systems do not handle by default. */
const PREFIXES = ['x-', 'web+']

/** The allowed schemes, for error texts and descriptions. */
export const URL_SCHEMES = `${SCHEMES.join(', ')}, or a scheme that begins with ${PREFIXES.join(' or ')}`

/** Matches the data URLs of documents that can run scripts. */
const DOCUMENT = /^data:\s*(?:text\/html|application\/xhtml\+xml|text\/xml|application\/xml|image\/svg\+xml)/i

function problemOf(url: string): string | null {
  // Browsers ignore some of these characters inside a scheme.
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u0020\u007f]/.test(url)) return 'must not contain white space or control characters'
  const scheme = /^([a-z][a-z0-9+.-]*):./i.exec(url)?.[1]!.toLowerCase()
  if (scheme === undefined) return 'must be an absolute URL'
  if (!SCHEMES.includes(scheme) && !PREFIXES.some((prefix) => scheme.startsWith(prefix))) {
    return `has the scheme ${JSON.stringify(scheme)}; allowed are ${URL_SCHEMES}`
  }
  return DOCUMENT.test(url) ? 'must not be a data URL of an HTML, XML or SVG document' : null
}

/** An absolute URL with an allowed scheme. */
export const fileUrl = text(MAX_URL)
  .min(1)
  .superRefine((url, context) => {
    const problem = problemOf(url)
    if (problem) context.addIssue({ code: 'custom', message: problem })
  }) satisfies z.ZodType<string>
