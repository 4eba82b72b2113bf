package scoped

import (
	"context"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

// The refusing accessors are one pointer wide, so that an interface holds them
// without an allocation: a tool that touches nothing pays nothing.

type refusedNetwork struct{ note func(sallyport.Decision) }

// Client returns a client that refuses every host. It is a fresh one each
// time: a tool may set fields of its client, and a shared one would carry them
// into other calls.
func (n refusedNetwork) Client() *http.Client {
	return &http.Client{Transport: refusedTransport(n)}
}

// DialContext refuses the host of the address.
func (n refusedNetwork) DialContext(_ context.Context, _, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return nil, n.refuseHost(host)
}

func (n refusedNetwork) refuseHost(host string) error {
	if canonical, err := reach.CanonicalHost(host); err == nil {
		host = canonical
	}
	sendDecision(n.note, newRefusal(group.Network, host))
	return sallyport.HostError(host, "")
}

type refusedTransport refusedNetwork

// RoundTrip refuses the host of the request. It closes the body, as every
// http.RoundTripper has to.
func (t refusedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return nil, refusedNetwork(t).refuseHost(r.URL.Hostname())
}

// pathRefuser refuses an absolute path and knows where names are anchored.
type pathRefuser interface {
	refusePath(operation, path string) error
	workspaceDir() string
}

// undeclaredPath refuses for a tool that declares no files. It reports no
// decision, because one pointer has room for the call or for the reporter, and
// Abs needs the call; the error is in the record as the result of the call.
type undeclaredPath struct{ c *sallyport.Call }

func (p undeclaredPath) refusePath(operation, path string) error {
	return sallyport.PathError(operation, path)
}

func (p undeclaredPath) workspaceDir() string { return p.c.Workspace }

// droppedPath refuses for a tool that declared files and was granted none.
type droppedPath struct {
	b      *Binding
	folder string
}

func (p *droppedPath) refusePath(operation, path string) error {
	p.b.recordRefusal(group.Files+"."+operation, path, matchesAnything)
	return sallyport.PathError(operation, path)
}

func (p *droppedPath) workspaceDir() string { return p.folder }

type refusedFS[R pathRefuser] struct{ r R }

func (f refusedFS[R]) Open(name string) (fs.File, error) { return nil, f.Probe("read", name) }

func (f refusedFS[R]) ReadFile(name string) ([]byte, error) { return nil, f.Probe("read", name) }

func (f refusedFS[R]) ReadDir(name string) ([]fs.DirEntry, error) { return nil, f.Probe("read", name) }

func (f refusedFS[R]) Stat(name string) (fs.FileInfo, error) { return nil, f.Probe("read", name) }
func (f refusedFS[R]) WriteFile(name string, _ []byte) error { return f.Probe("write", name) }
func (f refusedFS[R]) MkdirAll(name string) error            { return f.Probe("write", name) }

func (f refusedFS[R]) UpdateFile(name string, _ func([]byte) ([]byte, error)) error {
	return f.Probe("write", name)
}

// Probe refuses, as the other methods do, without a file to be refused: it
// answers those who explain a grant.
func (f refusedFS[R]) Probe(operation, name string) error {
	return f.r.refusePath(operation, f.Abs(name))
}

// Abs returns the absolute form of a name, which stays relative when there is
// no workspace to anchor it.
func (f refusedFS[R]) Abs(name string) string {
	if folder := f.r.workspaceDir(); folder != "" && !filepath.IsAbs(name) {
		return filepath.Join(folder, name)
	}
	return filepath.Clean(name)
}

type refusedSecrets struct{ note func(sallyport.Decision) }

func (s refusedSecrets) Get(_ context.Context, ref string) (sallyport.Secret, error) {
	return sallyport.Secret{}, s.refuseRef(ref)
}

func (s refusedSecrets) refuseRef(ref string) error {
	sendDecision(s.note, newRefusal(group.Secrets, ref))
	return sallyport.SecretError(ref)
}

type refusedProcess struct{ note func(sallyport.Decision) }

func (p refusedProcess) Spawn(
	_ context.Context, binary string, _ []string, _ *sallyport.SpawnOptions,
) (sallyport.ProcessResult, error) {
	return sallyport.ProcessResult{}, p.refuseBinary(binary)
}

func (p refusedProcess) Start(
	_ context.Context, binary string, _ []string, _ *sallyport.SpawnOptions,
) (sallyport.Child, error) {
	return nil, p.refuseBinary(binary)
}

func (p refusedProcess) refuseBinary(binary string) error {
	sendDecision(p.note, newRefusal(group.Process, binary))
	return sallyport.BinaryError(binary, "")
}

type refusedKV struct{ note func(sallyport.Decision) }

func (k refusedKV) refuseKey() error {
	sendDecision(k.note, newRefusal(group.Storage, ""))
	return notAvailable("", "the tool declares no storage")
}

func (k refusedKV) Get(context.Context, string) (string, bool, error) {
	return "", false, k.refuseKey()
}

func (k refusedKV) Set(context.Context, string, string, time.Duration) error { return k.refuseKey() }

func (k refusedKV) Delete(context.Context, string) error { return k.refuseKey() }

func (k refusedKV) List(context.Context, string) ([]string, error) { return nil, k.refuseKey() }

type refusedAttachments struct{ note func(sallyport.Decision) }

// List returns nothing: a tool that declares no kinds sees no attachments.
func (refusedAttachments) List() []sallyport.Attachment { return nil }

func (a refusedAttachments) Open(_ context.Context, ref string) (io.ReadCloser, error) {
	sendDecision(a.note, newRefusal(group.Attachments, ref))
	return nil, notAvailable(ref, "the tool declares no attachments")
}

type refusedDatabases struct{ note func(sallyport.Decision) }

func (d refusedDatabases) Query(_ context.Context, connection, _ string, _ []any) (sallyport.Table, error) {
	return sallyport.Table{}, d.refuseConnection(connection)
}

func (d refusedDatabases) refuseConnection(connection string) error {
	sendDecision(d.note, newRefusal(group.Database, connection))
	return notAvailable(connection, "the tool declares no database")
}

type refusedMail struct{ note func(sallyport.Decision) }

func (m refusedMail) Send(context.Context, sallyport.Message) error { return m.refuseMessage() }

func (m refusedMail) refuseMessage() error {
	sendDecision(m.note, newRefusal(group.Mail, ""))
	return notAvailable("", "the tool declares no mail")
}

type refusedInput struct{ note func(sallyport.Decision) }

// Can reports false: a tool that declares nothing may ask no questions.
func (refusedInput) Can(sallyport.InputKind) bool { return false }

func (in refusedInput) Ask(context.Context, ...sallyport.Question) ([]sallyport.Answer, error) {
	sendDecision(in.note, newRefusal(group.Input, ""))
	return nil, notAvailable("", "the tool declares no input")
}
