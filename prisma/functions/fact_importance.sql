-- How important a fact is, 0 to 1: how often it was stated (0.4), on how many days before today it was recalled (0.3), and
-- how many days ago it was stated (0.3, halved every 90 days). Days are those of UTC: unless sources are added, the value
-- changes only at midnight.
--
-- p_sources  number of distinct sources of the fact and of its merged duplicates (src/store/sql/memory/fact/fact-columns.ts). It
--            is an argument because Postgres inlines a function only without a subquery, which takes a quarter of the time.
CREATE OR REPLACE FUNCTION fact_importance(
  p_sources bigint, p_recall_days integer, p_recalled_on date, p_observed_at timestamptz
) RETURNS double precision LANGUAGE sql STABLE AS $$
  SELECT 0.4 * (1 - 1.0 / greatest(1, p_sources))
       + 0.3 * (1 - 1.0 / (1 + p_recall_days - (p_recalled_on IS NOT DISTINCT FROM now()::date)::integer))
       + 0.3 * power(0.5, greatest(0, now()::date - p_observed_at::date) / 90.0)
$$;
