// The texts of the demo's conversation. SECRET occurs only in turns with an audience, so that a leak can be detected.

export const TITLE = 'Dinner on Friday'

export const PEOPLE = [
  { actor: 'ada', displayName: 'Ada' },
  { actor: 'scout', kind: 'AGENT', displayName: 'Scout, who finds things' },
  { actor: 'scribe', kind: 'AGENT', displayName: 'Scribe, who writes things' },
]

export const SECRET = 'lemon cake'

export const LINES = {
  request: 'Dinner on Friday, six of us, near the river. Scout, find us a table; Scribe, write the invitation.',
  found:
    'Two places have a table for six. Marea is the quieter one, Casa do Rio has the terrace and the sunset. '
    + 'I would take Casa do Rio, at eight.',
  private: `Between us: it is Scribe's first birthday. Order a ${SECRET}, and not a word.`,
  ordered: `Done. The ${SECRET} comes with the coffee, and one candle.`,
  invitation:
    'Dear all, we meet on Friday at eight, on the terrace of Casa do Rio. Bring a jacket: the river is '
    + 'cool after dark. I shall take the minutes, as always, since there is nothing to celebrate.',
  correction: 'Half past seven, please: then we see the sun go down.',
  edited:
    'Dear all, we meet on Friday at half past seven, on the terrace of Casa do Rio, to see the sun go down. '
    + 'Bring a jacket: the river is cool after dark.',
}
