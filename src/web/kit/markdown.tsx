// Renders Markdown safely: marked parses it, and DOMPurify removes all but a few harmless elements. Each block is
// rendered once, so a text that is being written only renders its last block again, or all blocks if a link is defined.

import DOMPurify from 'dompurify'
import { Marked, type Token } from 'marked'
import { memo, useMemo, type MouseEvent } from 'react'
import { copyText } from './copy.tsx'

/** Protocols of the links that a page may open. */
const PROTOCOLS = ['http:', 'https:', 'mailto:']

/** Returns the URL if it is one that a page may open; null for any other, such as `javascript:`. */
export function safeUrl(url: string): string | null {
  if (!URL.canParse(url)) return null
  const { protocol, href } = new URL(url)
  return PROTOCOLS.includes(protocol) ? href : null
}

const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** Elements that Markdown can create. Images are shown as links, so that no page of others is requested. */
const ELEMENTS = [
  ...['p', 'br', 'hr', 'em', 'strong', 'del', 'code', 'pre', 'blockquote', 'a', 'ul', 'ol', 'li', 'input'],
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'figure', 'button'],
]
const ATTRIBUTES = ['href', 'align', 'start', 'type', 'checked', 'disabled', 'data-copy', 'tabindex', 'class']

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    // Raw HTML is shown as text.
    html: ({ text }) => escaped(text),
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
    code: ({ text }) =>
      `<figure class="code"><button type="button" class="quiet copy" data-copy>Copy</button>`
      + `<pre tabindex="0"><code>${escaped(text)}</code></pre></figure>`,
  },
})

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return
  node.setAttribute('target', '_blank')
  node.setAttribute('rel', 'noopener noreferrer nofollow')
})

const OPTIONS = {
  ALLOWED_TAGS: ELEMENTS,
  ALLOWED_ATTR: ATTRIBUTES,
  ALLOWED_URI_REGEXP: new RegExp(`^(?:${PROTOCOLS.join('|')})`, 'i'),
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_TRUSTED_TYPE: true as const,
}

/** A block of a text. `links`: the definitions of links in the whole text, as JSON. */
type BlockProps = { token: Token; links: string }

const Block = memo(
  function Block({ token }: BlockProps) {
    const html = DOMPurify.sanitize(marked.parser([token]), OPTIONS)
    return <div dir="auto" dangerouslySetInnerHTML={{ __html: html }} />
  },
  (one, other) => one.token.raw === other.token.raw && one.links === other.links,
)

/** Copies the code of the block whose button was pressed. */
async function onClick({ target }: MouseEvent): Promise<void> {
  if (!(target instanceof HTMLElement) || !target.matches('[data-copy]')) return
  const code = target.parentElement?.querySelector('code')?.textContent ?? ''
  target.textContent = (await copyText(code)) ? 'Copied' : 'Not allowed'
  setTimeout(() => (target.textContent = 'Copy'), 2_000)
}

/** Types of the blocks that are not shown. */
const NOTHING = new Set(['space', 'def'])

/** Length above which text is shown without formatting, in UTF-16 units: formatting would block the page. */
const MAX_FORMATTED = 100_000

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => {
    if (text.length > MAX_FORMATTED) return null
    const tokens = marked.lexer(text)
    return { tokens: tokens.filter(({ type }) => !NOTHING.has(type)), links: JSON.stringify(tokens.links) }
  }, [text])
  if (!blocks)
    return (
      <pre className="markdown plain" dir="auto">
        {text}
      </pre>
    )
  return (
    // The listener handles clicks of the buttons inside.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
    <div className="markdown" onClick={(event) => void onClick(event)}>
      {blocks.tokens.map((token, index) => (
        // Blocks change only at the end while a text is being written.
        <Block key={index} token={token} links={blocks.links} />
      ))}
    </div>
  )
})
