// The avatar of an actor: its initials on a colour that follows from its name. Agents are square, people are round.

import type { CSSProperties } from 'react'

/** Returns a hue from 0 to 359 for the name, always the same. */
function hueOf(name: string): number {
  let hash = 0
  for (const character of name) hash = (hash * 31 + character.codePointAt(0)!) % 360
  return hash
}

const initialsOf = (name: string): string => {
  const words = name.split(/[\s._-]+/).filter(Boolean)
  const letters = [...words].slice(0, 2).map((word) => [...word][0] ?? '')
  return (letters.join('') || '?').toUpperCase()
}

export const Avatar = ({ name, isAgent, presence }: { name: string; isAgent: boolean; presence?: string }) => (
  <span
    className={`avatar ${isAgent ? 'agent' : 'person'}`}
    style={{ '--hue': hueOf(name) } as CSSProperties}
    aria-hidden="true"
  >
    {initialsOf(name)}
    {presence && presence !== 'OFFLINE' && <span className={`presence ${presence.toLowerCase()}`} />}
  </span>
)
