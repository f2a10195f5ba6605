// Replaces the presence of authors in tests that count all events of a conversation: an author becomes present at some
// time after its append, so its PresenceChanged event may be anywhere among the others.

import type { Writers } from '../../src/domain/kernel/live/writers.ts'

/** Makes no author present. */
export const ABSENT_WRITERS: Writers = { wrote() {}, wroteInto() {} }
