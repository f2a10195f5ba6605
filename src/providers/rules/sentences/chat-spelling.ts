// Rewrites the spelling of chats as written English, which the extraction rules read: "im", "dont", "catsss", "gf", "lol".
// Pure, and linear in the length of the line.

/** Words of chats with their written forms. "its", "ill" and "id" are left, because they are also words. */
const WRITTEN = new Map(
  Object.entries({
    im: "I'm",
    ima: "I'm going to",
    imma: "I'm going to",
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
    couldnt: "couldn't",
    wouldnt: "wouldn't",
    shouldnt: "shouldn't",
    wanna: 'want to',
    gonna: 'going to',
    gunna: 'going to',
    gotta: 'have to',
    tryna: 'trying to',
    dunno: "don't know",
    idk: "I don't know",
    u: 'you',
    ur: 'your',
    gf: 'girlfriend',
    gfs: "girlfriend's",
    bf: 'boyfriend',
    bfs: "boyfriend's",
    bff: 'best friend',
    bday: 'birthday',
    fav: 'favorite',
    favs: 'favorites',
    fave: 'favorite',
    faves: 'favorites',
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
    alot: 'a lot',
    yrs: 'years',
    eachother: 'each other',
    tho: 'though',
  }),
)
/** Reactions of chats, which separate statements: "I work tomorrow lol I hate mornings". */
const REACTIONS = new Set('lol lmao lmfao rofl omg omfg smh xd jajaja hehe hehehe yay ugh'.split(' '))
/** Hedges of chats that mean nothing. */
const FILLERS = new Set('ngl tbh imo imho fr lowkey highkey asf kinda sorta literally'.split(' '))

const WORD = /[\p{L}'’]+/gu
const REPEATED = /(.)\1\1/u
/** Three or more equal consonants, which no English word has: "catsss". */
const CONSONANTS = /([b-df-hj-np-tv-z])\1{2,}/giu
const VOWELS = /([aeiou])\1{2,}$/giu
const LAUGH = /^(?:a?(?:ha){2,}h?|(?:ja){2,}|(?:he){2,}|lo{2,}l|lolo*l*)$/i

/** Returns the word as written English; ';' for a reaction and '' for a hedge. */
function written(word: string): string {
  const isLong = word.length > 2 && REPEATED.test(word)
  const plain = isLong ? word.replace(CONSONANTS, '$1').replace(VOWELS, '$1') : word
  const lower = plain.toLowerCase()
  // A reaction in capitals is still one, but "US" and "IM" are names.
  if (REACTIONS.has(lower) || (lower.length > 2 && LAUGH.test(lower))) return ';'
  if (FILLERS.has(lower)) return ''
  return (plain.length < 2 || plain !== plain.toUpperCase() ? WRITTEN.get(lower) : undefined) ?? plain
}

/** Returns the line in written English. Reactions become semicolons between spaces. */
export function spelledOut(line: string): string {
  return line
    .replace(WORD, written)
    .replace(/(?<=^|[^.!?\s])\s*(?:;\s*)+(?=[^;]|$)/g, ' ; ')
    .replace(/\b(i|we) use to\b/gi, '$1 used to')
    .replace(/^[ ;]+/, '')
}
