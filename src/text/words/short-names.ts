// Short forms of first names: "Mel" and "Mellie" for "Melanie", "Bob" for "Robert". Pure.

/** Short names that are not the beginning of the name, by the name. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  alexander: 'sasha',
  alexandra: 'sasha',
  andrew: 'drew',
  anthony: 'tony',
  charles: 'chuck',
  dorothy: 'dolly',
  edward: 'ned ted teddy',
  elizabeth: 'betty beth liz lizzie',
  francisco: 'paco pancho',
  henry: 'harry hank',
  james: 'jim jimmy',
  john: 'jack',
  jose: 'pepe',
  joanna: 'anna',
  joseph: 'joe joey',
  katherine: 'katie kit',
  catherine: 'kate katie kathy',
  lawrence: 'larry',
  margaret: 'peggy maggie meg',
  mary: 'molly polly',
  michael: 'mike mikey mick',
  patricia: 'patty tricia',
  patrick: 'paddy',
  richard: 'dick rick',
  robert: 'bob bobby',
  sarah: 'sally',
  theodore: 'ted teddy',
  walter: 'wally',
  william: 'bill billy',
}

/** Returns the name in lower case, without accents. */
export const foldedName = (name: string): string =>
  name
    .normalize('NFD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()

/** The short name, and without an ending such as "-y" or "-ie": "mandy", "mand"; "bobby", "bob". */
function formsOf(short: string): string[] {
  const folded = foldedName(short)
  return [folded, folded.replace(/(?:ie|ey|y|i)$/, '').replace(/(\p{L})\1$/u, '$1')].filter(({ length }) => length >= 3)
}

/** Whether `short` is any part of the first name `name`, but not the whole name. */
export function isPartOf(short: string, name: string): boolean {
  const whole = foldedName(name)
  return (
    foldedName(short) !== whole && formsOf(short).some((form) => form.length < whole.length && whole.includes(form))
  )
}

/** Whether `short` is a short form of the first name `name`: its beginning, with or without an ending, or a usual one. */
export function isShortFor(short: string, name: string): boolean {
  const [one, whole] = [foldedName(short), foldedName(name)]
  return (
    one !== whole
    && (formsOf(short).some((form) => form.length < whole.length && whole.startsWith(form))
      || (SHORT_NAMES[whole]?.split(' ').includes(one) ?? false))
  )
}
