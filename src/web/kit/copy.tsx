// A button that copies text, and blocks of code and JSON that have one.

import { useEffect, useState } from 'react'

/** Copies the text. Browsers offer the clipboard only to pages of https and of loopback addresses. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [outcome, setOutcome] = useState<'Copied' | 'Not allowed' | null>(null)
  useEffect(() => {
    const timer = setTimeout(() => setOutcome(null), 2_000)
    return () => clearTimeout(timer)
  }, [outcome])
  const copy = async () => setOutcome((await copyText(text)) ? 'Copied' : 'Not allowed')
  return (
    <button type="button" className="quiet copy" onClick={() => void copy()}>
      <span aria-live="polite">{outcome ?? label}</span>
    </button>
  )
}

/** Code that can be copied. The block can be scrolled by keyboard. */
export const CodeBlock = ({ code, label }: { code: string; label: string }) => (
  <figure className="code">
    <CopyButton text={code} label={`Copy ${label}`} />
    <pre tabIndex={0} aria-label={label}>
      <code>{code}</code>
    </pre>
  </figure>
)

export const JsonBlock = ({ value, label }: { value: unknown; label: string }) => (
  <CodeBlock code={JSON.stringify(value, null, 2)} label={label} />
)
