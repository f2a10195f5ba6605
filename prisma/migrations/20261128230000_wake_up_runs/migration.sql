-- A person who cancels the run that answers a turn does not want that answer.
ALTER TYPE wake_up_drop ADD VALUE 'RUN_CANCELLED';
