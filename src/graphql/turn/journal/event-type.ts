// The types of events that a subscriber may select: one value for each object type, with the same name.

import type { EventType } from '../../../domain/turn/journal/event.ts'
import { builder } from '../../kernel/builder.ts'

const value = (type: EventType, description: string) => ({ value: type, description })

export const ConversationEventTypeEnum = builder.enumType('ConversationEventType', {
  description:
    'A type of conversation event that a subscription can select. `ConversationDeleted` and `Gap` have no '
    + 'value, because every subscription receives them.',
  values: {
    TURN_APPENDED: value('TurnAppended', 'Events of the type `TurnAppended`.'),
    TURN_OPENED: value('TurnOpened', 'Events of the type `TurnOpened`.'),
    TURN_DELTA: value('TurnDelta', 'Events of the type `TurnDelta`: the text of open turns.'),
    TURN_PART_DELTA: value('TurnPartDelta', 'Events of the type `TurnPartDelta`: the other parts of open turns.'),
    TURN_COMMITTED: value('TurnCommitted', 'Events of the type `TurnCommitted`.'),
    TURN_ABORTED: value('TurnAborted', 'Events of the type `TurnAborted`.'),
    TURN_SUPERSEDED: value('TurnSuperseded', 'Events of the type `TurnSuperseded`: edits and regenerated replies.'),
    TURN_UPDATED: value('TurnUpdated', 'Events of the type `TurnUpdated`: pins.'),
    TURN_ERASED: value('TurnErased', 'Events of the type `TurnErased`.'),
    TURN_CLAIMED: value('TurnClaimed', 'Events of the type `TurnClaimed`.'),
    CLAIM_RELEASED: value('ClaimReleased', 'Events of the type `ClaimReleased`.'),
    WAKE_UPS_STOPPED: value('WakeUpsStopped', 'Events of the type `WakeUpsStopped`.'),
    PARTICIPANT_JOINED: value('ParticipantJoined', 'Events of the type `ParticipantJoined`.'),
    PARTICIPANT_LEFT: value('ParticipantLeft', 'Events of the type `ParticipantLeft`.'),
    PARTICIPANT_UPDATED: value('ParticipantUpdated', 'Events of the type `ParticipantUpdated`.'),
    PARTICIPANT_READ: value('ParticipantRead', 'Events of the type `ParticipantRead`: read positions.'),
    PRESENCE_CHANGED: value('PresenceChanged', 'Events of the type `PresenceChanged`.'),
    CONVERSATION_UPDATED: value('ConversationUpdated', 'Events of the type `ConversationUpdated`.'),
    SUMMARY_WRITTEN: value('SummaryWritten', 'Events of the type `SummaryWritten`.'),
    FACTS_CHANGED: value('FactsChanged', 'Events of the type `FactsChanged`.'),
    APPROVAL_REQUESTED: value('ApprovalRequested', 'Events of the type `ApprovalRequested`.'),
    APPROVAL_RESOLVED: value('ApprovalResolved', 'Events of the type `ApprovalResolved`.'),
    RUN_STARTED: value('RunStarted', 'Events of the type `RunStarted`.'),
    RUN_CHANGED: value('RunChanged', 'Events of the type `RunChanged`: states of runs.'),
    SHARED_STATE_CHANGED: value('SharedStateChanged', 'Events of the type `SharedStateChanged`.'),
  },
})
