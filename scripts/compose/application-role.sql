-- Creates the server's role, which is no superuser, and its database. psql runs this file once, when the volume of
-- docker-compose.yml is empty; for another Postgres, run it as a superuser with the password in that file.

\set password `cat /run/secrets/database_password`

CREATE ROLE colloquy LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
CREATE DATABASE colloquy OWNER colloquy;

-- Only the role connects to its database, and it connects to no other.
REVOKE ALL ON DATABASE colloquy, postgres, template1 FROM PUBLIC;

\connect colloquy

-- Only a superuser may create pgvector's extension. The migrations find both.
CREATE EXTENSION vector;
CREATE EXTENSION pg_trgm;
