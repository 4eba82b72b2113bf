package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
)

// fakeFS is a file accessor over a folder: it anchors relative names there,
// refuses everything else, and remembers what was read by its content.
type fakeFS struct {
	root *os.Root
	base string
	// writeOnly refuses reads, dropWrites forgets writes.
	writeOnly, dropWrites bool

	mu    sync.Mutex
	reads map[string][sha256.Size]byte // nil switches the check off
}

func newFakeFS(t testing.TB) *fakeFS {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return &fakeFS{root: root, base: base, reads: map[string][sha256.Size]byte{}}
}

func (f *fakeFS) Abs(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(f.base, name)
}

// local maps a name to one below the folder or refuses it.
func (f *fakeFS) local(operation, name string) (string, error) {
	abs := f.Abs(name)
	rel, err := filepath.Rel(f.base, abs)
	if err != nil || !filepath.IsLocal(rel) || operation == "read" && f.writeOnly {
		return "", sallyport.PathError(operation, abs)
	}
	return rel, nil
}

// refused turns what os.Root says about an escape into a refusal.
func (f *fakeFS) refused(operation, name string, err error) error {
	if err != nil && strings.Contains(err.Error(), "escapes") {
		return sallyport.PathError(operation, f.Abs(name))
	}
	return err
}

func (f *fakeFS) Open(name string) (fs.File, error) {
	rel, err := f.local("read", name)
	if err != nil {
		return nil, err
	}
	file, err := f.root.Open(rel)
	if err != nil {
		return nil, f.refused("read", name, err)
	}
	return file, nil
}

func (f *fakeFS) ReadFile(name string) ([]byte, error) {
	rel, err := f.local("read", name)
	if err != nil {
		return nil, err
	}
	data, err := f.root.ReadFile(rel)
	if err != nil {
		return nil, f.refused("read", name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remember(rel, data)
	return data, nil
}

func (f *fakeFS) remember(rel string, data []byte) {
	if f.reads != nil {
		f.reads[rel] = sha256.Sum256(data)
	}
}

func (f *fakeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	rel, err := f.local("read", name)
	if err != nil {
		return nil, err
	}
	dir, err := f.root.Open(rel)
	if err != nil {
		return nil, f.refused("read", name, err)
	}
	defer func() { _ = dir.Close() }()
	return dir.ReadDir(-1)
}

func (f *fakeFS) Stat(name string) (fs.FileInfo, error) {
	rel, err := f.local("read", name)
	if err != nil {
		return nil, err
	}
	st, err := f.root.Stat(rel)
	return st, f.refused("read", name, err)
}

func (f *fakeFS) WriteFile(name string, data []byte) error {
	rel, err := f.local("write", name)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.store(rel, data)
}

// fresh is the stale-write check, under the lock.
func (f *fakeFS) fresh(rel string) error {
	seen, ok := f.reads[rel]
	if !ok {
		return nil
	}
	now, err := f.root.ReadFile(rel)
	if err != nil || sha256.Sum256(now) != seen {
		return &sallyport.Error{Code: sallyport.CodeStaleWrite, Detail: rel + " changed since it was read"}
	}
	return nil
}

// store writes under the lock.
func (f *fakeFS) store(rel string, data []byte) error {
	if err := f.fresh(rel); err != nil {
		return err
	}
	if f.dropWrites {
		return nil
	}
	if err := f.root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
		return err
	}
	f.remember(rel, data)
	return f.root.WriteFile(rel, data, 0o644)
}

func (f *fakeFS) UpdateFile(name string, edit func([]byte) ([]byte, error)) error {
	rel, err := f.local("write", name)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fresh(rel); err != nil {
		return err
	}
	old, err := f.root.ReadFile(rel)
	if err != nil {
		return f.refused("write", name, err)
	}
	data, err := edit(old)
	if err != nil {
		return err
	}
	return f.store(rel, data)
}

func (f *fakeFS) MkdirAll(name string) error {
	rel, err := f.local("write", name)
	if err != nil {
		return err
	}
	return f.root.MkdirAll(rel, 0o755)
}

// writeOutside writes files as another user would, outside the accessor.
func (f *fakeFS) writeOutside(t testing.TB, name, content string) {
	t.Helper()
	if err := f.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.root.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// get reads a file as another user would.
func (f *fakeFS) get(t testing.TB, name string) string {
	t.Helper()
	data, err := f.root.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (f *fakeFS) exists(name string) bool {
	_, err := f.root.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// fakeAttachments is the attachments of one turn by ref.
type fakeAttachments map[string]string

func (a fakeAttachments) List() []sallyport.Attachment {
	var list []sallyport.Attachment
	for _, ref := range slices.Sorted(maps.Keys(a)) {
		list = append(list, sallyport.Attachment{Ref: ref, Kind: sallyport.KindFile, Name: ref + ".txt"})
	}
	return list
}

func (a fakeAttachments) Open(_ context.Context, ref string) (io.ReadCloser, error) {
	content, ok := a[ref]
	if !ok {
		return nil, sallyport.Err("unknown attachment "+ref, sallyport.CodeInputInvalid).Err()
	}
	return io.NopCloser(bytes.NewReader([]byte(content))), nil
}

// newCall is a call in the folder of f.
func newCall(f *fakeFS) *sallyport.Call {
	return &sallyport.Call{
		Workspace: f.base, FS: f, Attachments: fakeAttachments{"att-0": "from the user\n"},
		Emit: func(sallyport.Progress) {}, ResultBudget: 80_000,
	}
}

// run calls a tool with arguments as JSON, as a gate would.
func run(t testing.TB, c *sallyport.Call, tool string, in map[string]any) sallyport.Result {
	t.Helper()
	return runCtx(t, t.Context(), c, tool, in)
}

func runCtx(t testing.TB, ctx context.Context, c *sallyport.Call, tool string, in map[string]any) sallyport.Result {
	t.Helper()
	for _, tl := range Tools() {
		if tl.Name == tool {
			return runToolCtx(t, ctx, tl, c, in)
		}
	}
	t.Fatalf("no tool %s", tool)
	return sallyport.Result{}
}

// runTool calls one tool, which keeps what it remembers between calls.
func runTool(t testing.TB, tool sallyport.Tool, c *sallyport.Call, in map[string]any) sallyport.Result {
	t.Helper()
	return runToolCtx(t, t.Context(), tool, c, in)
}

func runToolCtx(t testing.TB, ctx context.Context, tool sallyport.Tool, c *sallyport.Call, in map[string]any) sallyport.Result {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	call := *c
	call.Args, call.Tool = raw, tool.Name
	r, err := tool.Run(ctx, &call)
	if err != nil {
		return sallyport.ErrorResult(err)
	}
	return r
}
