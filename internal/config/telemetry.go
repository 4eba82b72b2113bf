package config

import (
	"errors"
	"fmt"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

// Telemetry says where serve sends its traces and metrics; a nil field of Config means
// nowhere.
type Telemetry struct {
	// URL is the base address of the collector: https, or http on this machine.
	URL string
	// Headers are sent with each request, by name.
	Headers map[string]TelemetryHeader
	// Sample is the share of traces that is sent, 0 to 1.
	Sample float64
	// MetricsEvery is how often metrics are sent; 0 means never.
	MetricsEvery time.Duration
	// Pass says that upstream MCP servers are told the trace.
	Pass bool
}

// TelemetryHeader is a header whose value is a secret behind a prefix.
type TelemetryHeader struct {
	// Secret is the reference of the secret, Prefix the text in front of it.
	Secret, Prefix string
}

// defaultMetricsEvery is how often metrics are sent unless the configuration says.
const defaultMetricsEvery = time.Minute

// ownHeaders are written by the exporter itself, or belong to a single hop.
var ownHeaders = []string{"Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent"}

func telemetryKeys() []row {
	const o = "telemetry.otlp"
	set := func(store func(*Telemetry, value)) func(*scope, value) {
		return func(s *scope, v value) { store(s.cfg.Telemetry, v) }
	}
	return slices.Concat([]row{
		{
			KeyDoc: KeyDoc{"telemetry", TypeMapping, false, true, "nothing is sent", "Where `serve` sends traces and metrics of OpenTelemetry. Variables of the environment such as `OTEL_EXPORTER_OTLP_ENDPOINT` count for nothing.", "{otlp: {url: \"http://127.0.0.1:4318\"}}"},
			set: func(s *scope, _ value) {
				s.cfg.Telemetry = &Telemetry{Sample: 1, MetricsEvery: defaultMetricsEvery, Pass: true}
			},
		},
		{KeyDoc: KeyDoc{o, TypeMapping, true, true, "", "A collector that takes OTLP over HTTP, in protocol buffers.", "{url: \"https://otel.example.com\"}"}, hide: true},
		{
			KeyDoc: KeyDoc{o + ".url", TypeText, true, true, "", "Address of the collector without `/v1/traces`: `https`, or `http` on this machine.", "http://127.0.0.1:4318"},
			check:  (*scope).collectorURL, hide: true, set: set(func(t *Telemetry, v value) { t.URL = v.text }),
		},
	}, headerKeys(o, func(s *scope) *map[string]TelemetryHeader { return &s.cfg.Telemetry.Headers }), []row{
		{
			KeyDoc: KeyDoc{o + ".sample", TypeDecimal, false, true, "1", "Share of the traces that is sent, 0 to 1, chosen by chance; the calls of one trace are sent together.", "0.1"},
			check:  (*scope).parseShare, set: set(func(t *Telemetry, v value) { t.Sample, _ = strconv.ParseFloat(v.text, 64) }),
		},
		{
			KeyDoc: KeyDoc{o + ".metrics", TypeText, false, true, "60s", "How often the metrics are sent that `/metrics` has, 5s to 1h; `0s` sends none.", "60s"},
			check:  (*scope).metricsPause, set: set(func(t *Telemetry, v value) { t.MetricsEvery = keptSpan(v.text) }),
		},
		{
			KeyDoc: KeyDoc{"telemetry.pass_context", TypeBool, false, true, "true", "Whether mounted MCP servers are told the trace of a call, as `traceparent`. Nothing else that calls reach is told.", "false"},
			set:    set(func(t *Telemetry, v value) { t.Pass = v.flag }),
		},
	})
}

// headerKeys returns the keys for the headers of requests to a collector, below its key.
func headerKeys(collector string, headers func(*scope) *map[string]TelemetryHeader) []row {
	h := collector + ".headers.<name>"
	set := func(store func(*TelemetryHeader, value)) func(*scope, value) {
		return func(s *scope, v value) {
			editElement(headers(s), s.name, func(h *TelemetryHeader) { store(h, v) })
		}
	}
	return []row{
		{KeyDoc: KeyDoc{collector + ".headers", TypeNames, false, true, "none", "Headers of each request, whose values are secrets.", "{Authorization: {secret: otlp/token, prefix: \"Bearer \"}}"}, hide: true},
		{
			KeyDoc: KeyDoc{h, TypeMapping, false, true, "", "One header, by its name.", "{secret: otlp/token, prefix: \"Bearer \"}"},
			set:    set(func(*TelemetryHeader, value) {}), done: func(s *scope, key string) { s.checkHeader(key, *headers(s)) }, hide: true,
		},
		{
			KeyDoc: KeyDoc{h + ".secret", TypeText, true, true, "", "Reference of the secret that holds the value.", "otlp/token"},
			check:  (*scope).exactRef, hide: true, set: set(func(h *TelemetryHeader, v value) { h.Secret = v.text }),
		},
		{
			KeyDoc: KeyDoc{h + ".prefix", TypeText, false, true, "nothing", "Text in front of the secret.", "\"Bearer \""},
			check:  (*scope).headerText, hide: true, set: set(func(h *TelemetryHeader, v value) { h.Prefix = v.text }),
		},
	}
}

// collectorURL reads the address of a collector. The text is never repeated: it may hold a
// key.
func (s *scope) collectorURL(v string) (string, error) {
	u, err := url.Parse(v)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", errors.New("expected an http or https address without user, query and fragment, such as http://127.0.0.1:4318")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return "", errors.New("expected https: without encryption only a collector on this machine is told of calls")
	case slices.ContainsFunc([]string{"/v1/traces", "/v1/metrics", "/v1/logs"}, func(p string) bool { return strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), p) }):
		return "", errors.New("expected the address without its path /v1/traces, /v1/metrics or /v1/logs, which is added")
	}
	return v, nil
}

// parseShare reads a number from 0 to 1.
func (s *scope) parseShare(v string) (string, error) {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || strings.Trim(v, "0123456789.") != "" || n > 1 {
		return "", fmt.Errorf("%s: expected a number from 0 to 1, such as 0.1", yamldoc.Quote(v))
	}
	return v, nil
}

// metricsPause reads how often metrics are sent.
func (s *scope) metricsPause(v string) (string, error) {
	if v == "0s" {
		return "0", nil
	}
	return durationCheck(5*time.Second, time.Hour)(s, v)
}

// headerText reads a part of the value of a header. It is never repeated: it may be the
// secret itself, written by mistake.
func (s *scope) headerText(v string) (string, error) {
	if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return "", errors.New("a header cannot contain this character")
	}
	return v, nil
}

// checkHeader refuses a header that the exporter writes itself, and one that is given twice.
func (s *scope) checkHeader(key string, all map[string]TelemetryHeader) {
	name := textproto.CanonicalMIMEHeaderKey(s.name)
	if slices.Contains(ownHeaders, name) || strings.HasPrefix(name, "Proxy-") {
		s.keyFault(s.file, s.places[key].at, key, "%s: a configuration may not set this header: remove it", key)
	}
	for other := range all {
		if other != s.name && textproto.CanonicalMIMEHeaderKey(other) == name {
			s.keyFault(s.file, s.places[key].at, key, "%s: the header is given twice, in upper and lower case: keep one", key)
		}
	}
}
