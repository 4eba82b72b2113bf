package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A collector on another machine is told of calls over TLS alone, and no message repeats
// what may be a secret.
func TestTelemetryIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                  "missing key telemetry.otlp",
		`{otlp: {sample: 1}}`: "missing key telemetry.otlp.url",
		`{otlp: {url: "http://otel.example.com:4318"}}`:                                                 "s.yaml:2:25: telemetry.otlp.url: expected https: ",
		`{otlp: {url: "https://user:hunter2@otel.example.com"}}`:                                        "telemetry.otlp.url: expected an http or https address without user",
		`{otlp: {url: "https://otel.example.com?key=hunter2"}}`:                                         "telemetry.otlp.url: expected an http or https address without user",
		`{otlp: {url: "grpc://127.0.0.1:4317"}}`:                                                        "telemetry.otlp.url: expected an http or https address",
		`{otlp: {url: "https://otel.example.com/v1/traces"}}`:                                           "telemetry.otlp.url: expected the address without its path",
		`{otlp: {url: "https://a.example", sample: 1.5}}`:                                               "telemetry.otlp.sample: \"1.5\": expected a number from 0 to 1",
		`{otlp: {url: "https://a.example", sample: -1}}`:                                                "expected a number from 0 to 1",
		`{otlp: {url: "https://a.example", metrics: 1s}}`:                                               "telemetry.otlp.metrics: \"1s\" is out of range: expected 5s to 1h",
		`{otlp: {url: "https://a.example", headers: {X-Key: hunter2}}}`:                                 "telemetry.otlp.headers.X-Key: ",
		`{otlp: {url: "https://a.example", headers: {X-Key: {prefix: hunter2}}}}`:                       "missing key telemetry.otlp.headers.X-Key.secret",
		`{otlp: {url: "https://a.example", headers: {X-Key: {secret: "https://hunter2"}}}}`:             "expected the reference of a secret",
		`{otlp: {url: "https://a.example", headers: {content-type: {secret: a/b}}}}`:                    "telemetry.otlp.headers.content-type: a configuration may not set this header",
		`{otlp: {url: "https://a.example", headers: {X-Key: {secret: a/b}, x-key: {secret: a/b}}}}`:     "the header is given twice",
		`{otlp: {url: "https://a.example", headers: {X-Key: {secret: a/b, prefix: "hunter2 \u00e9"}}}}`: "a header cannot contain this character",
	} {
		_, err := Parse("s.yaml", []byte("version: 2\ntelemetry: "+text+"\n"), testOptions())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s = %v, want %s", text, err, want)
		}
	}
}

func TestTelemetryIsRead(t *testing.T) {
	for text, want := range map[string]*Telemetry{
		``: nil,
		`telemetry: {otlp: {url: "http://localhost:4318"}}`: {URL: "http://localhost:4318", Sample: 1, MetricsEvery: time.Minute, Pass: true},
		`telemetry: {pass_context: false, otlp: {url: "https://a.example/otlp/", sample: 0.25, metrics: 0s, headers: {X-Key: {secret: a/b, prefix: "Bearer "}}}}`: {
			URL: "https://a.example/otlp/", Sample: 0.25, Headers: map[string]TelemetryHeader{"X-Key": {Secret: "a/b", Prefix: "Bearer "}},
		},
	} {
		c, err := Parse("s.yaml", []byte("version: 2\n"+text+"\n"), testOptions())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, c.Telemetry); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
