package siem

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/output"
)

// written is a reader over events.
type written []audit.Event

func (w written) Read(_ context.Context, q audit.Query) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		for i := range w {
			body, err := json.Marshal(w[i])
			rec := audit.Record{Seq: int64(i + 1), Kind: w[i].Kind, Principal: w[i].Principal, Body: body, Hash: audit.Hash{byte(i + 1)}}
			if q.Match(&rec) && !yield(rec, err) {
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
// (events/application/api_activity.json and what it extends, with the profiles ai_operation
// and record_integrity, in ocsf-schema): attributes, and those of the objects in them. A key
// that ends with ? is an object that may be missing.
var apiActivity = map[string][]string{
	"":                 {"activity_id", "actor", "api", "category_uid", "class_uid", "metadata", "severity_id", "src_endpoint", "time", "type_uid"},
	"api":              {"operation"},
	"api.request":      {"uid"},
	"api.service":      {"name"},
	"metadata":         {"product", "version"},
	"metadata.product": {"name", "vendor_name"},
	"ai_agent?":        {"uid"},
	"delegation?":      {"uid"},
	// The profile asks for none, and the object for a fingerprint or signatures.
	"attestation":             {"fingerprint"},
	"attestation.fingerprint": {"algorithm_id", "value"},
	"attestation.prev_event?": {"uid"},
}

// knownAttributes are attributes of the schema: what stands beside them is not OCSF.
var knownAttributes = map[string][]string{
	"": {
		"activity_id", "activity_name", "actor", "ai_agent", "api", "attestation", "category_uid", "class_uid", "delegation", "duration", "message", "metadata", "severity_id",
		"src_endpoint", "status", "status_code", "status_detail", "status_id", "time", "type_uid", "unmapped",
	},
	"actor": {"user", "session"}, "actor.user": {"name"}, "actor.session": {"uid"}, "api": {"operation", "request", "service"}, "api.request": {"uid"}, "api.service": {"name"},
	"src_endpoint": {"name"}, "metadata": {"product", "profiles", "sequence", "uid", "version"}, "metadata.product": {"name", "vendor_name", "version"},
	"ai_agent": {"uid", "instance_uid", "type_id"}, "delegation": {"uid", "parent_uid"},
	"attestation":             {"authority_uid", "chain_uid", "fingerprint", "prev_event", "signatures", "uid"},
	"attestation.fingerprint": {"algorithm", "algorithm_id", "encoding", "encoding_id", "serialization", "serialization_id", "value"},
	"attestation.prev_event":  {"fingerprint", "type_uid", "uid"},
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
		if m := object(e, "metadata"); m["version"] != "1.9.0" || !slices.Equal(m["profiles"].([]any), []any{"ai_operation", "record_integrity"}) {
			t.Errorf("%s: the version of the schema or the profiles are others", line)
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

// attributeTypes are the types of the attributes that are no text, as version 1.9 has them in its
// dictionary, with the values of those that are enumerations of the class or of an object.
var attributeTypes = map[string][]float64{
	"activity_id": {0, 1, 2, 3, 4, 99}, "category_uid": {6}, "class_uid": {6003}, "duration": nil, "severity_id": {0, 1, 2, 3, 4, 5, 6, 99}, "status_id": {0, 1, 2, 99}, "time": nil,
	"type_uid": {600300, 600301, 600302, 600303, 600304, 600399}, "metadata.sequence": nil, "ai_agent.type_id": {0, 1, 2, 3, 4, 99},
	"attestation.fingerprint.algorithm_id": {0, 1, 2, 3, 4, 5, 6, 7, 99}, "attestation.fingerprint.encoding_id": {0, 1, 2, 3, 99},
	"attestation.fingerprint.serialization_id": {0, 1, 2, 3, 4, 5, 6, 7, 8, 99}, "attestation.prev_event.type_uid": nil,
}

// checkTypes compares the types of what is at a path of an event with those of the schema.
func checkTypes(t *testing.T, path string, v any) {
	t.Helper()
	allowed, isNumber := attributeTypes[path]
	switch v := v.(type) {
	case map[string]any:
		if _, known := knownAttributes[path]; !known {
			t.Errorf("%s is an object, and none that the test knows", path)
		}
		for name, below := range v {
			if path+name != "unmapped" {
				checkTypes(t, strings.TrimPrefix(path+"."+name, "."), below)
			}
		}
	case float64:
		if !isNumber || v != float64(int64(v)) || allowed != nil && !slices.Contains(allowed, v) {
			t.Errorf("%s is %v, and the schema has no such number there", path, v)
		}
	case string:
		if isNumber || v == "" {
			t.Errorf("%s is the text %q", path, v)
		}
	case []any:
		if path != "metadata.profiles" {
			t.Errorf("%s is a list", path)
		}
	default:
		t.Errorf("%s is a %T", path, v)
	}
}

func TestOCSFHasTheTypesOfTheSchema(t *testing.T) {
	t.Parallel()
	for _, e := range exported(t, audit.Query{}) {
		checkTypes(t, "", e)
	}
}

// takeOut removes what an attestation is not over, and returns the fingerprint.
func takeOut(t *testing.T, e map[string]any) string {
	t.Helper()
	f := object(e, "attestation.fingerprint")
	// 3 is SHA-256, 1 is Hex, 2 is JCS; the words are the captions of the enumerations.
	want := map[string]any{"algorithm": "SHA-256", "algorithm_id": 3.0, "encoding": "Hex", "encoding_id": 1.0, "serialization": "JCS", "serialization_id": 2.0, "value": f["value"]}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("the fingerprint (-want +got):\n%s", diff)
	}
	delete(object(e, "attestation"), "fingerprint")
	text, _ := f["value"].(string)
	return text
}

// canonicalText writes a value in the form of RFC 8785, as far as events have values: keys in
// ASCII, whole numbers, and texts.
func canonicalText(t *testing.T, v any) string {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, canonicalText(t, k)+":"+canonicalText(t, v[k]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, canonicalText(t, item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case string:
		var b strings.Builder
		for _, r := range v {
			switch {
			case r == '"' || r == '\\':
				b.WriteString("\\" + string(r))
			case r == '\n':
				b.WriteString(`\n`)
			case r < ' ':
				fmt.Fprintf(&b, `\u%04x`, r)
			default:
				b.WriteRune(r)
			}
		}
		return `"` + b.String() + `"`
	case float64:
		return strconv.FormatInt(int64(v), 10)
	default:
		t.Fatalf("an event has a %T", v)
		return ""
	}
}

// exported returns the events of an export, decoded.
func exported(t *testing.T, q audit.Query) (list []map[string]any) {
	t.Helper()
	all := events()
	for i := range all {
		all[i].KeyID = "0123456789abcdef"
	}
	all[1].Args = output.Plain().Text("{\"a\":\"<&>\u2028\U0001F600\x07\"}")
	var out bytes.Buffer
	if err := Write(t.Context(), all, &out, q, OCSF, "v1"); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// A reader who knows the schema alone finds an event that was altered.
func TestAnAttestationIsOverItsEvent(t *testing.T) {
	t.Parallel()
	for _, e := range exported(t, audit.Query{}) {
		value := takeOut(t, e)
		sum := sha256.Sum256([]byte(canonicalText(t, e)))
		if hex.EncodeToString(sum[:]) != value {
			t.Errorf("the fingerprint %s is not that of %s", value, canonicalText(t, e))
		}
		e["message"] = "another"
		if sum := sha256.Sum256([]byte(canonicalText(t, e))); hex.EncodeToString(sum[:]) == value {
			t.Error("an altered event has the same fingerprint")
		}
	}
}

// Each event names the one before it in the record, also where an export leaves that out.
func TestAnAttestationNamesTheEventBefore(t *testing.T) {
	t.Parallel()
	whole := exported(t, audit.Query{})
	for i, e := range whole {
		a := object(e, "attestation")
		if a["chain_uid"] != "0123456789abcdef" || a["signatures"] != nil {
			t.Errorf("event %d has the attestation %v", i+1, a)
		}
		var want any
		if i > 0 {
			want = map[string]any{"uid": object(whole[i-1], "metadata")["uid"], "type_uid": whole[i-1]["type_uid"]}
		}
		if diff := cmp.Diff(want, a["prev_event"]); diff != "" {
			t.Errorf("event %d: the one before (-want +got):\n%s", i+1, diff)
		}
	}
	for _, q := range []audit.Query{{After: 2}, {Principal: "local"}} {
		part := exported(t, q)
		if diff := cmp.Diff(whole[len(whole)-len(part):], part); len(part) == 0 || diff != "" {
			t.Errorf("%+v: an event differs from that of the whole export (-want +got):\n%s", q, diff)
		}
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
