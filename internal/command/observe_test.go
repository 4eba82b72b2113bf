package command

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/sandbox"
)

// The output is YAML with comments, whatever names the program gave its files,
// and equals the declaration.
func TestPrintObservation(t *testing.T) {
	t.Parallel()
	hostile := "${workspace}/a\n#b: \"c\" \x1b[31m: - {d}"
	for _, tt := range []struct {
		name string
		caps sallyport.Capabilities
	}{
		{"nothing", sallyport.Capabilities{}},
		{"all", sallyport.Capabilities{
			Network: &sallyport.NetworkCapability{AllowedHosts: []string{"a.example", "[2001:db8::1]:8080"}},
			FSReach: &sallyport.FSCapability{Read: sallyport.Paths(hostile, "${workspace}"), Write: sallyport.Paths("${home}/x")},
			Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"sh"}, ExecFrom: []string{"${workspace}/bin"}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			report.PrintObservation(&report.Printer{W: &b}, &sandbox.Observation{
				Capabilities: tt.caps, Binaries: []string{"/bin/sh", hostile}, Missed: []string{hostile},
				Withheld: []sandbox.Withheld{{Kind: "read", Item: hostile, Why: "floor", Floor: true}, {Kind: "socket", Item: hostile, Why: "x"}},
				Notes:    []string{hostile}, Unseen: []string{"all"}, More: true,
			}, []string{"sh", "-c", hostile})
			var page struct {
				Capabilities map[string]any `yaml:"capabilities"`
			}
			if err := yaml.UnmarshalWithOptions(b.Bytes(), &page, yaml.Strict()); err != nil {
				t.Fatalf("not YAML: %v\n%s", err, b.String())
			}
			text, err := json.Marshal(page.Capabilities)
			if err != nil {
				t.Fatal(err)
			}
			var got sallyport.Capabilities
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.caps, got); diff != "" {
				t.Errorf("declaration (-want +got):\n%s\n%s", diff, b.String())
			}
		})
	}
}
