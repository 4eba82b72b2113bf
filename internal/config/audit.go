package config

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

const (
	// defaultAnchorEvery bounds what could be rewritten unseen without writing much.
	defaultAnchorEvery = time.Hour
	// minAnchorEvery and maxAnchorEvery bound the pause.
	minAnchorEvery, maxAnchorEvery = time.Second, 7 * 24 * time.Hour
	// maxOrigin bounds the name of a log, in bytes.
	maxOrigin = 128
)

// Audit says where parts of the record go.
type Audit struct {
	// Anchors are the places where serve keeps heads of the record.
	Anchors []AnchorPlace
	// Every is the pause between two heads at one place.
	Every time.Duration
	// Timestamp is the address of the authority that puts its time under the heads in
	// files; empty for none.
	Timestamp string
	// Origin names the log that the file of Anchors is, whose checkpoints are signed; empty
	// for none.
	Origin string
	// Push lists the collectors to which serve sends the record.
	Push []Collector
	// Format is the form in which it is sent: cef, ocsf or jsonl.
	Format string
	// CA is the absolute path of a PEM file with the authorities that are believed
	// in place of those of the system; empty means those.
	CA string
}

// AnchorPlace is where heads of the record are kept: exactly one field is set.
type AnchorPlace struct {
	// File is the absolute path of a file to which they are appended.
	File string
	// Webhook is the address to which they are posted.
	Webhook string
}

// Collector is what serve sends the record to: exactly one of Syslog and URL is set.
type Collector struct {
	// Syslog is a URL with the scheme tcp+tls, tcp or udp.
	Syslog string
	// URL is the base address of a collector of OpenTelemetry: https, or http on this
	// machine.
	URL string
	// Headers are sent with each request to URL, by name.
	Headers map[string]TelemetryHeader
}

func auditKeys() []row {
	const otlp = "audit.push[].otlp"
	return slices.Concat([]row{
		{
			KeyDoc: KeyDoc{"audit", TypeMapping, false, true, "the record stays beside the gate", "Where `serve` sends parts of the record.", "{anchors: [{file: /mnt/elsewhere/anchors.jsonl}], every: 1h}"},
			set:    func(s *scope, _ value) { s.cfg.Audit.Every, s.cfg.Audit.Format = defaultAnchorEvery, "cef" }, done: (*scope).checkAudit,
		},
		{KeyDoc: KeyDoc{"audit.anchors", TypeChoices, false, true, "none", "Places where `serve` keeps the head of the record, as `audit anchor` does: at its start, then each time `every` is over, and at its end.", "[{file: /mnt/elsewhere/anchors.jsonl}, {webhook: \"https://example.com/anchors\"}]"}},
		{
			KeyDoc: KeyDoc{"audit.anchors[].file", TypeText, false, true, "", "File to which heads are appended. No tool reaches it.", "/mnt/elsewhere/anchors.jsonl"},
			check:  (*scope).anchorFile, set: func(s *scope, v value) { s.addAnchorPlace(AnchorPlace{File: v.text}) },
		},
		{
			KeyDoc: KeyDoc{"audit.anchors[].webhook", TypeText, false, true, "", "Address to which heads are posted as JSON; https, or http on this machine.", "\"https://example.com/anchors\""},
			check:  (*scope).anchorAddress, hide: true, set: func(s *scope, v value) { s.addAnchorPlace(AnchorPlace{Webhook: v.text}) },
		},
		{
			KeyDoc: KeyDoc{"audit.every", TypeText, false, true, "1h", "How often a head is kept while the record grows.", "1h"},
			check:  durationCheck(minAnchorEvery, maxAnchorEvery), set: func(s *scope, v value) { s.cfg.Audit.Every = keptSpan(v.text) },
		},
		{
			KeyDoc: KeyDoc{"audit.timestamp", TypeText, false, true, "none", "Authority (RFC 3161) that puts its time under each head in a file. Its answer lies beside the file, as `FILE.d/SEQ.tsr`.", "\"https://freetsa.org/tsr\""},
			check:  (*scope).outsideAddress, hide: true, set: func(s *scope, v value) { s.cfg.Audit.Timestamp = v.text },
		},
		{
			KeyDoc: KeyDoc{"audit.origin", TypeText, false, true, "none", "Name of the log that the file of `audit.anchors` is, of which there is one then: a signed checkpoint (C2SP tlog-checkpoint) for each head lies beside it, as `FILE.d/SEQ.checkpoint`.", "example.com/gate"},
			check:  (*scope).logOrigin, set: func(s *scope, v value) { s.cfg.Audit.Origin = v.text },
		},
		{KeyDoc: KeyDoc{"audit.push", TypeChoices, false, true, "none", "Collectors to which `serve` sends each record that is made from its first start with the key on.", "[{syslog: \"tcp+tls://siem.example.com:6514\"}]"}},
		{
			KeyDoc: KeyDoc{"audit.push[].syslog", TypeText, false, true, "", "Syslog collector (RFC 5424): `tcp+tls://HOST:PORT`, or `tcp://` and `udp://` on this machine.", "\"tcp+tls://siem.example.com:6514\""},
			check:  (*scope).syslogTarget, set: func(s *scope, v value) { s.cfg.Audit.Push = append(s.cfg.Audit.Push, Collector{Syslog: v.text}) },
		},
		{
			KeyDoc: KeyDoc{otlp, TypeMapping, false, true, "", "Collector of OpenTelemetry, which gets records as logs over OTLP/HTTP.", "{url: \"https://otel.example.com\"}"},
			hide:   true, set: func(s *scope, _ value) { s.cfg.Audit.Push = append(s.cfg.Audit.Push, Collector{}) },
		},
		{
			KeyDoc: KeyDoc{otlp + ".url", TypeText, true, true, "", "Address of the collector without `/v1/logs`: `https`, or `http` on this machine.", "https://otel.example.com"},
			check:  (*scope).logCollector, hide: true, set: func(s *scope, v value) { s.lastCollector().URL = v.text },
		},
	}, headerKeys(otlp, func(s *scope) *map[string]TelemetryHeader { return &s.lastCollector().Headers }), []row{
		{
			KeyDoc: KeyDoc{"audit.format", TypeText, false, true, "cef", "Form in which records are sent, as `audit export --format` has them.", "ocsf"},
			words:  []string{"cef", "ocsf", "jsonl"}, set: func(s *scope, v value) { s.cfg.Audit.Format = v.text },
		},
		{
			KeyDoc: KeyDoc{"audit.ca", TypeText, false, true, "the authorities of the system", "PEM file with the authorities that are believed where the record goes.", "tls/collectors.pem"},
			check:  (*scope).resolvePath, set: func(s *scope, v value) { s.cfg.Audit.CA = v.text },
		},
	})
}

// lastCollector returns the collector whose keys are read.
func (s *scope) lastCollector() *Collector { return &s.cfg.Audit.Push[len(s.cfg.Audit.Push)-1] }

func (s *scope) addAnchorPlace(p AnchorPlace) { s.cfg.Audit.Anchors = append(s.cfg.Audit.Anchors, p) }

// anchorFile reads a file that no other place names.
func (s *scope) anchorFile(v string) (string, error) {
	path, err := s.resolvePath(v)
	if err == nil && slices.Contains(s.cfg.Audit.Anchors, AnchorPlace{File: path}) {
		err = errTwice
	}
	return path, err
}

// anchorAddress reads an address that no other place names.
func (s *scope) anchorAddress(v string) (string, error) {
	err := CheckOutside(v)
	if err == nil && slices.Contains(s.cfg.Audit.Anchors, AnchorPlace{Webhook: v}) {
		err = errTwice
	}
	return v, err
}

// outsideAddress reads an address to which parts of the record go.
func (s *scope) outsideAddress(v string) (string, error) { return v, CheckOutside(v) }

// logOrigin reads the name of a log.
func (s *scope) logOrigin(v string) (string, error) { return v, CheckOrigin(v) }

// CheckOrigin judges the name of a log, which stands in its checkpoints and names its key.
func CheckOrigin(origin string) error {
	other := func(r rune) bool { return r <= ' ' || r > '~' || r == '+' }
	if origin == "" || len(origin) > maxOrigin || strings.Contains(origin, "://") || strings.ContainsFunc(origin, other) {
		return errors.New("expected a name like an address without its scheme, such as example.com/gate")
	}
	return nil
}

// syslogTarget reads the address of a collector.
func (s *scope) syslogTarget(v string) (string, error) {
	u, err := url.Parse(v)
	if err != nil || u.Port() == "" || u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || !slices.Contains([]string{"tcp+tls", "tcp", "udp"}, u.Scheme) {
		return "", errors.New("expected tcp+tls://HOST:PORT, such as tcp+tls://siem.example.com:6514")
	}
	switch {
	case u.Scheme != "tcp+tls" && !isLoopback(u.Hostname()):
		return "", errors.New("expected tcp+tls: records that are not encrypted stay on this machine")
	case slices.ContainsFunc(s.cfg.Audit.Push, func(c Collector) bool { return c.Syslog == v }):
		return "", errTwice
	}
	return v, nil
}

// logCollector reads the address of a collector of OpenTelemetry that no other place names.
func (s *scope) logCollector(v string) (string, error) {
	v, err := s.collectorURL(v)
	same := func(c Collector) bool {
		return c.URL != "" && strings.TrimRight(c.URL, "/") == strings.TrimRight(v, "/")
	}
	if err == nil && slices.ContainsFunc(s.cfg.Audit.Push, same) {
		err = errTwice
	}
	return v, err
}

// errTwice: the same place stands before.
var errTwice = errors.New("this place is written twice")

// CheckOutside judges an address to which parts of the record go. No error repeats it: it
// may hold a secret.
func CheckOutside(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Fragment != "" || u.User != nil:
		return errors.New("expected an address without user and fragment, such as https://example.com/anchors")
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())):
		return errors.New("expected https: http is for this machine alone")
	}
	return nil
}

// checkAudit refuses places for a record that ends with the program, and an authority that
// has nothing to put its time under.
func (s *scope) checkAudit(key string) {
	a := &s.cfg.Audit
	if at, ok := s.places[key+".timestamp"]; ok && a.Timestamp != "" && !slices.ContainsFunc(a.Anchors, func(p AnchorPlace) bool { return p.File != "" }) {
		s.addFault(s.file, at.at, key+".timestamp", "%s.timestamp: expected a file under %s.anchors, beside which the answers lie", key, key)
	}
	files := 0
	for _, p := range a.Anchors {
		if p.File != "" {
			files++
		}
	}
	if at, ok := s.places[key+".origin"]; ok && a.Origin != "" && files != 1 {
		s.addFault(s.file, at.at, key+".origin", "%s.origin: expected one file under %s.anchors, which is the log, found %d", key, key, files)
	}
	if at, ok := s.places[key+".anchors"]; ok && len(a.Anchors) > 0 && s.cfg.State.Kind == StateMemory {
		s.addFault(s.file, at.at, key+".anchors", "%s.anchors: the state is %s, so that each start begins another record: expected state: %s", key, yamldoc.Quote("memory"), "sqlite:.sallyport/state.db")
	}
}
