-- A pin belongs to the turn, so all versions of a turn have the value of the newest one.
UPDATE turn t SET pinned = n.pinned FROM turn n
WHERE n.conversation_id = t.conversation_id AND n.root_seq = t.root_seq AND n.superseded_by IS NULL
  AND t.superseded_by IS NOT NULL AND t.pinned <> n.pinned;
