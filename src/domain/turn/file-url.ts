// Which URLs a file part may have. Clients show them as links and images, so a URL must not run a script when opened.

import { z } from 'zod'
import { text } from '../input.ts'

/** Maximum length of a URL, in characters. It also limits the content of a data URL. */
export const MAX_URL = 8192

/** Schemes of web addresses and object stores. */
const SCHEMES = ['http', 'https', 'data', 's3', 'gs', 'az', 'ipfs', 'urn', 'cid']
/** Prefixes of application-defined schemes. Browsers and systems give schemes with these prefixes no meaning. */
const PREFIXES = ['x-', 'web+']

/** The allowed schemes, for error texts and descriptions. */
export const URL_SCHEMES = `${SCHEMES.join(', ')}, or a scheme that begins with ${PREFIXES.join(' or ')}`

/** Matches the media types of documents that run scripts. */
const DOCUMENT = /^data:\s*(?:text\/html|application\/xhtml\+xml|text\/xml|application\/xml|image\/svg\+xml)/i

function problemOf(url: string): string | null {
  // Browsers ignore some of these characters inside of a scheme.
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
