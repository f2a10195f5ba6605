// A row of tabs, with the keyboard behaviour of the ARIA tabs pattern: one tab can be reached by Tab, the others by the
// arrow keys.

import { useEffect, useRef, type KeyboardEvent } from 'react'

type Tab<Name extends string> = { name: Name; label: string }

/** `panelId`: id of the element that shows the selected tab. */
export function Tabs<Name extends string>({
  label,
  tabs,
  selected,
  panelId,
  onSelect,
}: {
  label: string
  tabs: readonly Tab<Name>[]
  selected: NoInfer<Name>
  panelId: string
  onSelect(name: NoInfer<Name>): void
}) {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // The row scrolls if it is too narrow for all tabs.
    list.current!.querySelector('[aria-selected=true]')!.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [selected])
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const isRtl = getComputedStyle(event.currentTarget).direction === 'rtl'
    const steps: Record<string, number> = { ArrowRight: isRtl ? -1 : 1, ArrowLeft: isRtl ? 1 : -1 }
    const step = steps[event.key]
    if (step === undefined) return
    event.preventDefault()
    const index = tabs.findIndex(({ name }) => name === selected)
    const next = tabs.at((index + step) % tabs.length)!
    onSelect(next.name)
    event.currentTarget.querySelector<HTMLElement>(`[data-tab="${next.name}"]`)?.focus()
  }
  return (
    <div ref={list} className="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
      {tabs.map(({ name, label: text }) => (
        <button
          key={name}
          type="button"
          role="tab"
          data-tab={name}
          aria-selected={name === selected}
          aria-controls={panelId}
          tabIndex={name === selected ? 0 : -1}
          onClick={() => onSelect(name)}
        >
          {text}
        </button>
      ))}
    </div>
  )
}
