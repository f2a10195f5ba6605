// Computes each participant's view of a conversation from in-memory lists and history windows, without product code.
// Suites apply the same steps to a real conversation and to this oracle, and compare the views.

export type Status = 'STREAMING' | 'COMMITTED' | 'ABORTED'
export type OracleTurn = {
  id: string
  seq: number
  position: number
  actor: string
  status: Status
  tokens: number
  audience: string[] | null
  pinned?: boolean
}
/** `turn`: the turn whose visibility the entry has. `names`: the turn in the event, by default the same. */
type Entry = { seq: number; type: string; turn?: OracleTurn; names?: OracleTurn }
type Span = { from: number; to: number }
type Member = {
  windows: Span[]
  memberships: Span[]
  history: 'ALL' | 'SINCE_JOINED'
  isParticipant: boolean
  removed: boolean
  read: number
}

export type ConversationOracle = ReturnType<typeof createConversationOracle>

export function createConversationOracle() {
  const entries: Entry[] = []
  const turns: OracleTurn[] = []
  const members = new Map<string, Member>()
  let isMembersOnly = false

  const write = (type: string, turn?: OracleTurn, names = turn) =>
    entries.push({ seq: entries.length + 1, type, turn, names })
  const isParticipant = (actor: string) => members.get(actor)?.isParticipant === true
  const seesConversation = (actor: string) => !isMembersOnly || members.has(actor)
  /** An actor who was never a participant sees the whole journal of an OPEN conversation. */
  const isInWindow = (actor: string, seq: number) =>
    seesConversation(actor)
    && (members.get(actor)?.windows ?? [{ from: 1, to: Infinity }]).some(({ from, to }) => from <= seq && seq <= to)
  const sees = (actor: string, turn: OracleTurn) =>
    isInWindow(actor, turn.seq) && isInWindow(actor, turn.position) && (!turn.audience || turn.audience.includes(actor))
  const isNewest = (turn: OracleTurn, seen: OracleTurn[]) =>
    !seen.some((other) => other.position === turn.position && other.seq > turn.seq)

  return {
    isParticipant,
    seesConversation,
    get isMembersOnly() {
      return isMembersOnly
    },
    setMembersOnly(value: boolean) {
      isMembersOnly = value
      write('ConversationUpdated')
    },
    /** The current participants, in the order in which they first joined. */
    present: () => [...members].filter(([, { isParticipant: isPresent }]) => isPresent).map(([actor]) => actor),
    isRemoved: (actor: string) => members.get(actor)?.removed === true,
    wasParticipant: (actor: string) => members.has(actor),
    get head() {
      return entries.length
    },
    turns,
    join(actor: string, history: Member['history']) {
      if (isParticipant(actor)) return
      write('ParticipantJoined')
      const former = members.get(actor)
      const windows =
        history === 'ALL'
          ? [{ from: 1, to: Infinity }]
          : [...(former?.windows ?? []), { from: entries.length, to: Infinity }]
      const memberships = [...(former?.memberships ?? []), { from: entries.length, to: Infinity }]
      const read = former?.read ?? 0
      members.set(actor, { windows, memberships, history, isParticipant: true, removed: false, read })
    },
    /** `removed`: whether another actor removes the participant. `append` does not check this; call `isRemoved` first. */
    leave(actor: string, removed = false) {
      write('ParticipantLeft')
      const member = members.get(actor)!
      member.isParticipant = false
      member.removed = removed
      for (const span of [...member.windows, ...member.memberships]) {
        if (span.to === Infinity) span.to = entries.length
      }
    },
    /** Changes the history visibility of a present or former participant. */
    setHistory(actor: string, history: Member['history']) {
      const member = members.get(actor)!
      if (member.history === history) return
      write('ParticipantUpdated')
      const { to } = member.memberships.at(-1)!
      member.history = history
      member.windows = history === 'ALL' ? [{ from: 1, to }] : member.memberships.map((span) => ({ ...span }))
    },
    /** Appends a turn, or opens one whose status is STREAMING. Its author joins automatically. */
    append(turn: { id: string; actor: string; status: Status; tokens: number; audience: string[] | null }) {
      if (!isParticipant(turn.actor)) this.join(turn.actor, members.get(turn.actor)?.history ?? 'ALL')
      const seq = entries.length + 1
      const audience = turn.audience && [turn.actor, ...turn.audience]
      turns.push({ ...turn, audience, seq, position: seq })
      write(turn.status === 'STREAMING' ? 'TurnOpened' : 'TurnAppended', turns.at(-1))
    },
    close(turn: OracleTurn, status: 'COMMITTED' | 'ABORTED', tokens: number) {
      Object.assign(turn, { status, tokens })
      write(status === 'COMMITTED' ? 'TurnCommitted' : 'TurnAborted', turn)
    },
    supersede(older: OracleTurn, id: string, tokens: number) {
      turns.push({ ...older, id, tokens, status: 'COMMITTED', seq: entries.length + 1 })
      write('TurnSuperseded', turns.at(-1))
    },
    pin(turn: OracleTurn) {
      const versions = turns.filter(({ position }) => position === turn.position)
      if (versions.every(({ pinned }) => pinned)) return
      for (const version of versions) version.pinned = true
      write('TurnUpdated', versions[0], versions.at(-1))
    },
    isSuperseded: (turn: OracleTurn) => !isNewest(turn, turns),
    markRead(actor: string, seq: number) {
      const member = members.get(actor)!
      member.read = Math.max(member.read, seq)
    },

    /** Turns in the view, by position and seq: the newest visible version of each, or all versions. */
    page(actor: string, includeSuperseded = false): OracleTurn[] {
      const seen = turns.filter((turn) => sees(actor, turn))
      return seen
        .filter((turn) => includeSuperseded || isNewest(turn, seen))
        .sort((a, b) => a.position - b.position || a.seq - b.seq)
    },
    count(actor: string) {
      const counted = this.page(actor).filter(({ status }) => status === 'COMMITTED')
      return { turnCount: counted.length, tokenCount: counted.reduce((sum, { tokens }) => sum + tokens, 0) }
    },
    /** Number of the participant's unread turns that are also in the viewer's view. */
    unread(viewer: string, participant: string): number {
      const { read } = members.get(participant)!
      const isCommittedAfter = ({ position }: OracleTurn) =>
        entries.some(({ seq, type, turn }) => type === 'TurnCommitted' && seq > read && turn!.position === position)
      return this.page(participant).filter(
        (turn) =>
          turn.status === 'COMMITTED'
          && turn.actor !== participant
          && (turn.position > read || isCommittedAfter(turn))
          && sees(viewer, turn),
      ).length
    },
    events: (actor: string) =>
      entries
        .filter(({ seq, turn }) => isInWindow(actor, seq) && (!turn || sees(actor, turn)))
        .map(({ seq, type, names }) => ({ seq, type, turn: names && sees(actor, names) ? names.id : undefined })),
  }
}
