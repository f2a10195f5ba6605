-- Statements are planned for all conversations alike. With the real number of conversations, the planner expects few
-- rows of each, and to find some turns of a large one by their ids, it would read all its turns. With 20 it expects each
-- to have a twentieth of the rows, or as many as the largest one if its sample shows fewer.
ALTER TABLE turn ALTER COLUMN conversation_id SET (n_distinct = 20);
ALTER TABLE entry ALTER COLUMN conversation_id SET (n_distinct = 20);
ALTER TABLE turn_vector ALTER COLUMN conversation_id SET (n_distinct = 20);
ALTER TABLE tool_call ALTER COLUMN conversation_id SET (n_distinct = 20);
ALTER TABLE tool_result ALTER COLUMN conversation_id SET (n_distinct = 20);
