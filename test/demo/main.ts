// `npm run demo [-- URL] [-- --fast]`: a person and two agents in one conversation of a running server, over graphql-ws. What
// is printed is what Ada's own subscription brings; then each claim is asked of the server. Ends with 1 if one fails.

import { connect, type Participant, type Turn } from './participant.ts'
import { createScreen } from './screen.ts'
import { LINES, PEOPLE, SECRET, TITLE } from './story.ts'

const args = process.argv.slice(2)
const isFast = args.includes('--fast')
const url = args.find((arg) => !arg.startsWith('--')) ?? (process.env.COLLOQUY_URL || 'http://127.0.0.1:4000/graphql')

/** Times in ms, as a person writes and reads; `--fast` is for tests. */
const PACE = isFast ? { word: 2, thought: 20, breath: 10 } : { word: 85, thought: 900, breath: 700 }
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

// Whoever reads along may stop reading.
process.stdout.on('error', () => process.exit())
const screen = createScreen(process.stdout)
let holds = true
const claim = (isTrue: boolean, text: string) => {
  holds &&= isTrue
  screen.check(isTrue, text)
}

async function assertServer(): Promise<void> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"{ viewer { actor } }"}',
    })
    const { data } = (await response.json()) as { data?: { viewer?: object } }
    if (data?.viewer) return
  } catch {
    // Refused, unknown, or no JSON: nobody we can talk to.
  }
  console.error(
    `No Colloquy server answers at ${url}.\n`
      + 'Start one in another terminal with `npm start`, or name another: `npm run demo -- http://host:port/graphql`.',
  )
  process.exit(1)
}

/** Thinks, then writes the text word by word into an open turn; `between` may act when so many words are written. */
async function stream(
  conversationId: string,
  writer: Participant,
  content: string,
  turn: object = {},
  between?: (words: number, turnId: string, end: number) => Promise<unknown> | void,
): Promise<Turn> {
  await writer.be(conversationId, 'THINKING')
  await wait(PACE.thought)
  await writer.read(conversationId)
  await writer.be(conversationId, 'TYPING')
  const { id } = await writer.open(conversationId, { role: 'ASSISTANT', ...turn })
  let end = 0
  for (const [index, word] of content.match(/\S+\s*/g)!.entries()) {
    await between?.(index, id, end)
    end = (await writer.write(id, end, word)).end
    await wait(PACE.word)
  }
  const written = await writer.commit(id)
  await writer.be(conversationId, 'ONLINE')
  await wait(PACE.breath)
  return written
}

async function play(conversationId: string, ada: Participant, scout: Participant, scribe: Participant) {
  await ada.say(conversationId, { role: 'USER', content: LINES.request })
  await wait(PACE.breath)
  await stream(conversationId, scout, LINES.found)

  const whisper = await ada.say(conversationId, { role: 'USER', content: LINES.whisper, audience: ['scout'] })
  await wait(PACE.breath)
  await stream(conversationId, scout, LINES.ordered, { audience: ['ada'] })

  // Scribe goes on writing while Ada is away; some words are left for when she is back.
  const invitation = await stream(conversationId, scribe, LINES.invitation, {}, async (words, turnId, end) => {
    if (words === 12) await ada.hasText(turnId, end).then(ada.cut)
    if (words === 24) await ada.reconnect()
  })
  await ada.say(conversationId, { role: 'USER', content: LINES.correction })
  await wait(PACE.breath)
  await scribe.be(conversationId, 'TYPING')
  await wait(PACE.thought)
  const edited = await scribe.edit(invitation.id, { role: 'ASSISTANT', content: LINES.edited })
  await scribe.be(conversationId, 'ONLINE')
  await ada.hasHeard(edited.seq)
  await ada.read(conversationId)
  return { whisper, invitation, edited }
}

/** Whether any word of the whispers is in what was heard. */
const leaks = (heard: unknown) => JSON.stringify(heard).includes(SECRET)

async function askAbout(conversationId: string, whisper: Turn, who: Participant) {
  const { history, turnCount } = await who.conversation(conversationId)
  const live = who.events.filter(({ turn }) => turn?.id === whisper.id)
  return {
    inHistory: history.some(({ id }) => id === whisper.id),
    live: live.length > 0,
    node: (await who.node(whisper.id)) !== null,
    turnCount,
    leaks: leaks(history) || leaks(who.events),
  }
}

type Played = Awaited<ReturnType<typeof play>>

async function prove(conversationId: string, people: Participant[], { whisper, invitation, edited }: Played) {
  const [ada, scout, scribe] = people as [Participant, Participant, Participant]
  screen.heading('The whisper, asked for by both agents')
  const [told, kept] = [await askAbout(conversationId, whisper, scout), await askAbout(conversationId, whisper, scribe)]
  const word = (is: boolean) => (is ? 'yes' : 'no')
  screen.table(
    32,
    ['', 'scout', 'scribe'],
    [
      ['in their history', word(told.inHistory), word(kept.inHistory)],
      ['among their live events', word(told.live), word(kept.live)],
      [`node("…${whisper.id.slice(-6)}")`, told.node ? 'the turn' : 'null', kept.node ? 'the turn' : 'null'],
      ['turns they count', String(told.turnCount), String(kept.turnCount)],
      [`"${SECRET}" in what they got`, word(told.leaks), word(kept.leaks)],
    ],
  )

  const conversationIds = await Promise.all(people.map((each) => each.conversation(conversationId)))
  screen.heading('The conversation, as each of them sees it')
  const histories = conversationIds.map(({ history }) => history)
  const ids = [...new Set(histories.flat().map(({ id }) => id))]
  const turns = ids.map((id) => {
    const seen = histories.map((history) => history.find((turn) => turn.id === id))
    const { seq, actor } = seen.find(Boolean)!
    return [String(seq), ...seen.map((turn) => (turn ? `${actor}: ${turn.text}` : '·'))]
  })
  const unread = people.map(({ actor }, index) =>
    String(conversationIds[index]!.participants.find((each) => each.actor === actor)!.unreadCount),
  )
  screen.table(6, ['seq', ...people.map(({ actor }) => actor)], [...turns, ['unread', ...unread]])

  screen.line()
  const seqs = ada.events.flatMap(({ seq }) => seq ?? [])
  const { lastSeq } = conversationIds[0]!
  claim(
    seqs.length === lastSeq && seqs.every((seq, index) => seq === index + 1),
    `Ada got entries 1 to ${lastSeq}, each once and in order, through the cut`,
  )
  const joined = people.every(({ texts, events }) =>
    events.every(({ __typename, turn }) => __typename !== 'TurnCommitted' || texts.get(turn!.id) === turn!.text),
  )
  claim(joined, 'joined, the deltas are the stored text, for every reader')
  const hasAll =
    told.inHistory && told.live && told.node && told.leaks && told.turnCount === conversationIds[0]!.turnCount
  const hasNone = !kept.inHistory && !kept.live && !kept.node && !kept.leaks && kept.turnCount === told.turnCount - 2
  claim(hasAll && hasNone, 'Scribe has got nothing of the whisper, not even a count; Scout has all of it')
  const placed = histories.every(
    (history) =>
      !history.some(({ id }) => id === invitation.id)
      && history.findIndex(({ id }) => id === edited.id) === history.length - 2,
  )
  claim(placed, 'the edited invitation stands where the first one stood')
  screen.note(`the conversation stays: ${conversationId}, to be looked at in GraphiQL at ${url}`)
}

async function run(): Promise<void> {
  await assertServer()
  const people = PEOPLE.map(({ actor }) => connect(url, actor))
  const [ada, scout, scribe] = people as [Participant, Participant, Participant]
  const { id: conversationId } = await ada.createConversation({ title: TITLE, participants: PEOPLE })
  screen.heading(`${TITLE}: a person and two agents, as Ada sees it`)
  screen.line()

  /** While Ada was away: the entry after which she goes on. */
  let away: number | null = null
  ada
    .follow(
      conversationId,
      (event) => {
        if (away !== null && event.__typename === 'TurnDelta') {
          // The first text that comes is what she has missed.
          screen.note(`back, after entry ${away}: here are the ${event.text!.length} characters she has missed`)
          away = null
        }
        screen.show(event)
      },
      () => screen.note("Ada's connection is cut"),
      (after) => (away = after),
    )
    .catch(fail)
  for (const agent of [scout, scribe]) agent.follow(conversationId, () => {}).catch(fail)

  await Promise.all(people.map((each) => each.be(conversationId, 'ONLINE')))
  const told = await play(conversationId, ada, scout, scribe)
  await Promise.all(people.map((each) => each.hasHeard(told.edited.seq)))
  await prove(conversationId, people, told)
  await Promise.all(people.map((each) => each.leave()))
  process.exitCode = holds ? 0 : 1
}

function fail(error: unknown): never {
  // A lost connection comes as an event.
  console.error(error instanceof Error ? error : '\nThe connection is lost: is the server still running?')
  process.exit(1)
}

await run().catch(fail)
