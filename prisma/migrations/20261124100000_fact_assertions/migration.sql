-- Exact duplicates are counted with the sources that assert them, so that each viewer's count contains only those that the
-- viewer sees. The counts of tenants cannot be divided among sources: each stored source counts once.
ALTER TABLE fact_source ADD COLUMN assertions integer NOT NULL DEFAULT 1;
DROP TABLE fact_tally;
