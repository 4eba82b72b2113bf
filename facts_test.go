package sallyport_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

func TestFactsFollowFromWhatMayBeTouched(t *testing.T) {
	work, err := filepath.Abs("work")
	if err != nil {
		t.Fatal(err)
	}
	within, beside := filepath.Join(work, "notes"), work+"-old"
	hosts := func(allow ...string) sallyport.Grant {
		return sallyport.Grant{Network: sallyport.NetworkGrant{Allow: allow}}
	}
	writes := func(paths ...string) sallyport.Grant { return sallyport.Grant{FS: sallyport.FSGrant{Write: paths}} }
	const private, untrusted, outward = sallyport.FactPrivate, sallyport.FactUntrusted, sallyport.FactOutward
	tests := []struct {
		name  string
		tool  sallyport.Tool
		grant sallyport.Grant
		level sallyport.Level
		want  []sallyport.Fact
	}{
		{name: "nothing"},
		{name: "reads files", grant: sallyport.Grant{FS: sallyport.FSGrant{Read: []string{work}}}, want: []sallyport.Fact{private}},
		{name: "opens attachments", grant: sallyport.Grant{Attachments: &sallyport.AttachmentsCapability{All: true}}, want: []sallyport.Fact{private}},
		{name: "queries", grant: sallyport.Grant{Database: &sallyport.DatabaseCapability{}}, want: []sallyport.Fact{private}},
		{name: "changes a database", grant: sallyport.Grant{Database: &sallyport.DatabaseCapability{Mode: sallyport.ModeWrite}}, want: []sallyport.Fact{private, outward}},
		{name: "a store of the session", grant: sallyport.Grant{Storage: &sallyport.StorageGrant{Scope: sallyport.ScopeSession}}},
		{name: "a store of the tool", grant: sallyport.Grant{Storage: &sallyport.StorageGrant{Scope: sallyport.ScopeToolPrivate}}, want: []sallyport.Fact{private}},
		{name: "mail", grant: sallyport.Grant{Mail: &sallyport.MailCapability{}}, want: []sallyport.Fact{outward}},
		{name: "reads from a host of the house", tool: sallyport.Tool{ReadOnly: true}, grant: sallyport.Grant{Network: sallyport.NetworkGrant{Allow: []string{"wiki.corp.example"}, AllowPrivate: true}}, want: []sallyport.Fact{private, untrusted}},
		{name: "sends to a host of the house", grant: sallyport.Grant{Network: sallyport.NetworkGrant{Allow: []string{"hooks.corp.example"}, AllowPrivate: true}}, want: []sallyport.Fact{untrusted, outward}},
		{name: "could read from the house and reaches nothing", tool: sallyport.Tool{ReadOnly: true}, grant: sallyport.Grant{Network: sallyport.NetworkGrant{AllowPrivate: true}}},
		{name: "sends to a host", grant: hosts("api.example"), want: []sallyport.Fact{untrusted, outward}},
		{name: "reads from a listed host", tool: sallyport.Tool{ReadOnly: true}, grant: hosts("api.example", "*.example.org"), want: []sallyport.Fact{untrusted}},
		{name: "reads from any host", tool: sallyport.Tool{ReadOnly: true}, grant: hosts("*"), want: []sallyport.Fact{untrusted, outward}},
		{name: "reads from any host at a port", tool: sallyport.Tool{ReadOnly: true}, grant: hosts("*:8443"), want: []sallyport.Fact{untrusted, outward}},
		{name: "declared hosts that were dropped", tool: sallyport.Tool{Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}}}}},
		{name: "writes in the workspace", grant: writes(work, within)},
		{name: "writes beside the workspace", grant: writes(within, beside), want: []sallyport.Fact{outward}},
		{name: "writes above the workspace", grant: writes(filepath.Dir(work)), want: []sallyport.Fact{outward}},
		{name: "a secret of its own", grant: sallyport.Grant{Secrets: []string{"weather/key"}}},
		{name: "upstream", tool: sallyport.Tool{Name: "mcp__a__b"}, want: []sallyport.Fact{untrusted}},
		{name: "of a plugin", tool: sallyport.Tool{Plugin: "counts"}, want: []sallyport.Fact{untrusted}},
		{name: "the words of others", tool: sallyport.Tool{Foreign: true}, want: []sallyport.Fact{untrusted}},
		{name: "upstream with an account", tool: sallyport.Tool{Name: "mcp__a__b"}, grant: sallyport.Grant{Secrets: []string{"a/token"}}, want: []sallyport.Fact{private, untrusted}},
		{name: "upstream that sends", tool: sallyport.Tool{Name: "mcp__a__b"}, grant: hosts("api.example"), want: []sallyport.Fact{untrusted, outward}},
		{name: "upstream that says it reads", tool: sallyport.Tool{Name: "mcp__a__b", SaysReadOnly: true}, grant: hosts("api.example"), want: []sallyport.Fact{untrusted}},
		{name: "upstream that says it reads anything", tool: sallyport.Tool{Name: "mcp__a__b", SaysReadOnly: true}, grant: hosts("*"), want: []sallyport.Fact{untrusted, outward}},
		{name: "upstream that says it reads beside what it writes", tool: sallyport.Tool{Name: "mcp__a__b", SaysReadOnly: true}, grant: writes(beside), want: []sallyport.Fact{untrusted}},
		{name: "a prompt", tool: sallyport.Tool{Name: "mcp__a__b", Form: sallyport.FormPrompt}, grant: hosts("api.example"), want: []sallyport.Fact{untrusted}},
		{name: "a resource", tool: sallyport.Tool{Name: "mcp__a__b", Form: sallyport.FormResource}, grant: hosts("api.example"), want: []sallyport.Fact{untrusted, outward}},
		{name: "a resource that says it reads", tool: sallyport.Tool{Name: "mcp__a__b", Form: sallyport.FormResource, SaysReadOnly: true}, grant: hosts("api.example"), want: []sallyport.Fact{untrusted}},
		{name: "children in the sandbox", grant: sallyport.Grant{Process: sallyport.ProcessGrant{Binaries: []string{"git"}}}, level: sallyport.LevelFull},
		{name: "children without a sandbox", level: sallyport.LevelNone, want: []sallyport.Fact{private, untrusted, outward}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.tool.Facts(&tt.grant, tt.level, work).List()
			if !slices.Equal(got, tt.want) {
				t.Errorf("Facts() = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestWithoutAWorkspaceEveryWriteIsOutward(t *testing.T) {
	var tool sallyport.Tool
	g := sallyport.Grant{FS: sallyport.FSGrant{Write: []string{"/data"}}}
	if !tool.Facts(&g, "", "").Outward {
		t.Error("Facts() = not outward, want outward")
	}
	if tool.Facts(&g, "", "/").Outward {
		t.Error("Facts() = outward, want everything to be below /")
	}
}

func TestAFactCountsForAWhile(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		session bool
		age     time.Duration
		want    bool
	}{
		{false, sallyport.PrincipalFactAge, true},
		{false, sallyport.PrincipalFactAge + sallyport.FactStep, false},
		{true, sallyport.PrincipalFactAge + sallyport.FactStep, true},
		{true, sallyport.SessionFactAge, false},
		{true, -time.Hour, true}, // another machine's clock
	} {
		m := sallyport.FactMark{Session: tt.session, Time: now.Add(-tt.age)}
		if got := m.Counts(now); got != tt.want {
			t.Errorf("Counts() of session %v after %v = %v, want %v", tt.session, tt.age, got, tt.want)
		}
	}
}
