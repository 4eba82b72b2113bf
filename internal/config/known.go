package config

import (
	"errors"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
)

// KnownSet is a set of values that roles name in their ceilings over arguments.
type KnownSet struct {
	// Kind is what the members are.
	Kind sallyport.ValueKind
	// List holds members as they are written; nil holds none.
	List []string
	// File is the absolute path of a file with a member on each line; empty reads
	// none.
	File string
	// Query reads further members from a database; nil reads none.
	Query *KnownQuery
}

// KnownQuery reads the members of a set from a database.
type KnownQuery struct {
	// Connection is the name of the connection.
	Connection string
	// SQL is the query, which gives one column.
	SQL string
	// Refresh is the interval of reading, at least 5 seconds.
	Refresh time.Duration
}

const (
	// leastRefresh and mostRefresh bound the interval of reading: a database is not
	// there for the gate alone, and a day is what people expect to wait for a change.
	leastRefresh, mostRefresh = 5 * time.Second, 24 * time.Hour
	// defaultRefresh is the interval where the configuration names none.
	defaultRefresh = 5 * time.Minute
)

func knownKeys() []row {
	const k = "known.<name>"
	set := func(store func(*KnownSet, value)) func(*scope, value) {
		return func(s *scope, v value) { editElement(&s.cfg.Known, s.name, func(k *KnownSet) { store(k, v) }) }
	}
	query := func(store func(*KnownQuery, value)) func(*scope, value) {
		return set(func(k *KnownSet, v value) {
			if k.Query == nil {
				k.Query = &KnownQuery{Refresh: defaultRefresh}
			}
			store(k.Query, v)
		})
	}
	var kinds []string
	for _, kind := range effect.Kinds() {
		kinds = append(kinds, string(kind))
	}
	return []row{
		{KeyDoc: KeyDoc{"known", TypeNames, false, true, "none", "Sets of values that ceilings over arguments name, such as payees or contacts. What they hold does not count as untrusted.", "{contacts: {kind: mail, list: [ann@example.com]}}"}},
		{
			KeyDoc: KeyDoc{k, TypeMapping, false, true, "", "One set; the name has 1 to 64 letters, digits, `_` or `-`. Without `list`, `file` and `query` it grows by approvals alone.", "{kind: mail, list: [ann@example.com]}"},
			set:    set(func(*KnownSet, value) {}),
		},
		{
			KeyDoc: KeyDoc{k + ".kind", TypeText, true, true, "", "What the members are, and so when two values are the same.", "mail"},
			words:  kinds, set: set(func(k *KnownSet, v value) { k.Kind = sallyport.ValueKind(v.text) }),
		},
		{
			KeyDoc: KeyDoc{k + ".list", TypeTexts, false, true, "none", "Members.", "[ann@example.com]"},
			check:  (*scope).knownMember, set: set(func(k *KnownSet, v value) { k.List = v.list }),
		},
		{
			KeyDoc: KeyDoc{k + ".file", TypeText, false, true, "none", "File with a member on each line; blank lines and lines that begin with `#` do not count. It is read again when it has changed.", "payees.txt"},
			check:  (*scope).resolvePath, set: set(func(k *KnownSet, v value) { k.File = v.text }),
		},
		{
			KeyDoc: KeyDoc{k + ".query", TypeMapping, false, true, "none", "Query of a database that gives members, in one column: at most 10,000, and 4 MiB. While it cannot be read, no value is a member of the set.", "{connection: bank, sql: select iban from payees}"},
			set:    query(func(*KnownQuery, value) {}), done: (*scope).referToConnection,
		},
		{
			KeyDoc: KeyDoc{k + ".query.connection", TypeText, true, true, "", "Name of the connection under `databases`; it is used for reading only.", "bank"},
			set:    query(func(q *KnownQuery, v value) { q.Connection = v.text }),
		},
		{
			KeyDoc: KeyDoc{k + ".query.sql", TypeText, true, true, "", "The query.", "select iban from payees"},
			check:  (*scope).someText, set: query(func(q *KnownQuery, v value) { q.SQL = v.text }),
		},
		{
			KeyDoc: KeyDoc{k + ".query.refresh", TypeText, false, true, "5m", "How often it is read; from 5s to 1d. What was read last counts for three times as long.", "5m"},
			check:  durationCheck(leastRefresh, mostRefresh), set: query(func(q *KnownQuery, v value) { q.Refresh = keptSpan(v.text) }),
		},
	}
}

func (s *scope) knownMember(v string) (string, error) {
	if v == "" {
		return "", errors.New("an empty member")
	}
	return v, nil
}

func (s *scope) someText(v string) (string, error) {
	if strings.TrimSpace(v) == "" {
		return "", errors.New("an empty text")
	}
	return v, nil
}

// referToConnection refuses a query over a connection that no file declares.
func (s *scope) referToConnection(key string) {
	if at, ok := s.places[key+".connection"]; ok && s.cfg.Known[s.name].Query.Connection != "" {
		s.refs = append(s.refs, nameReference{at, key + ".connection", s.cfg.Known[s.name].Query.Connection, "databases"})
	}
}
