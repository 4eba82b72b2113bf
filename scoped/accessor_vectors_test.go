package scoped_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/scoped"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

func mustScope(t *testing.T, g *sallyport.Grant, b *sallyport.Backends) *scoped.Scope {
	t.Helper()
	s, err := scoped.New("tool", g, b)
	if err != nil {
		t.Fatalf("New = %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

func load[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "accessors", name))
	if err != nil {
		t.Fatal(err)
	}
	var cases []T
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// behaviour is a case of behaviour.json. Cases of one area do not all ask the
// same question: which one is told by the members that are there.
type behaviour struct {
	Area, Name string
	Skip       string
	Input      struct {
		Declared     []string
		Ref, Backend string
		Layer        string

		Allowed []string
		Binary  string
		Args    []string
		Env     map[string]string

		Tool, Scope, SessionID string
		Factory                json.RawMessage
		TTLSecondsDefault      int64
		Set                    json.RawMessage
		AdvanceMS              int64 `json:"advance_ms"`
		Get, List              string

		Kinds          any
		Atts           []string
		URL            string
		Scoped, Caller string
	}
	Expect struct {
		Allow             *bool
		Code              sallyport.Code
		Error             string
		ErrorContains     string `json:"error_contains"`
		ResolverPresent   *bool  `json:"resolver_present"`
		StdoutContains    string `json:"stdout_contains"`
		StdoutNotContains string `json:"stdout_not_contains"`
		StdoutTrim        string `json:"stdout_trim"`
		ScopeID           string `json:"scope_id"`
		Value             string
		Keys              []string
		List              []string
		Readable          []string
		NotReadable       []string `json:"not_readable"`
	}
}

func TestBehaviourVectors(t *testing.T) {
	t.Parallel()
	run := map[string]func(*testing.T, *behaviour){
		"secrets": behaviourSecrets, "process": behaviourProcess,
		"kv_scope": behaviourKV, "attachments": behaviourAttachments,
	}
	for _, tt := range load[behaviour](t, "behaviour.json") {
		t.Run(tt.Area+"/"+tt.Name, func(t *testing.T) {
			if tt.Skip != "" {
				t.Skip(tt.Skip)
			}
			run[tt.Area](t, &tt)
		})
	}
}

func behaviourSecrets(t *testing.T, tt *behaviour) {
	in, want := &tt.Input, &tt.Expect
	switch {
	case in.Layer != "":
		if _, err := reach.ParseRef(in.Ref); err == nil || !strings.Contains(err.Error(), want.ErrorContains) {
			t.Errorf("ParseRef(%q) = %v, want an error with %q", in.Ref, err, want.ErrorContains)
		}
	case want.ResolverPresent != nil:
		if _, err := scoped.New("tool", &sallyport.Grant{Secrets: in.Declared}, &sallyport.Backends{}); !errors.Is(err, sallyport.ErrNotAvailable) {
			t.Errorf("New without a backend = %v, want not_available", err)
		}
	default:
		c, _, _ := bind(t, &sallyport.Grant{Secrets: in.Declared}, &sallyport.Backends{Secrets: scopedtest.Secrets{in.Ref: "correct horse"}})
		_, err := c.Secrets.Get(t.Context(), in.Ref)
		var e *sallyport.Error
		if *want.Allow != (err == nil) || !*want.Allow && (!errors.As(err, &e) || e.Code != want.Code) {
			t.Errorf("Get(%q) = %v, want allowed %t, %s", in.Ref, err, *want.Allow, want.Code)
		}
	}
}

// behaviourProcess judges what reaches the runner: what a child prints is what
// the accessor let through.
func behaviourProcess(t *testing.T, tt *behaviour) {
	in, want := &tt.Input, &tt.Expect
	runner := &scopedtest.Runner{}
	c, _, _ := bind(t, &sallyport.Grant{Process: sallyport.ProcessGrant{Binaries: in.Allowed}}, &sallyport.Backends{Process: runner})
	_, err := c.Process.Spawn(t.Context(), in.Binary, in.Args, &sallyport.SpawnOptions{Env: in.Env})
	if want.Allow != nil && *want.Allow != (err == nil) {
		t.Fatalf("Spawn(%s) = %v, want allowed %t", in.Binary, err, *want.Allow)
	}
	if want.Error != "" {
		if err == nil || err.Error() != want.Error || len(runner.Spawned()) != 0 {
			t.Errorf("Spawn(%s) = %v, want %q and no process", in.Binary, err, want.Error)
		}
		return
	}
	if len(runner.Spawned()) != 1 {
		t.Fatalf("Spawn(%s) = %v and started %d processes, want one", in.Binary, err, len(runner.Spawned()))
	}
	env := runner.Spawned()[0].Options.Env
	if name, value, ok := strings.Cut(want.StdoutContains, "="); ok && env[name] != value {
		t.Errorf("the child gets %q, want %s", env, want.StdoutContains)
	}
	if name := strings.TrimSuffix(want.StdoutNotContains, "="); name != "" && env[name] != "" {
		t.Errorf("the child gets %q, want no %s", env, name)
	}
	if want.StdoutTrim != "" && env["PATH"] != "" {
		t.Errorf("the child gets PATH=%q, want the fixed search path alone", env["PATH"])
	}
}

func behaviourKV(t *testing.T, tt *behaviour) {
	in, want := &tt.Input, &tt.Expect
	scope := sallyport.StorageScope(in.Scope)
	if scope == "" {
		scope = sallyport.ScopeSession
	}
	g := &sallyport.Grant{Storage: &sallyport.StorageGrant{Scope: scope, TTL: time.Duration(in.TTLSecondsDefault) * time.Second}}
	if string(in.Factory) == "null" {
		if _, err := scoped.New(in.Tool, g, &sallyport.Backends{}); !errors.Is(err, sallyport.ErrNotAvailable) {
			t.Errorf("New without a factory = %v, want not_available", err)
		}
		return
	}
	synctest.Test(t, func(t *testing.T) {
		kv := &scopedtest.KV{}
		s, err := scoped.New(in.Tool, g, &sallyport.Backends{KV: kv})
		if err != nil {
			t.Fatal(err)
		}
		c := newCall()
		if _, err := s.Bind(t.Context(), c, scoped.Turn{}, nil); err != nil {
			t.Fatal(err)
		}
		fill(t, c.KV, in.Set)
		time.Sleep(time.Duration(in.AdvanceMS) * time.Millisecond)
		keys, err := c.KV.List(t.Context(), in.List)
		if err != nil || in.List != "" && !cmp.Equal(keys, want.Keys) {
			t.Errorf("List(%q) = %q, %v, want %q", in.List, keys, err, want.Keys)
		}
		if value, _, err := c.KV.Get(t.Context(), "k"); err != nil || value != want.Value {
			t.Errorf("Get(k) = %q, %v, want %q", value, err, want.Value)
		}
		if want.ScopeID != "" && !cmp.Equal(kv.Opened(), []string{want.ScopeID}) {
			t.Errorf("opened %q, want %q", kv.Opened(), want.ScopeID)
		}
	})
}

// fill sets one entry, or a list of pairs.
func fill(t *testing.T, kv sallyport.KV, set json.RawMessage) {
	t.Helper()
	var pairs [][2]string
	var one struct {
		Key, Value string
		TTLSeconds int64
	}
	switch {
	case len(set) == 0:
		return
	case json.Unmarshal(set, &pairs) == nil:
	case json.Unmarshal(set, &one) == nil:
		pairs = [][2]string{{one.Key, one.Value}}
	default:
		t.Fatalf("set is %s, want an entry or pairs", set)
	}
	for _, p := range pairs {
		if err := kv.Set(t.Context(), p[0], p[1], time.Duration(one.TTLSeconds)*time.Second); err != nil {
			t.Fatal(err)
		}
	}
}

// behaviourAttachments takes the locators of the cases, whatever their form,
// as opaque references.
func behaviourAttachments(t *testing.T, tt *behaviour) {
	in, want := &tt.Input, &tt.Expect
	granted := &sallyport.AttachmentsCapability{All: in.Kinds == "*" || in.Kinds == nil}
	if list, ok := in.Kinds.([]any); ok {
		for _, k := range list {
			granted.Kinds = append(granted.Kinds, sallyport.AttachmentKind(k.(string)))
		}
	}
	var turn []sallyport.Attachment
	store := scopedtest.Attachments{in.Caller: "of another call"}
	add := func(kind sallyport.AttachmentKind, ref string) {
		turn = append(turn, sallyport.Attachment{Ref: ref, Kind: kind})
		store[ref] = "content"
	}
	for _, att := range in.Atts {
		kind, ref, _ := strings.Cut(att, ":")
		add(sallyport.AttachmentKind(kind), ref)
	}
	if in.Scoped != "" {
		add(sallyport.KindImage, in.Scoped)
	}
	if in.URL != "" {
		add(sallyport.KindImage, in.URL)
	}
	c, _, _ := bind(t, &sallyport.Grant{Attachments: granted}, &sallyport.Backends{Attachments: store}, turn...)
	if want.List != nil {
		var refs []string
		for _, a := range c.Attachments.List() {
			refs = append(refs, a.Ref)
		}
		if d := cmp.Diff(want.List, refs); d != "" {
			t.Errorf("List (-want +got):\n%s", d)
		}
	}
	if in.Caller != "" {
		want.NotReadable = append(want.NotReadable, in.Caller)
	}
	for _, ref := range want.Readable {
		if _, err := c.Attachments.Open(t.Context(), ref); err != nil {
			t.Errorf("Open(%q) = %v, want the content", ref, err)
		}
	}
	for _, ref := range want.NotReadable {
		if _, err := c.Attachments.Open(t.Context(), ref); err == nil {
			t.Errorf("Open(%q) = nil error, want a refusal", ref)
		}
	}
	// Attachments are no files: none of this extends what the file accessor
	// reaches.
	for _, a := range turn {
		if _, err := c.FS.ReadFile(a.Ref); !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("ReadFile(%q) = %v, want a refusal", a.Ref, err)
		}
	}
}

// processVector is a case of process.json that can be judged by what reaches
// the runner.
type processVector struct {
	ID, Group, Why, Skip string
	Allowed              []string
	Binary               string
	Args                 []string
	ArgRepeat            int `json:"arg_repeat"`
	Env                  map[string]string
	Expect               string
}

func TestProcessVectors(t *testing.T) {
	t.Parallel()
	for _, tt := range load[processVector](t, "process.json") {
		t.Run(tt.ID, func(t *testing.T) {
			if tt.Skip != "" {
				t.Skip(tt.Skip)
			}
			if tt.ArgRepeat > 0 {
				tt.Args = []string{strings.Repeat(tt.Args[0], tt.ArgRepeat)}
			}
			runner := &scopedtest.Runner{}
			c, _, _ := bind(t, &sallyport.Grant{Process: sallyport.ProcessGrant{Binaries: tt.Allowed}}, &sallyport.Backends{Process: runner})
			_, err := c.Process.Spawn(t.Context(), tt.Binary, tt.Args, &sallyport.SpawnOptions{Env: tt.Env})
			if tt.Expect == "refuse" {
				if err == nil || len(runner.Spawned()) != 0 {
					t.Errorf("Spawn = %v with %d processes, want a refusal (%s)", err, len(runner.Spawned()), tt.Why)
				}
				return
			}
			if err != nil || len(runner.Spawned()) != 1 {
				t.Fatalf("Spawn = %v with %d processes, want one", err, len(runner.Spawned()))
			}
			if env := runner.Spawned()[0].Options.Env; tt.Group == "env" && len(env) != 0 {
				t.Errorf("the child gets %q, want none of it (%s)", env, tt.Why)
			}
		})
	}
}
