package guest

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/plugin/wire"
)

// bindAccessors gives a call the accessors that ask the host.
func bindAccessors(h host, c *sallyport.Call) {
	c.FS, c.Network, c.Secrets, c.KV, c.Attachments = files{h}, network{h}, secrets{h}, store{h}, attachments{h}
}

// network is the way to hosts.
type network struct{ h host }

// Client returns a client whose requests the host sends. The host follows redirects.
func (n network) Client() *http.Client { return &http.Client{Transport: n} }

// RoundTrip hands a request to the host.
func (n network) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	w := wire.Request{Method: req.Method, URL: req.URL.String(), Header: req.Header}
	if req.Host != "" && req.Host != req.URL.Host {
		return nil, sallyport.InputInvalid("a plugin cannot name another host than that of the URL")
	}
	r, content, err := readAnswer[wire.Response](n.h, wire.FuncHTTP, w, body)
	if err != nil {
		return nil, err
	}
	last := req.Clone(req.Context())
	if u, err := url.Parse(r.URL); err == nil {
		last.URL = u
	}
	return &http.Response{
		Status: http.StatusText(r.Status), StatusCode: r.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header(r.Header), Body: io.NopCloser(bytes.NewReader(content)), ContentLength: int64(len(content)), Request: last,
	}, nil
}

// DialContext refuses: a plugin has the HTTP client only.
func (network) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, newUnavailable("raw connections")
}

// newUnavailable is the error of what no plugin gets.
func newUnavailable(what string) error {
	return &sallyport.Error{Code: sallyport.CodeNotAvailable, Detail: "A plugin has no " + what}
}

type secrets struct{ h host }

// Get returns a secret of the grant.
func (s secrets) Get(_ context.Context, ref string) (sallyport.Secret, error) {
	value, _, err := readAnswer[string](s.h, wire.FuncSecret, wire.Name{Name: ref}, nil)
	return sallyport.NewSecret(value), err
}

// store is the key-value store of the declared scope.
type store struct{ h host }

func (s store) Get(_ context.Context, key string) (string, bool, error) {
	e, _, err := readAnswer[wire.Entry](s.h, wire.FuncGet, wire.Name{Name: key}, nil)
	return e.Value, e.Found, err
}

func (s store) Set(_ context.Context, key, value string, ttl time.Duration) error {
	ms := ttl.Milliseconds()
	if ms == 0 && ttl > 0 {
		ms = 1 // 0 means the declared lifetime
	}
	_, _, err := s.h.askHost(wire.FuncSet, wire.Entry{Name: key, Value: value, TTL: ms}, nil)
	return err
}

func (s store) Delete(_ context.Context, key string) error {
	_, _, err := s.h.askHost(wire.FuncDelete, wire.Name{Name: key}, nil)
	return err
}

func (s store) List(_ context.Context, prefix string) ([]string, error) {
	keys, _, err := readAnswer[[]string](s.h, wire.FuncKeys, wire.Name{Name: prefix}, nil)
	return keys, err
}

type attachments struct{ h host }

func (a attachments) List() []sallyport.Attachment {
	list, _, err := readAnswer[[]sallyport.Attachment](a.h, wire.FuncAttachments, struct{}{}, nil)
	if err != nil {
		return nil
	}
	return list
}

func (a attachments) Open(_ context.Context, ref string) (io.ReadCloser, error) {
	_, content, err := a.h.askHost(wire.FuncAttachment, wire.Name{Name: ref}, nil)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// files is the way to files.
type files struct{ h host }

func (f files) Abs(name string) string {
	abs, _, err := readAnswer[string](f.h, wire.FuncAbs, wire.File{Name: name}, nil)
	if err != nil {
		return name
	}
	return abs
}

func (f files) ReadFile(name string) ([]byte, error) {
	_, content, err := f.h.askHost(wire.FuncReadFile, wire.File{Name: name}, nil)
	return content, err
}

func (f files) Stat(name string) (fs.FileInfo, error) {
	info, _, err := readAnswer[wire.FileInfo](f.h, wire.FuncStat, wire.File{Name: name}, nil)
	if err != nil {
		return nil, err
	}
	return fileInfo{info}, nil
}

func (f files) ReadDir(name string) ([]fs.DirEntry, error) {
	list, _, err := readAnswer[[]wire.FileInfo](f.h, wire.FuncList, wire.File{Name: name}, nil)
	entries := make([]fs.DirEntry, 0, len(list))
	for _, one := range list {
		entries = append(entries, fileInfo{one})
	}
	return entries, err
}

func (f files) WriteFile(name string, data []byte) error {
	_, _, err := f.h.askHost(wire.FuncWriteFile, wire.File{Name: name}, data)
	return err
}

func (f files) MkdirAll(name string) error {
	_, _, err := f.h.askHost(wire.FuncMakeDir, wire.File{Name: name}, nil)
	return err
}

func (f files) UpdateFile(name string, edit func(old []byte) ([]byte, error)) error {
	_, old, err := f.h.askHost(wire.FuncUpdate, wire.File{Name: name}, nil)
	if err != nil {
		return err
	}
	content, failed := edit(old)
	_, _, err = f.h.askHost(wire.FuncCommit, wire.Commit{Keep: failed == nil}, content)
	if failed != nil {
		return failed
	}
	return err
}

// Open reads a file whole, or a folder.
func (f files) Open(name string) (fs.File, error) {
	info, err := f.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		entries, err := f.ReadDir(name)
		return &openFolder{info: info, entries: entries}, err
	}
	content, err := f.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &openFile{Reader: bytes.NewReader(content), info: info}, nil
}
