-- The reasons are past participles, as in the API.
ALTER TYPE supersede_reason RENAME VALUE 'DUPLICATE' TO 'DUPLICATED';
ALTER TYPE supersede_reason RENAME VALUE 'CONTRADICT' TO 'CONTRADICTED';
ALTER TYPE supersede_reason RENAME VALUE 'UPDATE' TO 'UPDATED';
