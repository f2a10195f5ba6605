-- Creates the server's role, which is not a superuser, and its database. The Postgres image runs this file once, when
-- the volume of docker-compose.yml is empty. For another Postgres, run it with psql as a superuser; it reads the role's
-- password from the file below.

\set password `cat /run/secrets/database_password`

CREATE ROLE colloquy LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
-- The roles of row-level security, which the server takes for its statements: colloquy_app for requests, which sees one
-- tenant, and colloquy_system for background work. The server's role must be a member, and inherits nothing from them.
CREATE ROLE colloquy_app NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION;
CREATE ROLE colloquy_system NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION;
GRANT colloquy_app, colloquy_system TO colloquy;

CREATE DATABASE colloquy OWNER colloquy;

-- Of the roles that are not superusers, only this role may connect to its database, and it may connect to no other.
REVOKE ALL ON DATABASE colloquy, postgres, template1 FROM PUBLIC;

\connect colloquy

-- Only a superuser may create pgvector's extension. The migrations do not create extensions that exist.
CREATE EXTENSION vector;
CREATE EXTENSION pg_trgm;
