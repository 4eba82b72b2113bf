package siem

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/output"
)

// written is a reader over events.
type written []audit.Event

func (w written) Read(context.Context, audit.Query) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		for i := range w {
			body, err := json.Marshal(w[i])
			if !yield(audit.Record{Seq: int64(i + 1), Kind: w[i].Kind, Body: body}, err) {
				return
			}
		}
	}
}

func events() written {
	clean := output.Plain()
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	hostile := clean.Text("a|b=c\\d\nCEF:0|evil")
	return written{
		{Kind: audit.KindIntent, Time: at, CallID: "1", Tool: clean.Text("read_file"), Principal: "ci", Platform: "http", Session: clean.Text("s"), Args: clean.Text(`{"path":"a"}`), Agent: clean.Text("planner"), DelegatedBy: "c1/c2"},
		{Kind: audit.KindOutcome, Time: at, CallID: "1", Tool: clean.Text("read_file"), Principal: "ci", Platform: "http", OK: true, Duration: 5 * time.Millisecond},
		{
			Kind: audit.KindOutcome, Time: at, CallID: "2", Tool: hostile, Principal: "ci", Code: sallyport.CodePermissionDenied, Stage: sallyport.StepPermit, Error: hostile,
			Decisions: []sallyport.Decision{{Step: sallyport.StepPermit, Why: string(hostile)}},
		},
		{Kind: audit.KindChange, Time: at, CallID: "3", Principal: "local", Change: &audit.Change{Action: audit.ActionApprove, Target: clean.Text("x")}},
	}
}

// apiActivity is what version 1.9 of the schema requires of API Activity
// (events/application/api_activity.json and what it extends, with the profile ai_operation,
// in ocsf-schema): attributes, and those of the objects in them. A key that ends with ? is an
// object that may be missing.
var apiActivity = map[string][]string{
	"":                 {"activity_id", "actor", "api", "category_uid", "class_uid", "metadata", "severity_id", "src_endpoint", "time", "type_uid"},
	"api":              {"operation"},
	"api.request":      {"uid"},
	"api.service":      {"name"},
	"metadata":         {"product", "version"},
	"metadata.product": {"name", "vendor_name"},
	"ai_agent?":        {"uid"},
	"delegation?":      {"uid"},
}

// knownAttributes are attributes of the schema: what stands beside them is not OCSF.
var knownAttributes = map[string][]string{
	"": {
		"activity_id", "activity_name", "actor", "ai_agent", "api", "category_uid", "class_uid", "delegation", "duration", "message", "metadata", "severity_id",
		"src_endpoint", "status", "status_code", "status_detail", "status_id", "time", "type_uid", "unmapped",
	},
	"actor": {"user", "session"}, "actor.user": {"name"}, "actor.session": {"uid"}, "api": {"operation", "request", "service"}, "api.request": {"uid"}, "api.service": {"name"},
	"src_endpoint": {"name"}, "metadata": {"product", "profiles", "sequence", "uid", "version"}, "metadata.product": {"name", "vendor_name", "version"},
	"ai_agent": {"uid", "instance_uid", "type_id"}, "delegation": {"uid", "parent_uid"},
}

// object returns the object at a path of an event; an optional one may be missing.
func object(e map[string]any, path string) map[string]any {
	for part := range strings.SplitSeq(path, ".") {
		if part != "" {
			e, _ = e[part].(map[string]any)
		}
	}
	return e
}

func TestOCSFHasWhatTheClassRequires(t *testing.T) {
	var out bytes.Buffer
	if err := Write(t.Context(), events(), &out, audit.Query{}, OCSF, "v1"); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(out.String(), "\n"); !strings.Contains(first, `"ai_agent":{"uid":"planner","instance_uid":"s","type_id":0}`) || !strings.Contains(first, `"delegation":{"uid":"c2","parent_uid":"c1"}`) {
		t.Errorf("the agent and its delegation are not in %s", first)
	}
	var statuses []float64
	for line := range strings.Lines(out.String()) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for path, names := range apiActivity {
			path, optional := strings.CutSuffix(path, "?")
			for _, name := range names {
				if v, ok := object(e, path)[name]; (!ok || v == "") && !(optional && object(e, path) == nil) {
					t.Errorf("%s: %s.%s is missing", line, path, name)
				}
			}
		}
		for path, names := range knownAttributes {
			for name := range object(e, path) {
				if !slices.Contains(names, name) {
					t.Errorf("%s: %s.%s is no attribute of the schema", line, path, name)
				}
			}
		}
		if object(e, "metadata")["version"] != "1.9.0" {
			t.Errorf("%s: the version of the schema is another one", line)
		}
		// The actor and the endpoint each need at least one of what names them.
		if object(e, "actor.user")["name"] == "" || object(e, "src_endpoint")["name"] == "" {
			t.Errorf("%s: the actor or the endpoint has no name", line)
		}
		if e["type_uid"] != e["class_uid"].(float64)*100+e["activity_id"].(float64) || e["class_uid"] != 6003.0 || e["category_uid"] != 6.0 || e["time"] != 1795694400000.0 {
			t.Errorf("%s: the numbers do not fit together", line)
		}
		statuses = append(statuses, e["status_id"].(float64))
	}
	if len(statuses) != 4 || statuses[0] != 0 || statuses[1] != 1 || statuses[2] != 2 || statuses[3] != 1 {
		t.Errorf("the statuses are %v, want unknown, success, failure, success", statuses)
	}
}

// What agents name cannot end a line or a field.
func TestCEFIsEscaped(t *testing.T) {
	var out bytes.Buffer
	if err := Write(t.Context(), events(), &out, audit.Query{}, CEF, "v1"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines of 4 events:\n%s", len(lines), out.String())
	}
	for _, line := range lines {
		bare := strings.NewReplacer(`\\`, "", `\|`, "").Replace(line)
		header, _, _ := strings.Cut(bare, "rt=")
		if !strings.HasPrefix(line, "CEF:0|Sallyport|Sallyport|v1|") || strings.Count(header, "|") != 7 {
			t.Errorf("%s has not eight fields", line)
		}
	}
	if !strings.Contains(lines[2], `|a\|b=c\\d CEF:0\|evil|7|`) || !strings.Contains(lines[2], `msg=a|b\=c\\d\nCEF:0|evil `) {
		t.Errorf("a hostile name is written as %s", lines[2])
	}
}
