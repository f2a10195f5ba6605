-- Statements are planned for all conversations alike. With the real number of conversations, the planner expects few
-- rows of each: among many small conversations, it would read every row of a large one to find a few by their ids. The
-- number 200, which the planner also assumes for a table without statistics, makes it expect many.
ALTER TABLE turn ALTER COLUMN conversation_id SET (n_distinct = 200);
ALTER TABLE entry ALTER COLUMN conversation_id SET (n_distinct = 200);
ALTER TABLE turn_vector ALTER COLUMN conversation_id SET (n_distinct = 200);
ALTER TABLE tool_call ALTER COLUMN conversation_id SET (n_distinct = 200);
ALTER TABLE tool_result ALTER COLUMN conversation_id SET (n_distinct = 200);
