// `npm run demo -- [--fast] [--stay]`: a person and two agents plan a dinner in one conversation, and an agent needs
// the person's approval. Starts a server of its own, which runs the agents, offline or with a real model. Prints the
// events of Ada's subscription, then the view of each participant, and checks claims. Exits with code 1 if a claim is
// false.

import { once } from 'node:events'
import { startHost, type Host } from './host.ts'
import { connect, type Event, type Participant, type Run, type Turn } from './participant.ts'
import { createScreen } from './screen.ts'
import { createTools, EDITED_TIME, LINES, participants, SECRET, TITLE, type Booking } from './story.ts'

const args = new Set(process.argv.slice(2))
const isFast = args.has('--fast')

/** Delays, ms. By default, those of a person; `--fast` is for tests. */
const PACE = isFast ? { word: 15, pause: 10, decide: 50 } : { word: 70, pause: 900, decide: 2_500 }
/** Maximum time until the agents have answered, ms. */
const ANSWER_MS = 120_000
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

// The reader of a piped output may close it early.
process.stdout.on('error', () => process.exit())
const screen = createScreen(process.stdout)
let allTrue = true
const claim = (isTrue: boolean, text: string) => {
  allTrue &&= isTrue
  screen.check(isTrue, text)
}

/** The runs that answer each mention of an agent. An agent that mentions itself is not answered. */
const answersOf = (history: Turn[], runs: Run[]): Run[][] =>
  history.flatMap(({ id, actor, mentions }) =>
    mentions
      .filter((each) => each.actor !== actor)
      .map((each) => runs.filter((run) => run.replyTo?.id === id && run.actor === each.actor)),
  )

/** Waits until each turn that mentions an agent is answered, and no agent runs. */
async function settled(conversationId: string, ada: Participant): Promise<void> {
  const until = Date.now() + ANSWER_MS
  for (;;) {
    // Read the turns last, so that they include the turns of the runs that have ended.
    const runs = await ada.runs(conversationId)
    const { history } = await ada.conversation(conversationId)
    const isAnswered = answersOf(history, runs).every(({ length }) => length > 0)
    if (isAnswered && runs.every(({ endedAt }) => endedAt !== null)) return
    if (Date.now() > until) throw new Error(`The agents have not answered within ${ANSWER_MS / 1000} s.`)
    await wait(50)
  }
}

/** Approves the call that an event requests, with another time. */
async function approve(ada: Participant, { approval }: Event): Promise<void> {
  await wait(PACE.decide)
  const given = { ...approval!.arguments, ...('time' in approval!.arguments && { time: EDITED_TIME }) }
  await ada.resolveApproval(approval!.id, given)
}

/** Plays the story. */
async function play(conversationId: string, ada: Participant, planner: Participant) {
  await ada.appendTurn(conversationId, { role: 'USER', content: LINES.request })
  await settled(conversationId, ada)
  await wait(PACE.pause)

  // Ada loses her connection while the planner answers, and receives the rest of the answer after she reconnects.
  const before = planner.events.length
  const opened = planner.hasEvent(before, ({ __typename }) => __typename === 'TurnOpened')
  const privateTurn = await ada.appendTurn(conversationId, {
    role: 'USER',
    content: LINES.private,
    audience: ['planner'],
  })
  const { turn } = await opened
  await ada.hasText(turn!.id, 12)
  ada.disconnect()
  await planner.hasText(turn!.id, 50)
  await ada.reconnect()
  await settled(conversationId, ada)
  return privateTurn
}

/** Whether the data contains SECRET, which occurs only in turns for Ada and the planner. */
const leaks = (data: unknown) => JSON.stringify(data).includes(SECRET)

/** Searches for the private turn in the results of each kind of read, as the participant. */
async function findPrivateTurn(conversationId: string, privateTurn: Turn, participant: Participant) {
  const { history, turnCount } = await participant.conversation(conversationId)
  const runs = await participant.runs(conversationId)
  const live = participant.events.filter(({ turn }) => turn?.id === privateTurn.id)
  return {
    inHistory: history.some(({ id }) => id === privateTurn.id),
    live: live.length > 0,
    node: (await participant.node(privateTurn.id)) !== null,
    turnCount,
    runs: runs.length,
    leaks: leaks(history) || leaks(participant.events) || leaks(runs),
  }
}
type Found = Awaited<ReturnType<typeof findPrivateTurn>>

/** Prints which data of the private turn each agent saw. */
function printPrivateTurn(privateTurn: Turn, planner: Found, researcher: Found): void {
  screen.heading('The private turn in the view of each agent')
  const yesNo = (is: boolean) => (is ? 'yes' : 'no')
  const row = (label: string, of: (found: Found) => string) => [label, of(planner), of(researcher)]
  screen.table(
    32,
    ['', 'planner', 'researcher'],
    [
      row('in their history', ({ inHistory }) => yesNo(inHistory)),
      row('among their live events', ({ live }) => yesNo(live)),
      row(`node("…${privateTurn.id.slice(-6)}")`, ({ node }) => (node ? 'the turn' : 'null')),
      row('their turnCount', ({ turnCount }) => String(turnCount)),
      row('runs that they see', ({ runs }) => String(runs)),
      row(`"${SECRET}" in their data`, (found) => yesNo(found.leaks)),
    ],
  )
}

/** Prints the conversation in the view of each participant. */
function printViews(people: Participant[], histories: Turn[][]): void {
  screen.heading('The conversation in the view of each participant')
  const ids = [...new Set(histories.flat().map(({ id }) => id))]
  const rows = ids.map((id) => {
    const seen = histories.map((history) => history.find((turn) => turn.id === id))
    const { seq } = seen.find(Boolean)!
    return [seq, ...seen.map((turn) => (turn ? screen.lineOf(turn) : '·'))] as const
  })
  const inOrder = rows.toSorted(([a], [b]) => a - b).map(([seq, ...cells]) => [String(seq), ...cells])
  screen.table(6, ['seq', ...people.map(({ actor }) => actor)], inOrder)
}

/** Whether one completed run answers each turn that mentions an agent. */
const areAnsweredOnce = (history: Turn[], runs: Run[]) =>
  answersOf(history, runs).every(([first, ...more]) => first?.state === 'COMPLETED' && more.length === 0)

async function checkClaims(
  conversationId: string,
  people: Participant[],
  privateTurn: Turn,
  booked: Booking[],
  host: Host,
) {
  const [ada, planner, researcher] = people as [Participant, Participant, Participant]
  const [byPlanner, byResearcher] = [
    await findPrivateTurn(conversationId, privateTurn, planner),
    await findPrivateTurn(conversationId, privateTurn, researcher),
  ]
  printPrivateTurn(privateTurn, byPlanner, byResearcher)
  const conversations = await Promise.all(people.map((each) => each.conversation(conversationId)))
  const histories = conversations.map(({ history }) => history)
  printViews(people, histories)

  screen.line()
  const { lastSeq } = conversations[0]!
  await ada.hasReceived(lastSeq)
  const seqs = ada.events.flatMap(({ seq }) => seq ?? [])
  claim(
    seqs.length === lastSeq && seqs.every((seq, index) => seq === index + 1),
    `Ada received entries 1 to ${lastSeq}, each once and in order, despite the lost connection`,
  )
  const joined = people.every(({ texts, events }) =>
    events.every(
      ({ __typename, turn }) => __typename !== 'TurnCommitted' || (texts.get(turn!.id) ?? '') === turn!.text,
    ),
  )
  claim(joined, 'for every reader, the joined deltas equal the stored text')
  claim(
    areAnsweredOnce(histories[0]!, await ada.runs(conversationId)),
    'each turn that mentions an agent was answered once',
  )
  claim(
    byPlanner.inHistory
      && byPlanner.live
      && byPlanner.node
      && byPlanner.leaks
      && !byResearcher.inHistory
      && !byResearcher.live
      && !byResearcher.node
      && !byResearcher.leaks
      && byResearcher.turnCount < byPlanner.turnCount
      && byResearcher.runs < byPlanner.runs,
    'the researcher received no trace of the private turns and of their run, not even in counts; the planner received all',
  )
  const [booking] = booked
  // A real model may book no table.
  if (host.provider === 'echo' || booking) {
    claim(
      booked.length === 1 && booking!.time === EDITED_TIME,
      `the table was booked once, as Ada approved it: at ${EDITED_TIME}`,
    )
  }
}

async function run(host: Host, booked: Booking[]): Promise<void> {
  const invited = participants(host.provider)
  const people = invited.map(({ actor }) => connect(host.url, actor))
  const [ada, ...agents] = people as [Participant, Participant, Participant]
  const { conversation } = await ada.createConversation({ title: TITLE, participants: invited, maxAgentTurns: 12 })
  screen.heading(`${TITLE}: a person and two agents (${host.provider}: ${host.model}), in the view of Ada`)
  screen.line()

  /**
   * Seq after which Ada's subscription resumed. Null before a reconnect, and after the text that she missed has
   * arrived.
   */
  let resumedAfter: number | null = null
  ada
    .follow(
      conversation.id,
      (event) => {
        if (resumedAfter !== null && event.__typename === 'TurnDelta') {
          // The first delta after a reconnect contains the text that she missed.
          screen.note(`reconnected after entry ${resumedAfter}; ${event.text!.length} characters were missed`)
          resumedAfter = null
        }
        screen.show(event)
        if (event.__typename === 'ApprovalRequested') approve(ada, event).catch(fail)
      },
      () => screen.note("Ada's connection is lost"),
      (after) => (resumedAfter = after),
    )
    .catch(fail)
  for (const agent of agents) agent.follow(conversation.id, () => {}).catch(fail)

  const privateTurn = await play(conversation.id, ada, agents[0])
  await checkClaims(conversation.id, people, privateTurn, booked, host)
  await Promise.all(people.map((each) => each.leave()))
  process.exitCode = allTrue ? 0 : 1
  if (args.has('--stay')) {
    screen.note(`the server runs until Ctrl+C: read ${conversation.id} in GraphiQL at ${host.url}`)
    await once(process, 'SIGINT')
  }
}

function fail(error: unknown): never {
  // A lost connection rejects with an event, not an Error.
  console.error(error instanceof Error ? error : '\nThe connection is lost.')
  process.exit(1)
}

const { tools, bookings } = createTools()
const host = await startHost(tools, PACE.word).catch(fail)
await run(host, bookings).catch(fail)
await host.close()
