// The right that a part of the page needs, in words.

import type { ReactNode } from 'react'
import { Notice } from '../kit/notice.tsx'
import { useSession } from './session.tsx'

/** Returns the name of a right as credentials spell it, such as `act-as`. */
export const rightName = (right: string): string => right.toLowerCase().replaceAll('_', '-')

/** Returns which right a credential needs for the purpose. */
export const needText = (right: string, purpose: string): string =>
  `To ${purpose}, a credential needs the right ${rightName(right)}.`

/** Shows `children` if the viewer has the right, and otherwise says what it is needed for: the `purpose`. */
export function Needs({ right, purpose, children }: { right: string; purpose: string; children?: ReactNode }) {
  const { viewer } = useSession()
  if (viewer.rights.includes(right)) return <>{children}</>
  const own = viewer.rights.map(rightName).join(', ') || 'none'
  return (
    <Notice>
      {needText(right, purpose)} Yours has: {own}.
    </Notice>
  )
}
