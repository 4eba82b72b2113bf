package sallyport_test

import (
	"testing"

	"github.com/sallyport/sallyport"
)

func TestServer(t *testing.T) {
	for name, want := range map[string]string{
		"mcp__github__create_issue": "github",
		"mcp__a__b__c":              "a",
		"mcp__a-b__c":               "a-b",
		"mcp__a_b__c":               "a_b",
		"mcp__a":                    "",
		"mcp____a":                  "",
		"mcp__":                     "",
		"mcp_a__b":                  "",
		"MCP__a__b":                 "",
		"read_file":                 "",
		"x_mcp__a__b":               "",
		"":                          "",
	} {
		if got := (&sallyport.Tool{Name: name}).Server(); got != want {
			t.Errorf("Tool{%q}.Server() = %q, want %q", name, got, want)
		}
	}
}

// TestAnnotations is the table of what is derived from a declaration.
func TestAnnotations(t *testing.T) {
	read := &sallyport.FSCapability{Read: sallyport.FromPersonality()}
	write := &sallyport.FSCapability{Write: sallyport.Paths("/w")}
	network := &sallyport.NetworkCapability{AllowedHosts: []string{"a.b"}}
	storage := &sallyport.StorageCapability{Scope: sallyport.ScopeSession, Kind: "kv"}
	process := &sallyport.ProcessCapability{AllowedBinaries: []string{"git"}}
	mail := &sallyport.MailCapability{To: []string{"a@b.c"}}
	readDB := &sallyport.DatabaseCapability{Connections: []string{"a"}}
	writeDB := &sallyport.DatabaseCapability{Connections: []string{"a"}, Mode: sallyport.ModeWrite}
	tests := []struct {
		name                            string
		caps                            sallyport.Capabilities
		readOnly                        bool
		effects, destructive, openWorld bool
	}{
		{"nothing", sallyport.Capabilities{}, false, false, false, false},
		{"reads files", sallyport.Capabilities{FSReach: read}, false, false, false, false},
		{"writes files", sallyport.Capabilities{FSReach: write}, false, true, true, false},
		{"secrets and attachments", sallyport.Capabilities{
			Secrets: []string{"a"}, Attachments: &sallyport.AttachmentsCapability{All: true},
		}, false, false, false, false},
		{"network", sallyport.Capabilities{Network: network}, false, true, true, true},
		{"network, read only", sallyport.Capabilities{Network: network}, true, false, false, true},
		{"storage", sallyport.Capabilities{Storage: storage}, false, true, false, false},
		{"storage and network, read only", sallyport.Capabilities{Storage: storage, Network: network}, true, true, false, true},
		{"storage and file reads", sallyport.Capabilities{Storage: storage, FSReach: read}, false, true, false, false},
		{"process", sallyport.Capabilities{Process: process}, false, true, true, true},
		{"mail", sallyport.Capabilities{Mail: mail}, false, true, false, true},
		{"mail and file reads", sallyport.Capabilities{Mail: mail, FSReach: read}, false, true, false, true},
		{"reads a database", sallyport.Capabilities{Database: readDB}, false, false, false, false},
		{"reads a database, keeps notes", sallyport.Capabilities{Database: readDB, Storage: storage}, false, true, false, false},
		{"writes a database", sallyport.Capabilities{Database: writeDB}, false, true, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tool := &sallyport.Tool{Capabilities: tt.caps, ReadOnly: tt.readOnly}
			if e, d, o := tool.Effects(), tool.Destructive(), tool.OpenWorld(); e != tt.effects || d != tt.destructive || o != tt.openWorld {
				t.Errorf("Effects, Destructive, OpenWorld = %v, %v, %v, want %v, %v, %v", e, d, o, tt.effects, tt.destructive, tt.openWorld)
			}
		})
	}
}

func TestIDsAreParsedBack(t *testing.T) {
	for id, want := range map[string]sallyport.Tool{
		"x":           {Name: "x"},
		"prompt:x":    {Name: "x", Form: sallyport.FormPrompt},
		"resource:x":  {Name: "x", Form: sallyport.FormResource},
		"prompt:":     {Form: sallyport.FormPrompt},
		"prompt":      {Name: "prompt"},
		"other:x":     {Name: "other:x"},
		":x":          {Name: ":x"},
		"prompt:a:b":  {Name: "a:b", Form: sallyport.FormPrompt},
		"mcp__s__p":   {Name: "mcp__s__p"},
		"Prompt:case": {Name: "Prompt:case"},
	} {
		form, name := sallyport.ParseID(id)
		if form != want.Form || name != want.Name {
			t.Errorf("ParseID(%q) = %q, %q, want %q, %q", id, form, name, want.Form, want.Name)
		}
		if got := (&sallyport.Tool{Name: name, Form: form}).ID(); got != id {
			t.Errorf("ParseID(%q) put together is %q", id, got)
		}
	}
}
