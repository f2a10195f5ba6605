// The rows of the access matrix: viewers from whom objects are hidden, and how they authenticate.

export type Row = {
  /** For `FOREIGN` rows unique, because each has tenants of its own. */
  name: string
  /**
   * What is hidden: a MEMBERS conversation of the viewer's tenant, the private turns of a conversation that the viewer
   * sees, or a MEMBERS conversation of another tenant.
   */
  of: 'MEMBERS' | 'WHISPER' | 'FOREIGN'
  /** Null for a client that names no actor. */
  actor: string | null
  /** The actor that the viewer acts as. */
  as?: string
  /** With a key that has all rights, or with one that is also limited to another conversation. Omitted: AUTH_MODE=none. */
  key?: 'ALL_RIGHTS' | 'LIMITED'
  /**
   * Whether the long run also sends operations with each id argument, and plain calls over WebSocket and Server-Sent
   * Events.
   */
  isFull?: boolean
}

export const ROWS: readonly Row[] = [
  { name: 'an outsider', of: 'MEMBERS', actor: 'eve', isFull: true },
  { name: 'a client without an actor', of: 'MEMBERS', actor: null },
  { name: 'a gateway acting as an outsider', of: 'MEMBERS', actor: 'gateway', as: 'eve' },
  { name: 'an outsider with a key', of: 'MEMBERS', actor: 'eve', key: 'ALL_RIGHTS', isFull: true },
  {
    name: 'a participant with a key limited to another conversation',
    of: 'MEMBERS',
    actor: 'ann',
    key: 'LIMITED',
    isFull: true,
  },
  { name: 'an actor of another tenant', of: 'FOREIGN', actor: 'ann', isFull: true },
  { name: 'an actor of another tenant with a key', of: 'FOREIGN', actor: 'ann', key: 'ALL_RIGHTS', isFull: true },
  { name: 'a participant left out of a whisper', of: 'WHISPER', actor: 'eve', isFull: true },
  { name: 'a participant without the history, left out of a whisper', of: 'WHISPER', actor: 'late' },
  { name: 'a removed participant, left out of a whisper', of: 'WHISPER', actor: 'gone' },
  { name: 'an outsider of an OPEN conversation, left out of a whisper', of: 'WHISPER', actor: 'nosy' },
]

/** A foreign tenant on a database without row level security, where only the conditions of the statements isolate. */
export const WITHOUT_POLICIES: Row = {
  name: 'an actor of another tenant, without policies',
  of: 'FOREIGN',
  actor: 'ann',
}
