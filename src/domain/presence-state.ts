// The states of presence, in the order of the schema.

export const PRESENCE_STATES = ['ONLINE', 'TYPING', 'THINKING', 'AWAY', 'OFFLINE'] as const
export type PresenceState = (typeof PRESENCE_STATES)[number]
