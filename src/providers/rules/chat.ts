// Rewrites the spelling of chats to that of written English, which the rules match: "im", "dont", "sooo", "gf", "lol".
// Pure; every pattern takes time linear in the length of the line.

/** Contractions without an apostrophe. "its" and "ill" are in AMBIGUOUS, because they are also words. */
const CONTRACTIONS: Record<string, string> = {
  im: "I'm",
  iam: 'I am',
  ive: "I've",
  weve: "we've",
  youre: "you're",
  youve: "you've",
  theyre: "they're",
  theyve: "they've",
  hes: "he's",
  shes: "she's",
  thats: "that's",
  theres: "there's",
  heres: "here's",
  whats: "what's",
  dont: "don't",
  doesnt: "doesn't",
  didnt: "didn't",
  cant: "can't",
  wont: "won't",
  isnt: "isn't",
  arent: "aren't",
  wasnt: "wasn't",
  werent: "weren't",
  havent: "haven't",
  hasnt: "hasn't",
  hadnt: "hadn't",
  couldnt: "couldn't",
  wouldnt: "wouldn't",
  shouldnt: "shouldn't",
  wanna: 'want to',
  gotta: 'have to',
  tryna: 'trying to',
  gonna: 'going to',
  dunno: "don't know",
  idk: "I don't know",
  u: 'you',
  ur: 'your',
  yall: 'you all',
  gf: 'girlfriend',
  gfs: "girlfriend's",
  bf: 'boyfriend',
  bfs: "boyfriend's",
  bff: 'best friend',
  bday: 'birthday',
  fav: 'favorite',
  favs: 'favorites',
  prob: 'probably',
  probs: 'probably',
  prolly: 'probably',
  def: 'definitely',
  rly: 'really',
  bc: 'because',
  cuz: 'because',
  coz: 'because',
  rn: 'right now',
  tmr: 'tomorrow',
  tmrw: 'tomorrow',
  tonite: 'tonight',
  yrs: 'years',
  eachother: 'each other',
  alot: 'a lot',
  aswell: 'as well',
}
const CONTRACTED = new RegExp(String.raw`(?<![\w'’.@/-])(?:${Object.keys(CONTRACTIONS).join('|')})(?![\w'’@/-])`, 'gi')

const AMBIGUOUS: [spelling: RegExp, written: string][] = [
  [
    /\bits (?=(?:an?|my|the|so|been|important|not|just|really|very|pretty|too|actually|definitely|\w+ing)\b)/gi,
    "it's ",
  ],
  [/(^|[.!,;] |\b(?:and|but|so|then|think|guess|maybe|lol) )ill (?=[a-z])/gi, "$1I'll "],
  [
    /(^|[.!,;] |\b(?:and|but|so|then|think|guess|maybe|lol) )id (?=(?:love|like|say|be|go|have|rather|never)\b)/gi,
    "$1I'd ",
  ],
  [/ (?:cause|cos) (?=(?:i|i'm|it|it's|we|they|he|she|you|my|the|there|there's)\b)/gi, ' because '],
  [/\bi use to\b/gi, 'I used to'],
]

/** Three or more equal letters in a row, which no English word has. At the end of a word, one remains: "himmm". */
const ELONGATED = /([a-z])\1{2,}([a-z]?)/gi
/** Reactions that separate statements: "I work tomorrow lol I hate mornings". */
const REACTION = /[\s,]{0,3}\b(?:lol+|lmao+|rofl|a?(?:ha){2,}h?|(?:he){2,}h?|xd+|omg|smh|yay|ugh+|phew)\b(?!['’-])/gi
/** Hedges and intensifiers of chats, which are omitted. */
const HEDGE = new RegExp(
  String.raw`,? ?\b(?:ngl|tbh|imo|imho|lowkey|highkey|asf|kinda|kind of(?= (?:like|love|`
    + String.raw`enjoy|hate|miss|want))|sorta|literally)\b(?!['’-])`,
  'gi',
)
/** Texts without any of these need none of the replacements above, which are slower. */
const HAS_REACTION = /lol|lmao|rofl|haha|hehe|xd|omg|smh|yay|ugh|phew/i
const HAS_HEDGE = /ngl|tbh|imo|imho|lowkey|highkey|asf|kind|sorta|literally/i

/** Returns the line in the spelling of written English. Reactions become semicolons, which separate clauses. */
export function spelledOut(line: string): string {
  let text = line
    .replace(/\s+/g, ' ')
    .replace(ELONGATED, (_, letter: string, next: string) => (next === '' ? letter : letter + letter + next))
  if (HAS_HEDGE.test(text)) text = text.replace(HEDGE, '')
  if (HAS_REACTION.test(text)) text = text.replace(REACTION, (_, at: number) => (at === 0 ? '' : ' ; '))
  text = text.replace(CONTRACTED, (word) => (/^[A-Z]{2,}$/.test(word) ? word : CONTRACTIONS[word.toLowerCase()]!))
  return AMBIGUOUS.reduce((result, [spelling, written]) => result.replace(spelling, written), text)
}
