package scoped_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// journal collects decisions; note may be called from any goroutine.
type journal struct {
	mu   sync.Mutex
	list []sallyport.Decision
}

func (j *journal) note(d sallyport.Decision) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list = append(j.list, d)
}

// reasons returns capability, resource and reason of the decisions, with
// "refused" in front of a refusal.
func (j *journal) reasons() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var whys []string
	for _, d := range j.list {
		why := d.Capability + " [" + d.Resource + "] " + d.Why
		if !d.Allowed {
			why = "refused " + why
		}
		whys = append(whys, why)
	}
	return whys
}

func newCall() *sallyport.Call {
	return &sallyport.Call{
		ID: "call", Tool: "tool", Session: "s1", SessionKey: "local/s1", Personality: "researcher",
		Workspace: string(filepath.Separator) + "work",
	}
}

// bind compiles a grant and binds a call.
func bind(t *testing.T, g *sallyport.Grant, b *sallyport.Backends, atts ...sallyport.Attachment) (*sallyport.Call, *scoped.Binding, *journal) {
	t.Helper()
	s, err := scoped.New("tool", g, b)
	if err != nil {
		t.Fatalf("New = %v", err)
	}
	t.Cleanup(s.Close)
	c, j := newCall(), &journal{}
	binding, err := s.Bind(t.Context(), c, scoped.Turn{Attachments: atts}, j.note)
	if err != nil {
		t.Fatalf("Bind = %v", err)
	}
	return c, binding, j
}

// everyAccess uses each method of each accessor that could reach something.
func everyAccess(ctx context.Context, c *sallyport.Call) map[string]error {
	got := map[string]error{}
	res, err := c.Network.Client().Get("https://API.stripe.com/v1")
	if err == nil {
		res.Body.Close()
	}
	got["client"] = err
	_, got["dial"] = c.Network.DialContext(ctx, "tcp", "api.stripe.com:443")
	_, got["open"] = c.FS.Open("/etc/passwd")
	_, got["read file"] = c.FS.ReadFile("/etc/passwd")
	_, got["read dir"] = c.FS.ReadDir("/etc/passwd")
	_, got["stat"] = c.FS.Stat("/etc/passwd")
	got["write file"] = c.FS.WriteFile("/etc/passwd", nil)
	got["update file"] = c.FS.UpdateFile("/etc/passwd", func(old []byte) ([]byte, error) { return old, nil })
	got["mkdir"] = c.FS.MkdirAll("/etc/passwd")
	_, got["secret"] = c.Secrets.Get(ctx, "STRIPE_KEY")
	_, _, got["kv get"] = c.KV.Get(ctx, "k")
	got["kv set"] = c.KV.Set(ctx, "k", "v", 0)
	got["kv delete"] = c.KV.Delete(ctx, "k")
	_, got["kv list"] = c.KV.List(ctx, "")
	_, got["spawn"] = c.Process.Spawn(ctx, "rm", []string{"-rf", "/"}, nil)
	_, got["attachment"] = c.Attachments.Open(ctx, "att-0")
	_, got["query"] = c.Databases.Query(ctx, "analytics", "select 1", nil)
	got["mail"] = c.Mail.Send(ctx, sallyport.Message{To: []string{"a@example.com"}})
	return got
}

// refusals is what a tool without grant is told.
var refusals = map[string]struct {
	is   error
	text string
}{
	"client":      {sallyport.ErrHostNotAllowed, "HOST_NOT_ALLOWED: api.stripe.com is not in the declared allowedHosts"},
	"dial":        {sallyport.ErrHostNotAllowed, "HOST_NOT_ALLOWED: api.stripe.com is not in the declared allowedHosts"},
	"open":        {sallyport.ErrPathNotReachable, "PATH_NOT_REACHABLE: read not permitted for /etc/passwd"},
	"read file":   {sallyport.ErrPathNotReachable, "PATH_NOT_REACHABLE: read not permitted for /etc/passwd"},
	"read dir":    {sallyport.ErrPathNotReachable, "PATH_NOT_REACHABLE: read not permitted for /etc/passwd"},
	"stat":        {sallyport.ErrPathNotReachable, "PATH_NOT_REACHABLE: read not permitted for /etc/passwd"},
	"write file":  {sallyport.ErrPathNotReachable, "PATH_NOT_REACHABLE: write not permitted for /etc/passwd"},
	"update file": {sallyport.ErrPathNotReachable, "PATH_NOT_REACHABLE: write not permitted for /etc/passwd"},
	"mkdir":       {sallyport.ErrPathNotReachable, "PATH_NOT_REACHABLE: write not permitted for /etc/passwd"},
	"secret":      {sallyport.ErrSecretNotDeclared, "SECRET_NOT_DECLARED: STRIPE_KEY is not in the tool's declared secrets"},
	"kv get":      {sallyport.ErrNotAvailable, "the tool declares no storage"},
	"kv set":      {sallyport.ErrNotAvailable, "the tool declares no storage"},
	"kv delete":   {sallyport.ErrNotAvailable, "the tool declares no storage"},
	"kv list":     {sallyport.ErrNotAvailable, "the tool declares no storage"},
	"spawn":       {sallyport.ErrBinaryNotAllowed, "BINARY_NOT_ALLOWED: rm is not in the declared allowedBinaries"},
	"attachment":  {sallyport.ErrNotAvailable, "the tool declares no attachments"},
	"query":       {sallyport.ErrNotAvailable, "the tool declares no database"},
	"mail":        {sallyport.ErrNotAvailable, "the tool declares no mail"},
}

func checkRefusals(t *testing.T, got map[string]error) {
	t.Helper()
	for access, want := range refusals {
		err := got[access]
		if !errors.Is(err, want.is) {
			t.Errorf("%s without grant: %v, want %v", access, err, want.text)
			continue
		}
		if text := sallyport.ErrorResult(err).Error; text != want.text {
			t.Errorf("%s without grant: text %q, want %q", access, text, want.text)
		}
	}
}

func TestWithoutGrantEverythingRefuses(t *testing.T) {
	t.Parallel()
	c, binding, j := bind(t, &sallyport.Grant{}, nil, sallyport.Attachment{Ref: "att-0", Kind: sallyport.KindFile})
	if binding != nil || binding.Revealed() != nil {
		t.Errorf("Bind without grant = %v, want the nil binding that revealed nothing", binding)
	}
	checkRefusals(t, everyAccess(t.Context(), c))
	if list := c.Attachments.List(); len(list) != 0 {
		t.Errorf("Attachments.List without grant = %v, want nothing", list)
	}
	// All but the seven file accesses report a decision.
	if n := len(j.reasons()); n != len(refusals)-7 {
		t.Errorf("decisions = %d (%q), want %d", n, j.reasons(), len(refusals)-7)
	}
	for name, want := range map[string]string{"a/../b": "/work/b", "/etc/../x": "/x"} {
		if got := filepath.ToSlash(c.FS.Abs(name)); got != want {
			t.Errorf("Abs(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestDroppedGroupsRefuseWithTheReason(t *testing.T) {
	t.Parallel()
	drop := func(capability, item string) sallyport.Dropped {
		return sallyport.Dropped{
			Capability: capability, Item: item, Why: "why " + item,
			Source: "sallyport.yaml:7:3", Fix: "fix " + item,
		}
	}
	c, _, j := bind(t, &sallyport.Grant{Dropped: []sallyport.Dropped{
		drop("network", "api.stripe.com"), drop("secrets", "OTHER"), drop("secrets", "STRIPE_KEY"),
		drop("fs_reach.write", "from-personality"), drop("process", "rm"),
	}}, nil)
	checkRefusals(t, everyAccess(t.Context(), c))
	const undeclared = "declare it in the tool's capabilities."
	want := map[string][2]string{
		"network api.stripe.com":     {"api.stripe.com is outside the grant: why api.stripe.com", "fix api.stripe.com"},
		"secrets STRIPE_KEY":         {"STRIPE_KEY is outside the grant: why STRIPE_KEY", "fix STRIPE_KEY"},
		"fs_reach.write /etc/passwd": {"/etc/passwd is outside the grant: why from-personality", "fix from-personality"},
		"fs_reach.read /etc/passwd":  {"/etc/passwd is outside the grant", undeclared + "fs_reach.read"},
		"process rm":                 {"rm is outside the grant: why rm", "fix rm"},
		"storage ":                   {"storage is outside the grant", undeclared + "storage"},
		"attachments att-0":          {"att-0 is outside the grant", undeclared + "attachments"},
		"database analytics":         {"analytics is outside the grant", undeclared + "database"},
		"mail ":                      {"mail is outside the grant", undeclared + "mail"},
	}
	got := map[string][2]string{}
	for _, d := range j.list {
		if d.Allowed || d.Step != sallyport.StepAccess || (d.Source != "") != strings.HasPrefix(d.Fix, "fix") {
			t.Errorf("decision %+v, want a refused access with the place of the rule", d)
		}
		got[d.Capability+" "+d.Resource] = [2]string{d.Why, d.Fix}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("decisions (-want +got):\n%s", d)
	}
}

func TestRefusingClientsAreNotShared(t *testing.T) {
	t.Parallel()
	c, _, _ := bind(t, &sallyport.Grant{}, nil)
	c.Network.Client().Transport = http.DefaultTransport
	other, _, _ := bind(t, &sallyport.Grant{}, nil)
	for _, client := range []*http.Client{c.Network.Client(), other.Network.Client()} {
		if client.Transport == http.DefaultTransport {
			t.Error("a client carries what a tool set in another one")
		}
	}
}

func TestNewRefusesWhatIsNotWired(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		grant sallyport.Grant
	}{
		{name: "network", grant: sallyport.Grant{Network: sallyport.NetworkGrant{Allow: []string{"example.com"}}}},
		{name: "secrets", grant: sallyport.Grant{Secrets: []string{"a"}}},
		{name: "storage", grant: sallyport.Grant{Storage: &sallyport.StorageGrant{Scope: sallyport.ScopeSession}}},
		{name: "fs_reach", grant: sallyport.Grant{FS: sallyport.FSGrant{Write: []string{"/tmp"}}}},
		{name: "process", grant: sallyport.Grant{Process: sallyport.ProcessGrant{Binaries: []string{"git"}}}},
		{name: "attachments", grant: sallyport.Grant{Attachments: &sallyport.AttachmentsCapability{All: true}}},
		{name: "database", grant: sallyport.Grant{Database: &sallyport.DatabaseCapability{Connections: []string{"a"}}}},
		{name: "mail", grant: sallyport.Grant{Mail: &sallyport.MailCapability{To: []string{"a@example.com"}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, b := range []*sallyport.Backends{nil, {}} {
				_, err := scoped.New("weather", &tt.grant, b)
				want := "Tool weather declares capabilities but no capability backends are configured"
				if !errors.Is(err, sallyport.ErrNotAvailable) || err.Error() != want {
					t.Errorf("New without backend = %v, want %q", err, want)
				}
			}
		})
	}
}

func TestNewRefusesBrokenRecipients(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"*", "*@", "*@*", "bob", "Bob <bob@example.com>", "a@b@example.com", "*@[127.0.0.1]", `"a b"@example.com`} {
		g := &sallyport.Grant{Mail: &sallyport.MailCapability{To: []string{to}}}
		if _, err := scoped.New("tool", g, &sallyport.Backends{Mail: &scopedtest.Outbox{}}); err == nil {
			t.Errorf("New with the recipient %q = nil error, want a refusal", to)
		}
	}
}

func TestNetworkPolicyIsACopy(t *testing.T) {
	t.Parallel()
	g := &sallyport.Grant{Network: sallyport.NetworkGrant{Deny: []string{"evil.example.com"}}}
	c, _, _ := bind(t, g, nil)
	if d := cmp.Diff(g.Network, c.NetworkPolicy); d != "" {
		t.Errorf("NetworkPolicy (-want +got):\n%s", d)
	}
	c.NetworkPolicy.Deny[0] = "changed"
	if g.Network.Deny[0] != "evil.example.com" {
		t.Error("a tool changed the grant through NetworkPolicy")
	}
}

func TestBindWithoutGrantDoesNotAllocate(t *testing.T) {
	s, err := scoped.New("tool", &sallyport.Grant{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, j := newCall(), &journal{}
	ctx, note := t.Context(), j.note
	if n := testing.AllocsPerRun(100, func() {
		if _, err := s.Bind(ctx, c, scoped.Turn{}, note); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Bind without grant allocates %v times, want 0", n)
	}
}

// allBackends wires everything but network and files, and grants all of it.
func allBackends() (*sallyport.Grant, *sallyport.Backends) {
	g := &sallyport.Grant{
		Secrets: []string{"providers/exa/*"}, Storage: &sallyport.StorageGrant{Scope: sallyport.ScopeSession},
		Process:     sallyport.ProcessGrant{Binaries: []string{"git"}},
		Attachments: &sallyport.AttachmentsCapability{All: true},
		Database:    &sallyport.DatabaseCapability{Connections: []string{"analytics"}},
		Mail:        &sallyport.MailCapability{To: []string{"*@example.com"}},
	}
	b := &sallyport.Backends{
		Secrets: scopedtest.Secrets{"providers/exa/apiKey": "correct horse"}, KV: &scopedtest.KV{},
		Process: &scopedtest.Runner{}, Databases: &scopedtest.Databases{}, Mail: &scopedtest.Outbox{},
		Attachments: scopedtest.Attachments{"att-0": "content"},
	}
	return g, b
}

func TestAccessorsConcurrently(t *testing.T) {
	t.Parallel()
	g, b := allBackends()
	c, binding, j := bind(t, g, b, sallyport.Attachment{Ref: "att-0", Kind: sallyport.KindFile})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			ctx := t.Context()
			_ = everyAccess(ctx, c)
			_, _ = c.Secrets.Get(ctx, "providers/exa/apiKey")
			_ = c.KV.Set(ctx, "key", "value", 0)
			_, _ = c.Process.Spawn(ctx, "git", []string{"status"}, nil)
			if r, err := c.Attachments.Open(ctx, "att-0"); err == nil {
				_, _ = io.ReadAll(r)
				_ = r.Close()
			}
			_ = binding.Revealed()
		})
	}
	wg.Wait()
	if got := binding.Revealed(); len(got) != 1 || got[0].Reveal() != "correct horse" {
		t.Errorf("Revealed = %d values, want the one that was handed out", len(got))
	}
	if opened := b.KV.(*scopedtest.KV).Opened(); len(opened) != 1 {
		t.Errorf("the store was opened %d times, want once per call", len(opened))
	}
	if len(j.reasons()) == 0 {
		t.Error("no decision was noted")
	}
}

func BenchmarkBindWithoutGrant(b *testing.B) {
	s, err := scoped.New("tool", &sallyport.Grant{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	c, note := newCall(), func(sallyport.Decision) {}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = s.Bind(b.Context(), c, scoped.Turn{}, note)
	}
}

func BenchmarkBindEverything(b *testing.B) {
	g, backends := allBackends()
	s, err := scoped.New("tool", g, backends)
	if err != nil {
		b.Fatal(err)
	}
	c, note := newCall(), func(sallyport.Decision) {}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = s.Bind(b.Context(), c, scoped.Turn{}, note)
	}
}
