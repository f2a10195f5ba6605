// `npm run demo -- [URL] [--fast]`: a person and two agents in one conversation of a running server, over graphql-ws.
// Prints the events of Ada's subscription, then checks claims about the result. Exits with code 1 if a claim is false.

import { connect, type Participant, type Turn } from './participant.ts'
import { createScreen } from './screen.ts'
import { LINES, PEOPLE, SECRET, TITLE } from './story.ts'

const args = process.argv.slice(2)
const isFast = args.includes('--fast')
const url = args.find((arg) => !arg.startsWith('--')) ?? (process.env.COLLOQUY_URL || 'http://127.0.0.1:4000/graphql')

/** Delays, ms. The default is a person's pace; `--fast` is for tests. */
const PACE = isFast ? { word: 2, thinking: 20, pause: 10 } : { word: 85, thinking: 900, pause: 700 }
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

// The reader of a piped output may close it early.
process.stdout.on('error', () => process.exit())
const screen = createScreen(process.stdout)
let allTrue = true
const claim = (isTrue: boolean, text: string) => {
  allTrue &&= isTrue
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
    // The connection was refused, the host is unknown, or the answer is not JSON.
  }
  console.error(
    `No Colloquy server answers at ${url}.\n`
      + 'Start one in another terminal with `npm start`, or give its URL: `npm run demo -- http://host:port/graphql`.',
  )
  process.exit(1)
}

/**
 * Streams the text into a turn, word by word. Calls `between` before each word with the number of words and the offset
 * written so far.
 */
async function stream(
  conversationId: string,
  writer: Participant,
  content: string,
  turn: object = {},
  between?: (words: number, turnId: string, end: number) => Promise<unknown> | void,
): Promise<Turn> {
  await writer.setPresence(conversationId, 'THINKING')
  await wait(PACE.thinking)
  await writer.markRead(conversationId)
  await writer.setPresence(conversationId, 'TYPING')
  const { id } = await writer.openTurn(conversationId, { role: 'ASSISTANT', ...turn })
  let end = 0
  for (const [index, word] of content.match(/\S+\s*/g)!.entries()) {
    await between?.(index, id, end)
    end = (await writer.appendDelta(id, end, word)).end
    await wait(PACE.word)
  }
  const written = await writer.commitTurn(id)
  await writer.setPresence(conversationId, 'ONLINE')
  await wait(PACE.pause)
  return written
}

/** Plays the story of story.ts. */
async function play(conversationId: string, ada: Participant, scout: Participant, scribe: Participant) {
  await ada.appendTurn(conversationId, { role: 'USER', content: LINES.request })
  await wait(PACE.pause)
  await stream(conversationId, scout, LINES.found)

  const privateTurn = await ada.appendTurn(conversationId, {
    role: 'USER',
    content: LINES.private,
    audience: ['scout'],
  })
  await wait(PACE.pause)
  await stream(conversationId, scout, LINES.ordered, { audience: ['ada'] })

  // Scribe keeps writing while Ada is disconnected, and has not finished when she reconnects.
  const invitation = await stream(conversationId, scribe, LINES.invitation, {}, async (words, turnId, end) => {
    if (words === 12) await ada.hasText(turnId, end).then(ada.disconnect)
    if (words === 24) await ada.reconnect()
  })
  await ada.appendTurn(conversationId, { role: 'USER', content: LINES.correction })
  await wait(PACE.pause)
  await scribe.setPresence(conversationId, 'TYPING')
  await wait(PACE.thinking)
  const edited = await scribe.supersedeTurn(invitation.id, { role: 'ASSISTANT', content: LINES.edited })
  await scribe.setPresence(conversationId, 'ONLINE')
  await ada.hasReceived(edited.seq)
  await ada.markRead(conversationId)
  return { privateTurn, invitation, edited }
}

/** Whether the data contains SECRET, which occurs only in turns for Ada and Scout. */
const leaks = (data: unknown) => JSON.stringify(data).includes(SECRET)

/** Looks for the private turn in the results of each kind of read that the participant made. */
async function findPrivateTurn(conversationId: string, privateTurn: Turn, participant: Participant) {
  const { history, turnCount } = await participant.conversation(conversationId)
  const live = participant.events.filter(({ turn }) => turn?.id === privateTurn.id)
  return {
    inHistory: history.some(({ id }) => id === privateTurn.id),
    live: live.length > 0,
    node: (await participant.node(privateTurn.id)) !== null,
    turnCount,
    leaks: leaks(history) || leaks(participant.events),
  }
}

type Played = Awaited<ReturnType<typeof play>>

/** Prints each participant's view, and checks the claims. */
async function checkClaims(conversationId: string, people: Participant[], { privateTurn, invitation, edited }: Played) {
  const [ada, scout, scribe] = people as [Participant, Participant, Participant]
  screen.heading('The private turn in the view of each agent')
  const [byScout, byScribe] = [
    await findPrivateTurn(conversationId, privateTurn, scout),
    await findPrivateTurn(conversationId, privateTurn, scribe),
  ]
  const yesNo = (is: boolean) => (is ? 'yes' : 'no')
  screen.table(
    32,
    ['', 'scout', 'scribe'],
    [
      ['in their history', yesNo(byScout.inHistory), yesNo(byScribe.inHistory)],
      ['among their live events', yesNo(byScout.live), yesNo(byScribe.live)],
      [`node("…${privateTurn.id.slice(-6)}")`, byScout.node ? 'the turn' : 'null', byScribe.node ? 'the turn' : 'null'],
      ['their turnCount', String(byScout.turnCount), String(byScribe.turnCount)],
      [`"${SECRET}" in their data`, yesNo(byScout.leaks), yesNo(byScribe.leaks)],
    ],
  )

  const conversations = await Promise.all(people.map((each) => each.conversation(conversationId)))
  screen.heading('The conversation in the view of each participant')
  const histories = conversations.map(({ history }) => history)
  const ids = [...new Set(histories.flat().map(({ id }) => id))]
  const turns = ids.map((id) => {
    const seen = histories.map((history) => history.find((turn) => turn.id === id))
    const { seq, actor } = seen.find(Boolean)!
    return [String(seq), ...seen.map((turn) => (turn ? `${actor}: ${turn.text}` : '·'))]
  })
  const unread = people.map(({ actor }, index) =>
    String(conversations[index]!.participants.nodes.find((each) => each.actor === actor)!.unreadCount),
  )
  screen.table(6, ['seq', ...people.map(({ actor }) => actor)], [...turns, ['unread', ...unread]])

  screen.line()
  const seqs = ada.events.flatMap(({ seq }) => seq ?? [])
  const { lastSeq } = conversations[0]!
  claim(
    seqs.length === lastSeq && seqs.every((seq, index) => seq === index + 1),
    `Ada received entries 1 to ${lastSeq}, each once and in order, despite the lost connection`,
  )
  const joined = people.every(({ texts, events }) =>
    events.every(({ __typename, turn }) => __typename !== 'TurnCommitted' || texts.get(turn!.id) === turn!.text),
  )
  claim(joined, 'for every reader, the joined deltas equal the stored text')
  const hasAll =
    byScout.inHistory
    && byScout.live
    && byScout.node
    && byScout.leaks
    && byScout.turnCount === conversations[0]!.turnCount
  const hasNone =
    !byScribe.inHistory
    && !byScribe.live
    && !byScribe.node
    && !byScribe.leaks
    && byScribe.turnCount === byScout.turnCount - 2
  claim(hasAll && hasNone, 'Scribe received no trace of the private turn, not even in counts; Scout received all of it')
  const isReplaced = histories.every(
    (history) =>
      !history.some(({ id }) => id === invitation.id)
      && history.findIndex(({ id }) => id === edited.id) === history.length - 2,
  )
  claim(isReplaced, 'the edited invitation replaces the first version at its position')
  screen.note(`the conversation is not deleted: read ${conversationId} in GraphiQL at ${url}`)
}

async function run(): Promise<void> {
  await assertServer()
  const people = PEOPLE.map(({ actor }) => connect(url, actor))
  const [ada, scout, scribe] = people as [Participant, Participant, Participant]
  const { conversation } = await ada.createConversation({ title: TITLE, participants: PEOPLE })
  const conversationId = conversation.id
  screen.heading(`${TITLE}: a person and two agents, in the view of Ada`)
  screen.line()

  /**
   * Seq after which Ada's subscription resumed. Null before a reconnect, and after the text that she missed has
   * arrived.
   */
  let resumedAfter: number | null = null
  ada
    .follow(
      conversationId,
      (event) => {
        if (resumedAfter !== null && event.__typename === 'TurnDelta') {
          // The first delta after a reconnect contains the text that she missed.
          screen.note(`reconnected after entry ${resumedAfter}; ${event.text!.length} characters were missed`)
          resumedAfter = null
        }
        screen.show(event)
      },
      () => screen.note("Ada's connection is lost"),
      (after) => (resumedAfter = after),
    )
    .catch(fail)
  for (const agent of [scout, scribe]) agent.follow(conversationId, () => {}).catch(fail)

  await Promise.all(people.map((each) => each.setPresence(conversationId, 'ONLINE')))
  const played = await play(conversationId, ada, scout, scribe)
  await Promise.all(people.map((each) => each.hasReceived(played.edited.seq)))
  await checkClaims(conversationId, people, played)
  await Promise.all(people.map((each) => each.leave()))
  process.exitCode = allTrue ? 0 : 1
}

function fail(error: unknown): never {
  // A lost connection rejects with an event, not an Error.
  console.error(error instanceof Error ? error : '\nThe connection is lost: is the server still running?')
  process.exit(1)
}

await run().catch(fail)
