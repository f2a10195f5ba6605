-- XORs term hashes with the salt of their conversation, in order, so that equal words of two conversations have
-- different index terms.
CREATE OR REPLACE FUNCTION salted(p_terms integer[], p_salt integer) RETURNS integer[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ARRAY(SELECT x # p_salt FROM unnest(p_terms) WITH ORDINALITY AS t(x, o) ORDER BY o);
