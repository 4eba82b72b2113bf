package config

import (
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// maxAddressBytes is the longest path of RFC 5321, section 4.5.3.1.3, and room
// for a display name.
const maxAddressBytes = 320

// The drivers of databases.
const (
	DriverPostgres = "postgres"
	DriverMySQL    = "mysql"
	DriverSQLite   = "sqlite"
)

// Database is a connection that tools may ask for by name.
type Database struct {
	// Driver is one of the Driver constants.
	Driver string
	// URLSecret is the reference of the secret that holds the URL; empty for
	// SQLite.
	URLSecret string
	// Path is the absolute path of the file of SQLite; empty otherwise.
	Path string
	// Write says that tools may be given the connection for writing.
	Write bool
}

// How a connection to a mail relay is protected.
const (
	// TLSStart begins in the clear and goes on only with STARTTLS.
	TLSStart = "starttls"
	// TLSOn is TLS from the first byte.
	TLSOn = "tls"
	// TLSNone is no protection; the relay is on this machine.
	TLSNone = "none"
)

// Relay is a mail relay that tools may ask for by name.
type Relay struct {
	// Host is host:port in canonical form.
	Host string
	// UserSecret and PasswordSecret are references of secrets; both are
	// empty for a relay that asks for neither.
	UserSecret, PasswordSecret string
	// From is the address of the sender.
	From string
	// To lists whom the built-in email-send may write to: addresses, or
	// "*@example.com". nil means the domain of From.
	To []string
	// TLS is one of the TLS constants, never empty.
	TLS string
}

func connectionKeys() []row {
	const d, m = "databases.<name>", "mail.<name>"
	database := func(store func(*Database, value)) func(*scope, value) {
		return func(s *scope, v value) { editElement(&s.cfg.Databases, s.name, func(d *Database) { store(d, v) }) }
	}
	relay := func(store func(*Relay, value)) func(*scope, value) {
		return func(s *scope, v value) { editElement(&s.cfg.Mail, s.name, func(r *Relay) { store(r, v) }) }
	}
	return []row{
		{KeyDoc: KeyDoc{"databases", TypeNames, false, true, "none", "Database connections by the name that tools declare.", "{analytics: {driver: postgres, url_secret: db/analytics}}"}, hide: true},
		{
			KeyDoc: KeyDoc{d, TypeMapping, false, true, "", "One connection; the name has 1 to 64 letters, digits, `_` or `-`.", "{driver: postgres, url_secret: db/analytics}"},
			set:    database(func(*Database, value) {}), done: (*scope).checkDatabase, hide: true,
		},
		{
			KeyDoc: KeyDoc{d + ".driver", TypeText, true, true, "", "Kind of the database.", "postgres"},
			words:  []string{DriverPostgres, DriverMySQL, DriverSQLite},
			set:    database(func(d *Database, v value) { d.Driver = v.text }),
		},
		{
			KeyDoc: KeyDoc{d + ".url_secret", TypeText, false, true, "", "Reference of the secret that holds the URL, for `postgres` and `mysql`.", "db/analytics"},
			check:  (*scope).exactRef, hide: true, set: database(func(d *Database, v value) { d.URLSecret = v.text }),
		},
		{
			KeyDoc: KeyDoc{d + ".path", TypeText, false, true, "", "File of the database, for `sqlite`.", "data/notes.db"},
			check:  (*scope).resolvePath, set: database(func(d *Database, v value) { d.Path = v.text }),
		},
		{
			KeyDoc: KeyDoc{d + ".mode", TypeText, false, true, "read", "What the connection is for: `read`, or `write` to offer the tool `db-write` on it too.", "read"},
			words:  []string{string(sallyport.ModeRead), string(sallyport.ModeWrite)},
			set:    database(func(d *Database, v value) { d.Write = v.text == string(sallyport.ModeWrite) }),
		},
		{KeyDoc: KeyDoc{"mail", TypeNames, false, true, "none", "Mail relays by the name that tools declare.", "{default: {host: \"smtp.example.com:587\", from: agent@example.com}}"}, hide: true},
		{
			KeyDoc: KeyDoc{m, TypeMapping, false, true, "", "One relay; the name has 1 to 64 letters, digits, `_` or `-`.", "{host: \"smtp.example.com:587\", from: agent@example.com}"},
			set:    relay(func(r *Relay, _ value) { r.TLS = TLSStart }), done: (*scope).checkRelay, hide: true,
		},
		{
			KeyDoc: KeyDoc{m + ".host", TypeText, true, true, "", "Host and port of the relay.", "smtp.example.com:587"},
			check:  (*scope).hostPort, set: relay(func(r *Relay, v value) { r.Host = v.text }),
		},
		{
			KeyDoc: KeyDoc{m + ".user_secret", TypeText, false, true, "the relay asks for no user", "Reference of the secret that holds the user.", "mail/user"},
			check:  (*scope).exactRef, hide: true, set: relay(func(r *Relay, v value) { r.UserSecret = v.text }),
		},
		{
			KeyDoc: KeyDoc{m + ".password_secret", TypeText, false, true, "the relay asks for no password", "Reference of the secret that holds the password.", "mail/password"},
			check:  (*scope).exactRef, hide: true, set: relay(func(r *Relay, v value) { r.PasswordSecret = v.text }),
		},
		{
			KeyDoc: KeyDoc{m + ".from", TypeText, true, true, "", "Address of the sender.", "agent@example.com"},
			check:  (*scope).parseSender, set: relay(func(r *Relay, v value) { r.From = v.text }),
		},
		{
			KeyDoc: KeyDoc{m + ".to", TypeTexts, false, true, "the domain of `from`", "Whom the built-in `email-send` may write to: addresses, or `*@example.com` for a domain; for the relay `default`.", `["*@example.com"]`},
			check:  (*scope).parseRecipient, set: relay(func(r *Relay, v value) { r.To = v.list }),
		},
		{
			KeyDoc: KeyDoc{m + ".tls", TypeText, false, true, "starttls", "How the connection is protected: `starttls`, `tls` from the first byte, or `none` for a relay on this machine.", "starttls"},
			words:  []string{TLSStart, TLSOn, TLSNone}, set: relay(func(r *Relay, v value) { r.TLS = v.text }),
		},
	}
}

// editElement edits one element of a map of values, which it makes when needed.
func editElement[K comparable, T any](m *map[K]T, name K, edit func(*T)) {
	if *m == nil {
		*m = map[K]T{}
	}
	v := (*m)[name]
	edit(&v)
	(*m)[name] = v
}

// exactRef reads the reference of one secret. The text is never repeated:
// it may be the secret itself, written by mistake.
func (s *scope) exactRef(v string) (string, error) {
	if strings.Contains(v, "://") {
		return "", errors.New("expected the reference of a secret such as db/analytics, not a URL: the value is never written here")
	}
	if err := reach.ParseExactRef(v); err != nil {
		return "", fmt.Errorf("expected the reference of a secret such as db/analytics: %w", err)
	}
	return v, nil
}

// hostPort reads a host with its port.
func (s *scope) hostPort(v string) (string, error) {
	p, err := reach.ParseHost(v)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(v, "*") {
		return "", fmt.Errorf("%s: expected one host, not a pattern", yamldoc.Quote(v))
	}
	if _, port, err := reach.SplitHostPort(v); err != nil || port == 0 {
		return "", fmt.Errorf("%s has no port: expected host:port, such as smtp.example.com:587", yamldoc.Quote(v))
	}
	return p.String(), nil
}

// parseSender reads the address of a sender.
func (s *scope) parseSender(v string) (string, error) {
	a, err := mail.ParseAddress(v)
	if err != nil || len(v) > maxAddressBytes || strings.ContainsAny(v, "\n\t") {
		return "", fmt.Errorf("%s is not an address: expected one such as agent@example.com", yamldoc.Quote(v))
	}
	if a.Name == "" {
		return a.Address, nil
	}
	return a.String(), nil
}

// parseRecipient reads a bare address or "*@domain".
func (s *scope) parseRecipient(v string) (string, error) {
	bare := v
	if domain, ok := strings.CutPrefix(v, "*@"); ok {
		bare = "a@" + domain
	}
	a, err := mail.ParseAddress(bare)
	if err != nil || a.Name != "" || a.Address != bare || len(v) > maxAddressBytes || strings.Contains(bare, "*") {
		return "", fmt.Errorf("%s is not a recipient: expected an address such as ada@example.com, or *@example.com", yamldoc.Quote(v))
	}
	return v, nil
}

// checkDatabase checks the keys of a connection together.
func (s *scope) checkDatabase(key string) {
	need, refuse := "url_secret", "path"
	switch s.cfg.Databases[s.name].Driver {
	case "":
		return
	case DriverSQLite:
		need, refuse = refuse, need
	}
	driver := s.cfg.Databases[s.name].Driver
	if _, ok := s.places[joinKey(key, need)]; !ok {
		s.addFault(s.file, s.places[key].at, joinKey(key, need), "missing key %s: driver %s needs %s: %s",
			joinKey(key, need), driver, need, s.table.byKey["databases.<name>."+need].Example)
	}
	if at, ok := s.places[joinKey(key, refuse)]; ok {
		s.keyFault(s.file, at.at, joinKey(key, refuse), "%s: driver %s has no %s: expected %s", joinKey(key, refuse), driver, refuse, need)
	}
}

// checkRelay checks the keys of a relay together.
func (s *scope) checkRelay(key string) {
	r := s.cfg.Mail[s.name]
	user, hasUser := s.places[key+".user_secret"]
	password, hasPassword := s.places[key+".password_secret"]
	switch {
	case hasUser && !hasPassword:
		s.addFault(s.file, user.at, key+".password_secret", "%s.user_secret without password_secret: expected both or none", key)
	case hasPassword && !hasUser:
		s.addFault(s.file, password.at, key+".user_secret", "%s.password_secret without user_secret: expected both or none", key)
	}
	if host, _, err := reach.SplitHostPort(r.Host); r.TLS == TLSNone && err == nil && !isLoopback(host) {
		s.addFault(s.file, s.places[key+".tls"].at, key+".tls", "%s.tls: none is for a relay on this machine: expected starttls or tls", key)
	}
}

// ownSkills refuses a folder of skills that holds the workspace: no tool reaches what is
// below that folder.
func (l *loader) ownSkills() {
	if s := l.cfg.Skills; s != "" && reach.Within(s, l.cfg.Workspace) {
		at := l.places["skills"]
		l.addFault(at.file, at.at, "skills", "skills: no tool would reach the workspace, which is in this folder: expected a folder with skills alone")
	}
}

// ownState refuses to hand out the gate's own state as a database.
func (l *loader) ownState() {
	if l.cfg.State.Path == "" {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(l.cfg.Databases)) {
		path := l.cfg.Databases[name].Path
		rest, own := strings.CutPrefix(path, l.cfg.State.Path)
		if key := "databases." + name + ".path"; own && (slices.Contains([]string{"", "-wal", "-shm", "-journal"}, rest) || strings.HasPrefix(rest, "-log") || strings.HasPrefix(rest, "-memory")) {
			at := l.places[key]
			l.addFault(at.file, at.at, key, "%s: no tool may use the state of the gate: expected another file", key)
		}
	}
}
