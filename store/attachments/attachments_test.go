package attachments

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
)

func newFolder(t *testing.T, o *Options) *Folder {
	t.Helper()
	d, err := New(o)
	if err != nil {
		t.Fatalf("New = %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return d
}

func addText(t *testing.T, d *Folder, text string) sallyport.Attachment {
	t.Helper()
	a, err := d.Add("a.txt", strings.NewReader(text))
	if err != nil {
		t.Fatalf("Add = %v", err)
	}
	return a
}

// wantContent checks what a ref opens.
func wantContent(t *testing.T, d *Folder, ref, want string) {
	t.Helper()
	r, err := d.Open(t.Context(), ref)
	if err != nil {
		t.Fatalf("Open(%s) = %v", ref, err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); string(got) != want || err != nil {
		t.Errorf("Open(%s) holds %q, %v, want %q", ref, got, err, want)
	}
}

func wantNone(t *testing.T, d *Folder, ref string) {
	t.Helper()
	if r, err := d.Open(t.Context(), ref); err == nil {
		r.Close()
		t.Errorf("Open(%q) = no error, want one", ref)
	}
}

func TestAddDetectsTheKind(t *testing.T) {
	d := newFolder(t, nil)
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"
	for _, tt := range []struct {
		name, content, mediaType string
		kind                     sallyport.AttachmentKind
	}{
		{"photo.txt", png, "image/png", sallyport.KindImage},
		{"photo.png", "plain words", "text/plain; charset=utf-8", sallyport.KindFile},
		{"empty", "", "text/plain; charset=utf-8", sallyport.KindFile},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, release, err := d.AddUpload(t.Context(), tt.name, sallyport.KindImage, strings.NewReader(tt.content))
			if err != nil {
				t.Fatalf("AddUpload = %v", err)
			}
			if a.Name != tt.name || a.Kind != tt.kind || a.MediaType != tt.mediaType || a.Bytes != int64(len(tt.content)) {
				t.Errorf("AddUpload = %+v, want %s of type %s with %d bytes", a, tt.kind, tt.mediaType, len(tt.content))
			}
			wantContent(t, d, a.Ref, tt.content)
			release()
			wantNone(t, d, a.Ref)
			release()
		})
	}
}

func TestAddRefusesMoreThanTheBound(t *testing.T) {
	base := t.TempDir()
	d := newFolder(t, &Options{Dir: base, MaxBytes: 10})
	wantContent(t, d, addText(t, d, "0123456789").Ref, "0123456789")
	if _, err := d.Add("b", strings.NewReader("0123456789a")); err == nil || !strings.Contains(err.Error(), "more than 10 bytes") {
		t.Errorf("Add of 11 bytes = %v, want the bound", err)
	}
	if n := countFiles(t, base); n != 1 {
		t.Errorf("%d files are stored, want the one within the bound", n)
	}
	if _, err := New(&Options{MaxBytes: -1}); err == nil {
		t.Error("New with a negative bound = no error, want one")
	}
}

// countFiles counts the attachments below a folder.
func countFiles(t *testing.T, base string) (n int) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(base, "*", "*", "att-*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// TestOpenTakesNoPath checks that a ref never becomes a path, even for a file
// that is there.
func TestOpenTakesNoPath(t *testing.T) {
	d := newFolder(t, nil)
	a := addText(t, d, "mine")
	path := filepath.Join(d.dir, a.Ref)
	for _, ref := range []string{"", ".", "..", path, "./" + a.Ref, "../" + filepath.Base(d.dir) + "/" + a.Ref, "att-"} {
		wantNone(t, d, ref)
	}
	d.Remove("../" + filepath.Base(d.dir) + "/" + a.Ref)
	wantContent(t, d, a.Ref, "mine")
}

func TestFilesArePrivate(t *testing.T) {
	d := newFolder(t, nil)
	a := addText(t, d, "mine")
	for path, want := range map[string]os.FileMode{d.dir: 0o700, filepath.Join(d.dir, a.Ref): 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v, want %v", path, st.Mode().Perm(), err, want)
		}
	}
}

func TestAddFileCopies(t *testing.T) {
	d := newFolder(t, nil)
	path := filepath.Join(t.TempDir(), "report.txt")
	if err := os.WriteFile(path, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := d.AddFile(path)
	if err != nil || a.Name != "report.txt" {
		t.Fatalf("AddFile = %+v, %v, want the name of the file", a, err)
	}
	if err := os.WriteFile(path, []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantContent(t, d, a.Ref, "first")
	for _, other := range []string{filepath.Dir(path), filepath.Join(filepath.Dir(path), "missing")} {
		if _, err := d.AddFile(other); err == nil {
			t.Errorf("AddFile(%s) = no error, want one", other)
		}
	}
}

func TestCloseRemovesEverything(t *testing.T) {
	base := t.TempDir()
	d := newFolder(t, &Options{Dir: base})
	a := addText(t, d, "mine")
	for range 2 {
		if err := d.Close(); err != nil {
			t.Fatalf("Close = %v", err)
		}
	}
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("Close left %v, %v, want nothing", left, err)
	}
	wantNone(t, d, a.Ref)
	if _, err := d.Add("b", strings.NewReader("late")); err == nil {
		t.Error("Add after Close = no error, want one")
	}
}

// TestConcurrent adds, opens and removes while the store is closed: each call
// works or fails, and nothing stays.
func TestConcurrent(t *testing.T) {
	base := t.TempDir()
	d := newFolder(t, &Options{Dir: base})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			content := bytes.Repeat([]byte{byte('a' + i)}, 1000)
			for range 20 {
				a, err := d.Add(fmt.Sprint(i), bytes.NewReader(content))
				if err != nil {
					return
				}
				if r, err := d.Open(t.Context(), a.Ref); err == nil {
					if got, err := io.ReadAll(r); !bytes.Equal(got, content) || err != nil {
						t.Errorf("ref of %d holds %.8q, %v, want its own content", i, got, err)
					}
					r.Close()
				}
				d.Remove(a.Ref)
			}
		})
	}
	if err := d.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	wg.Wait()
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("Close left %v, %v, want nothing", left, err)
	}
}

func TestARefIsThatOfItsContent(t *testing.T) {
	d := newFolder(t, nil)
	first, second, other := addText(t, d, "same"), addText(t, d, "same"), addText(t, d, "other")
	if first.Ref != second.Ref || first.Ref == other.Ref {
		t.Fatalf("refs %q, %q of one content and %q of another", first.Ref, second.Ref, other.Ref)
	}
	if want := "att-0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5"; first.Ref != want {
		t.Errorf("ref %q, want %q", first.Ref, want)
	}
	if files, err := os.ReadDir(d.dir); err != nil || len(files) != 2 {
		t.Errorf("%d files are kept (%v), want 2", len(files), err)
	}
	d.Remove(first.Ref)
	wantContent(t, d, second.Ref, "same")
	d.Remove(second.Ref)
	wantNone(t, d, first.Ref)
	wantContent(t, d, other.Ref, "other")
}
