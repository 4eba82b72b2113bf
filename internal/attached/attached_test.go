package attached_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/attached"
	"github.com/sallyport/sallyport/store/attachments"
)

func TestArgumentsThatTakeFiles(t *testing.T) {
	schema := `{"type":"object","format":"attachment","properties":{
		"ref":{"type":"string","format":"attachment"},
		"refs":{"type":"array","items":{"type":"string","format":"attachment"}},
		"coded":{"type":"string","contentEncoding":"base64","contentMediaType":"image/png"},
		"text":{"type":"string","contentMediaType":"text/csv"},
		"hex":{"type":"string","contentEncoding":"base16"},
		"plain":{"type":"string"},"any":{"format":"attachment"},"either":{"type":["string","object"],"format":"attachment"},
		"number":{"type":"integer","contentEncoding":"base64"},"path":{"type":"string","format":"uri"},
		"deep":{"type":"object","properties":{"ref":{"type":"string","format":"attachment"}}},
		"lists":{"type":"array","items":{"type":"array","items":{"type":"string","format":"attachment"}}},"all":true,"list":{"type":"array"}}}`
	want := []attached.Argument{
		{Name: "coded", Form: attached.FormBase64},
		{Name: "ref", Form: attached.FormRef},
		{Name: "refs", Form: attached.FormRef, List: true},
		{Name: "text", Form: attached.FormText},
	}
	if diff := cmp.Diff(want, attached.Arguments(json.RawMessage(schema))); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	for _, broken := range []string{"", "true", "[]", `{"properties":[]}`} {
		if got := attached.Arguments(json.RawMessage(broken)); got != nil {
			t.Errorf("Arguments(%s) = %v", broken, got)
		}
	}
}

func TestContentIsReadStrictly(t *testing.T) {
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))
	for name, tt := range map[string]struct {
		value string
		want  attached.Content
		ok    bool
		fails string
	}{
		"a text":                 {value: `"resource"`},
		"an object":              {value: `{"kind":"resource"}`},
		"another type":           {value: `{"type":"text","text":"a"}`},
		"text":                   {value: `{"type":"resource","resource":{"uri":"file:///b/a%20b.csv?x","mimeType":"text/csv","text":"1,2"}}`, want: attached.Content{Name: "a b.csv", Data: []byte("1,2")}, ok: true},
		"bytes":                  {value: `{"type":"resource","resource":{"uri":"x:..","blob":"` + png + `"}}`, want: attached.Content{Name: "attachment", Data: []byte("\x89PNG\r\n\x1a\n")}, ok: true},
		"a picture":              {value: `{"type":"image","mimeType":"image/png","data":"` + png + `"}`, want: attached.Content{Name: "image", Data: []byte("\x89PNG\r\n\x1a\n")}, ok: true},
		"a name with steps":      {value: `{"type":"resource","resource":{"uri":"file:///a/..%2f..%5cb","text":""}}`, want: attached.Content{Name: "b", Data: []byte{}}, ok: true},
		"a kept file":            {value: `{"type":"resource_link","name":"n","uri":"attachment:att-1"}`, want: attached.Content{Ref: "att-1"}, ok: true},
		"a link elsewhere":       {value: `{"type":"resource_link","name":"n","uri":"https://example.com/a"}`, ok: true, fails: "is not followed"},
		"a link to a file":       {value: `{"type":"resource_link","name":"n","uri":"file:///etc/passwd"}`, ok: true, fails: "is not followed"},
		"a link to none":         {value: `{"type":"resource_link","name":"n","uri":"attachment:"}`, ok: true, fails: "is not followed"},
		"a page as a picture":    {value: `{"type":"resource","resource":{"uri":"a:b.png","mimeType":"image/png","text":"<html>"}}`, ok: true, fails: "said to be image/png"},
		"a picture as a text":    {value: `{"type":"resource","resource":{"uri":"a:b","mimeType":"text/plain","blob":"` + png + `"}}`, ok: true, fails: "its content is image/png"},
		"text and bytes":         {value: `{"type":"resource","resource":{"uri":"a:b","text":"","blob":""}}`, ok: true, fails: "either text or blob"},
		"nothing":                {value: `{"type":"resource","resource":{"uri":"a:b"}}`, ok: true, fails: "either text or blob"},
		"no URI":                 {value: `{"type":"resource","resource":{"text":"a"}}`, ok: true, fails: "no URI"},
		"no resource":            {value: `{"type":"resource"}`, ok: true, fails: "no URI"},
		"base64 without its end": {value: `{"type":"resource","resource":{"uri":"a:b","blob":"YQ"}}`, ok: true, fails: "not base64"},
		"a key twice":            {value: `{"type":"resource","resource":{"uri":"a:b","text":"a","text":"b"}}`, ok: true, fails: "cannot be read"},
		"another form":           {value: `{"type":"resource","resource":[]}`, ok: true, fails: "not in the form"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok, err := attached.ReadContent(json.RawMessage(tt.value))
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || !ok {
					t.Fatalf("got %v, %v, want an error with %q", ok, err, tt.fails)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil || ok != tt.ok {
				t.Errorf("ok %v, error %v, content (-want +got):\n%s", ok, err, diff)
			}
		})
	}
}

var (
	ann = attached.OwnerOf(&sallyport.Principal{Name: "ann"})
	bob = attached.OwnerOf(&sallyport.Principal{Name: "bob"})
)

func newShelf(t *testing.T) (*attached.Shelf, *attachments.Folder) {
	t.Helper()
	folder, err := attachments.New(&attachments.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Close() })
	return attached.NewShelf(folder), folder
}

func TestUploadsAreTheirOwners(t *testing.T) {
	s, folder := newShelf(t)
	a, err := s.KeepUpload(ann, "a.txt", strings.NewReader("mine"))
	if err != nil || a.Bytes != 4 || a.Kind != sallyport.KindFile {
		t.Fatalf("Keep = %+v, %v", a, err)
	}
	for _, owner := range []attached.Owner{bob, {}, attached.OwnerOf(&sallyport.Principal{Name: "ann", Delegation: "a"})} {
		if _, _, err := s.FindUpload(owner, a.Ref); err == nil || s.DropUpload(owner, a.Ref) {
			t.Errorf("%v has what ann brought", owner)
		}
	}
	found, release, err := s.FindUpload(ann, a.Ref)
	if err != nil || found != a {
		t.Fatalf("Find = %+v, %v", found, err)
	}
	if !s.DropUpload(ann, a.Ref) || s.DropUpload(ann, a.Ref) {
		t.Error("Drop tells not what it did")
	}
	if _, _, err := s.FindUpload(ann, a.Ref); err == nil {
		t.Error("a dropped file is found")
	}
	if data, err := s.LoadContent(t.Context(), a.Ref, 4); err != nil || string(data) != "mine" {
		t.Errorf("a call lost its file: %q, %v", data, err)
	}
	if _, err := s.LoadContent(t.Context(), a.Ref, 3); err == nil {
		t.Error("more was loaded than is allowed")
	}
	release()
	release()
	if _, err := folder.Open(t.Context(), a.Ref); err == nil {
		t.Error("the file is still there")
	}
}

func TestTheSameUploadIsKeptOnce(t *testing.T) {
	s, folder := newShelf(t)
	var ref string
	for range 100 {
		a, err := s.KeepUpload(ann, "a.txt", strings.NewReader("same"))
		if err != nil {
			t.Fatal(err)
		}
		ref = a.Ref
	}
	s.DropUpload(ann, ref)
	if _, err := folder.Open(t.Context(), ref); err == nil {
		t.Error("the file is still there")
	}
}

func TestAShelfIsBounded(t *testing.T) {
	s, _ := newShelf(t)
	var release func()
	for i := range 64 {
		_, r, err := s.TakeFile(ann, "a", strings.NewReader(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		release = r
	}
	if _, _, err := s.TakeFile(ann, "a", strings.NewReader("more")); err == nil {
		t.Error("ann has 65 files")
	}
	if _, _, err := s.TakeFile(bob, "a", strings.NewReader("his")); err != nil {
		t.Errorf("ann's files keep bob out: %v", err)
	}
	release()
	if _, _, err := s.TakeFile(ann, "a", strings.NewReader("more")); err != nil {
		t.Errorf("a place that was left is not free: %v", err)
	}
}

func TestSubAgentsShareThePlacesOfTheirPrincipal(t *testing.T) {
	s, _ := newShelf(t)
	for i := range 64 {
		owner := attached.OwnerOf(&sallyport.Principal{Name: "ann", Delegation: fmt.Sprint(i % 5)})
		if _, err := s.KeepUpload(owner, "a", strings.NewReader(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	for _, delegation := range []string{"", "1", "new"} {
		owner := attached.OwnerOf(&sallyport.Principal{Name: "ann", Delegation: delegation})
		if _, err := s.KeepUpload(owner, "a", strings.NewReader("more")); err == nil {
			t.Errorf("ann has 65 files, the last one as her sub-agent %q", delegation)
		}
	}
	if _, err := s.KeepUpload(bob, "a", strings.NewReader("his")); err != nil {
		t.Errorf("ann's files keep bob out: %v", err)
	}
}

func TestAShelfIsBoundedInBytes(t *testing.T) {
	s, _ := newShelf(t)
	var releases []func()
	for range 4 {
		_, r, err := s.TakeFile(ann, "a", io.LimitReader(zeros{}, 32<<20))
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, r)
	}
	if _, _, err := s.TakeFile(ann, "a", strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "too many files") {
		t.Errorf("ann has more than 128 MiB: %v", err)
	}
	releases[0]()
	if _, _, err := s.TakeFile(ann, "a", strings.NewReader("x")); err != nil {
		t.Errorf("room that was left is not free: %v", err)
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
