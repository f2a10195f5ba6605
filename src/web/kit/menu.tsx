// A menu that a button opens, with the keyboard behaviour of the ARIA menu button pattern. It is a popover, so no
// scrolling list cuts it off, and the browser closes it on Escape and on a click elsewhere.

import { useId, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'

export type MenuItem = { label: string; onSelect(): void; isDangerous?: boolean; shortcut?: string }

/** Focuses the item that is `step` items away from the focused one. */
function moveFocus(menu: HTMLElement, step: number): void {
  const items = [...menu.querySelectorAll<HTMLElement>('[role=menuitem]')]
  const index = items.indexOf(document.activeElement as HTMLElement)
  items.at((index + step) % items.length)?.focus()
}

/** Places the menu below the button, or above it if there is too little space. */
function place(menu: HTMLElement, button: HTMLElement): void {
  const { top, bottom, left, right } = button.getBoundingClientRect()
  const { offsetHeight: height, offsetWidth: width } = menu
  const isRtl = getComputedStyle(button).direction === 'rtl'
  const start = isRtl ? left : right - width
  menu.style.left = `${Math.max(4, Math.min(start, innerWidth - width - 4))}px`
  menu.style.top = `${bottom + height > innerHeight && top > height ? top - height : bottom}px`
}

/** `label`: what the button is for, read by screen readers. `children`: what the button shows. */
export function Menu({ label, items, children }: { label: string; items: readonly MenuItem[]; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const menu = useRef<HTMLDivElement>(null)
  const id = useId()
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 }
    const first = event.currentTarget.querySelector<HTMLElement>('[role=menuitem]')
    if (event.key in steps) moveFocus(event.currentTarget, steps[event.key]!)
    else if (event.key === 'Home') first?.focus()
    else if (event.key === 'End') event.currentTarget.querySelector<HTMLElement>('[role=menuitem]:last-child')?.focus()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <span className="menu">
      <button
        ref={button}
        type="button"
        className="quiet"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        popoverTarget={id}
      >
        {children}
      </button>
      <div
        ref={menu}
        id={id}
        popover="auto"
        role="menu"
        aria-label={label}
        onKeyDown={onKeyDown}
        onToggle={({ newState }) => {
          setOpen(newState === 'open')
          if (newState !== 'open') return
          place(menu.current!, button.current!)
          menu.current!.querySelector<HTMLElement>('[role=menuitem]')?.focus()
        }}
      >
        {items.map((item) => (
          <button
            key={item.label}
            type="button"
            role="menuitem"
            tabIndex={-1}
            className={item.isDangerous ? 'dangerous' : undefined}
            onClick={() => {
              menu.current!.hidePopover()
              item.onSelect()
            }}
          >
            <span>{item.label}</span>
            {item.shortcut && <kbd>{item.shortcut}</kbd>}
          </button>
        ))}
      </div>
    </span>
  )
}
