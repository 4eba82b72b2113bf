package recallstore

// version is that of the schema and of how texts are taken apart (PRAGMA user_version).
const version = 2

// schema is the table of notes and the index of their words. A side is the digest of a
// shelf and of whether its notes are untrusted. Each word of the index begins with its
// side, so that a search reads what stands on its sides and nothing else. Names of
// principals and sessions are not in the file. What is deleted leaves the index at once.
const schema = `
	CREATE TABLE notes(
		id INTEGER PRIMARY KEY,
		side TEXT NOT NULL,
		key TEXT NOT NULL,
		text TEXT NOT NULL,
		call TEXT NOT NULL,
		author TEXT NOT NULL,
		written INTEGER NOT NULL,
		expires INTEGER NOT NULL
	) STRICT;
	CREATE UNIQUE INDEX notes_key ON notes(side, key);
	CREATE INDEX notes_side ON notes(side, id);
	CREATE INDEX notes_author ON notes(author);
	CREATE INDEX notes_expires ON notes(expires);
	CREATE VIRTUAL TABLE words USING fts5(list, content='', tokenize='ascii', detail='none');
	INSERT INTO words(words, rank) VALUES('secure-delete', 1);
	PRAGMA user_version = 2;
`

// fromFirst brings a file of version 1 to version 2. Whose its notes are is not known.
const fromFirst = `
	ALTER TABLE notes ADD COLUMN author TEXT NOT NULL DEFAULT '';
	CREATE INDEX notes_author ON notes(author);
	PRAGMA user_version = 2;
`
