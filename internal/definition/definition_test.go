package definition

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

func tree(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// read reads every kind of value and returns the faults, a line each.
func read(t *testing.T, text string) (d *Decoder, got map[string]any) {
	t.Helper()
	d = &Decoder{Folders: Folders{Dir: "/d", Workspace: "/w"}}
	o := d.Object("", tree(t, text))
	if o == nil {
		return d, nil
	}
	got = map[string]any{
		"text": o.Text("text", "", true), "flag": o.Flag("flag", "is_flag"), "count": o.Count("count", ""), "texts": o.Texts("texts"),
	}
	for key, part := range map[string]func(at string, v any) any{
		"limit":   func(at string, v any) any { return d.RateLimit(at, v) },
		"timeout": func(at string, v any) any { return d.Timeout(at, v) },
		"path":    func(at string, v any) any { s, _ := v.(string); return d.Path(at, s) },
		"caps":    func(at string, v any) any { return d.Capabilities(at, v) },
		"raw":     func(at string, v any) any { return string(d.Raw(at, v)) },
	} {
		if v, at, ok := o.Take(key, ""); ok {
			got[key] = part(at, v)
		}
	}
	o.Done()
	return d, got
}

func TestDecoder(t *testing.T) {
	d, got := read(t, `{"text": "a", "is_flag": true, "count": 3, "texts": ["b"], "limit": {"requests": 2, "window": "1m"}, "timeout": "5s",
		"path": "${workspace}/x", "raw": {"a": "<"}, "caps": {"secrets": ["a/b"], "process": {"allowedBinaries": ["git"]}}}`)
	want := map[string]any{
		"text": "a", "flag": true, "count": 3, "texts": []string{"b"}, "limit": &sallyport.RateLimit{Requests: 2, Window: time.Minute},
		"timeout": 5 * time.Second, "path": "/w/x", "raw": `{"a":"<"}`,
		"caps": sallyport.Capabilities{Secrets: []string{"a/b"}, Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"git"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(d.Faults) != 0 {
		t.Errorf("read differs (-want +got):\n%s\n%v", diff, d.Faults)
	}
	for path, want := range map[string]string{"x/y": "/d/x/y", "/a/../b": "/b", "${self}": "/d"} {
		if got := d.Path("", path); got != want {
			t.Errorf("Path(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestDecoderRefuses(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`[]`, "expected a mapping"},
		{`{}`, "/text: is missing: expected a text"},
		{`{"text": ""}`, "/text: expected a text"},
		{`{"text": "a", "txts": []}`, `/txts: unknown key; did you mean "texts"?`},
		{`{"text": "a", "a/~b": 1}`, "/a~1~0b: unknown key"},
		{`{"text": "a", "flag": 1}`, "/flag: expected true or false"},
		{`{"text": "a", "flag": true, "is_flag": true}`, `/is_flag: is given twice: "flag" is the same`},
		{`{"text": "a", "count": -1}`, "/count: expected a whole number of 0 or more"},
		{`{"text": "a", "count": "1"}`, "/count: expected a whole number of 0 or more"},
		{`{"text": "a", "texts": "b"}`, "/texts: expected a list of texts"},
		{`{"text": "a", "texts": [1, "b"]}`, "/texts/0: expected a text"},
		{`{"text": "a", "limit": 1}`, "/limit: expected a mapping"},
		{`{"text": "a", "limit": {"window": "1x"}}`, "/limit/requests: is missing: expected a whole number of at least 1"},
		{`{"text": "a", "timeout": 5}`, `/timeout: expected a text such as "30s"`},
		{`{"text": "a", "timeout": "2h"}`, "/timeout: expected 1s to 1h"},
		{`{"text": "a", "timeout": "soon"}`, "/timeout: "},
		{`{"text": "a", "path": "${home}/x"}`, "/path: "},
		{`{"text": "a", "caps": []}`, "/caps: expected a mapping"},
		{`{"text": "a", "caps": {"secrets": null}}`, "/caps/secrets: expected a list of texts"},
		{`{"text": "a", "caps": {"network": []}}`, "/caps/network: expected a mapping"},
		{`{"text": "a", "caps": {"network": {"allowedHosts": null}}}`, "/caps/network/allowedHosts: expected a value, not null"},
		{`{"text": "a", "caps": {"network": {"allowedHosts": 1}}}`, "/caps/network: expected another type at allowedHosts than number"},
		{`{"text": "a", "caps": {"fs_reach": {"read": "all"}}}`, "/caps/fs_reach: "},
	} {
		d, _ := read(t, tt.text)
		if got := d.Faults.Tidy().Error(); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.text, got, tt.want)
		}
	}
	d := &Decoder{}
	d.Path("/a", "b")
	d.Raw("/c", func() {})
	if len(d.Faults) != 2 || !d.Broken("/a") || !d.Broken("/a/b") || !d.Broken("") || d.Broken("/b") {
		t.Errorf("faults = %v", d.Faults)
	}
}

func TestFaultsAreBounded(t *testing.T) {
	var f Faults
	for range 2 * maxFaults {
		f.Add("/a", "twice")
	}
	for range 2 * maxFaults {
		f.Add("/b", "%d", len(f))
	}
	if f = f.Tidy(); len(f) != maxFaults || f[1].Pointer != "/b" {
		t.Errorf("%d faults, the second at %s", len(f), f[1].Pointer)
	}
}

// TestEveryCapabilityIsRead holds the decoder to the type in Go.
func TestEveryCapabilityIsRead(t *testing.T) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[sallyport.Capabilities]()) {
		group, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		d := &Decoder{}
		d.Capabilities("", tree(t, `{"`+group+`": null}`))
		if len(d.Faults) != 1 || strings.Contains(fmt.Sprint(d.Faults), "unknown key") {
			t.Errorf("%s: %v", group, d.Faults)
		}
	}
}
