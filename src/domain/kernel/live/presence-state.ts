// The presence states, in the order in which the GraphQL schema lists them.

export const PRESENCE_STATES = ['ONLINE', 'TYPING', 'THINKING', 'AWAY', 'OFFLINE'] as const
export type PresenceState = (typeof PRESENCE_STATES)[number]
