package sallyport_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

func TestPathListJSON(t *testing.T) {
	tests := []struct {
		name string
		list sallyport.PathList
		want string
	}{
		{"word", sallyport.FromPersonality(), `"from-personality"`},
		{"list", sallyport.Paths("/a", "${workspace}/b"), `["/a","${workspace}/b"]`},
		{"empty", sallyport.Paths(), `[]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, err := json.Marshal(tt.list)
			if err != nil || string(text) != tt.want {
				t.Fatalf("Marshal() = %s, %v, want %s", text, err, tt.want)
			}
			var back sallyport.PathList
			if err := json.Unmarshal(text, &back); err != nil {
				t.Fatalf("Unmarshal(%s) = %v", text, err)
			}
			if back.FromPersonality != tt.list.FromPersonality || len(back.Paths) != len(tt.list.Paths) || back.IsZero() != tt.list.IsZero() {
				t.Errorf("Unmarshal(%s) = %+v, want %+v", text, back, tt.list)
			}
		})
	}
	for _, text := range []string{`"*"`, `"from_personality"`, `""`, `null`, `7`, `[1]`, `{}`, `[null]x`} {
		var l sallyport.PathList
		if err := json.Unmarshal([]byte(text), &l); err == nil || !l.IsZero() {
			t.Errorf("Unmarshal(%s) = %+v, %v, want an error and nothing declared", text, l, err)
		}
	}
}

func TestAttachmentsJSON(t *testing.T) {
	tests := []struct {
		name string
		a    sallyport.AttachmentsCapability
		want string
	}{
		{"all", sallyport.AttachmentsCapability{All: true}, `{"kinds":"*"}`},
		{"some", sallyport.AttachmentsCapability{Kinds: []sallyport.AttachmentKind{"image", "file"}}, `{"kinds":["image","file"]}`},
		{"none", sallyport.AttachmentsCapability{}, `{"kinds":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, err := json.Marshal(tt.a)
			if err != nil || string(text) != tt.want {
				t.Fatalf("Marshal() = %s, %v, want %s", text, err, tt.want)
			}
			var back sallyport.AttachmentsCapability
			if err := json.Unmarshal(text, &back); err != nil {
				t.Fatalf("Unmarshal(%s) = %v", text, err)
			}
			if diff := cmp.Diff(tt.a, back); diff != "" {
				t.Errorf("round trip (-want +got):\n%s", diff)
			}
		})
	}
	for _, text := range []string{
		`{"kinds":"all"}`, `{"kinds":null}`, `{"kinds":{}}`, `{}`, `{"kinds":["image"],"max":3}`, `{"kinds":"*"} {}`, `[]`, `"*"`,
	} {
		var a sallyport.AttachmentsCapability
		if err := a.UnmarshalJSON([]byte(text)); err == nil || a.All || a.Kinds != nil {
			t.Errorf("Unmarshal(%s) = %+v, %v, want an error and nothing declared", text, a, err)
		}
	}
}

func TestAttachmentsHas(t *testing.T) {
	image := sallyport.AttachmentsCapability{Kinds: []sallyport.AttachmentKind{sallyport.KindImage}}
	all := sallyport.AttachmentsCapability{All: true}
	tests := []struct {
		name string
		a    sallyport.AttachmentsCapability
		kind sallyport.AttachmentKind
		want bool
	}{
		{"listed", image, sallyport.KindImage, true},
		{"not listed", image, sallyport.KindFile, false},
		{"all", all, sallyport.KindFile, true},
		{"nothing", sallyport.AttachmentsCapability{}, sallyport.KindImage, false},
		{"empty kind", image, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.a.Has(tt.kind); got != tt.want {
				t.Errorf("Has(%q) = %v, want %v", tt.kind, got, tt.want)
			}
		})
	}
}

// TestCapabilitiesJSON reads the example of the contract, section 2, and writes
// it again.
func TestCapabilitiesJSON(t *testing.T) {
	const text = `{"network":{"allowedHosts":["api.github.com","*.example.com"]},` +
		`"secrets":["providers/openweather/apiKey","providers/exa/*"],` +
		`"storage":{"scope":"tool-private","kind":"kv","ttlSecondsDefault":3600},` +
		`"fs_reach":{"read":["/abs/path","${workspace}/docs"],"write":"from-personality","mode":"direct"},` +
		`"process":{"allowedBinaries":["git"],"execFrom":["${workspace}"]},` +
		`"attachments":{"kinds":["image","file"]},` +
		`"database":{"connections":["analytics"],"mode":"read"},` +
		`"mail":{"relay":"default","to":["*@example.com"]}}`
	var c sallyport.Capabilities
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(c)
	if err != nil || string(got) != text {
		t.Errorf("round trip = %s, %v, want %s", got, err, text)
	}
	if c.Empty() {
		t.Error("Empty() = true for a declaration of everything")
	}
	if got, err := json.Marshal(sallyport.Capabilities{}); err != nil || string(got) != "{}" {
		t.Errorf("Marshal(zero) = %s, %v, want {}", got, err)
	}
}

func TestEmpty(t *testing.T) {
	if !(sallyport.Capabilities{Secrets: []string{}}).Empty() {
		t.Error("Empty() = false for nothing")
	}
	for _, c := range []sallyport.Capabilities{
		{Network: &sallyport.NetworkCapability{}},
		{Secrets: []string{"a"}},
		{Storage: &sallyport.StorageCapability{}},
		{FSReach: &sallyport.FSCapability{}},
		{Process: &sallyport.ProcessCapability{}},
		{Attachments: &sallyport.AttachmentsCapability{}},
		{Database: &sallyport.DatabaseCapability{}},
		{Mail: &sallyport.MailCapability{}},
	} {
		if c.Empty() {
			t.Errorf("Empty(%+v) = true, want false", c)
		}
	}
}

func TestStorageScopeValid(t *testing.T) {
	for s, want := range map[sallyport.StorageScope]bool{
		sallyport.ScopeToolPrivate: true, sallyport.ScopeSession: true, sallyport.ScopePersonality: true,
		"": false, "global": false, "Session": false,
	} {
		if got := s.Valid(); got != want {
			t.Errorf("StorageScope(%q).Valid() = %v, want %v", s, got, want)
		}
	}
}
