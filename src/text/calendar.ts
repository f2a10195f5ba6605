// English names of months and seasons, for recognising times in queries and turns. Pure.

export const MONTHS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
]
/** The first month of each season, 0 for January. A season has three months, as in the northern hemisphere. */
export const SEASONS: Record<string, number> = { spring: 2, summer: 5, autumn: 8, fall: 8, winter: 11 }
