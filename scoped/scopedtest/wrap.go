package scopedtest

import (
	"context"
	"io"
	"io/fs"
	"maps"
	"time"

	"github.com/sallyport/sallyport"
)

func (r *Record) wrapAccessors(c *sallyport.Call, o *Options) error {
	n, err := newImitatedNetwork(r, o)
	if err != nil {
		return err
	}
	c.Network = n
	c.FS = &recordedFiles{r, c.FS}
	c.Secrets = &recordedSecrets{r, c.Secrets}
	c.KV = &recordedKV{r, c.KV}
	c.Process = &recordedProcess{r, c.Process}
	c.Attachments = &recordedAttachments{r, c.Attachments}
	c.Databases = &recordedDatabases{r, c.Databases}
	c.Mail = &recordedMail{r, c.Mail}
	c.Input = &recordedInput{r, c.Input}
	return nil
}

type recordedFiles struct {
	record *Record
	fs     sallyport.FS
}

func (f *recordedFiles) recordRead(name string, err error) error {
	return f.record.recordTouch("fs_reach.read", f.record.itemOf(f.fs.Abs(name)), err)
}

func (f *recordedFiles) recordWrite(name string, err error) error {
	return f.record.recordTouch("fs_reach.write", f.record.itemOf(f.fs.Abs(name)), err)
}

func (f *recordedFiles) Open(name string) (fs.File, error) {
	file, err := f.fs.Open(name)
	return file, f.recordRead(name, err)
}

func (f *recordedFiles) ReadFile(name string) ([]byte, error) {
	data, err := f.fs.ReadFile(name)
	return data, f.recordRead(name, err)
}

func (f *recordedFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := f.fs.ReadDir(name)
	return list, f.recordRead(name, err)
}

func (f *recordedFiles) Stat(name string) (fs.FileInfo, error) {
	st, err := f.fs.Stat(name)
	return st, f.recordRead(name, err)
}

func (f *recordedFiles) WriteFile(name string, data []byte) error {
	return f.recordWrite(name, f.fs.WriteFile(name, data))
}

func (f *recordedFiles) UpdateFile(name string, edit func([]byte) ([]byte, error)) error {
	return f.recordWrite(name, f.fs.UpdateFile(name, edit))
}

func (f *recordedFiles) MkdirAll(name string) error { return f.recordWrite(name, f.fs.MkdirAll(name)) }

func (f *recordedFiles) Abs(name string) string { return f.fs.Abs(name) }

type recordedSecrets struct {
	record  *Record
	secrets sallyport.Secrets
}

func (s *recordedSecrets) Get(ctx context.Context, ref string) (sallyport.Secret, error) {
	value, err := s.secrets.Get(ctx, ref)
	return value, s.record.recordTouch("secrets", ref, err)
}

type recordedKV struct {
	record *Record
	kv     sallyport.KV
}

func (k *recordedKV) Get(ctx context.Context, key string) (string, bool, error) {
	value, ok, err := k.kv.Get(ctx, key)
	return value, ok, k.record.recordTouch("storage", key, err)
}

func (k *recordedKV) Set(ctx context.Context, key, value string, ttl time.Duration) error {
	return k.record.recordTouch("storage", key, k.kv.Set(ctx, key, value, ttl))
}

func (k *recordedKV) Delete(ctx context.Context, key string) error {
	return k.record.recordTouch("storage", key, k.kv.Delete(ctx, key))
}

func (k *recordedKV) List(ctx context.Context, prefix string) ([]string, error) {
	keys, err := k.kv.List(ctx, prefix)
	return keys, k.record.recordTouch("storage", prefix+"*", err)
}

type recordedProcess struct {
	record  *Record
	process sallyport.Process
}

func (p *recordedProcess) Spawn(
	ctx context.Context, binary string, args []string, o *sallyport.SpawnOptions,
) (sallyport.ProcessResult, error) {
	res, err := p.process.Spawn(ctx, binary, args, o)
	p.recordChild(o, &res, err)
	return res, p.record.recordTouch("process", binary, err)
}

// recordChild records what the child was played to have touched, so that a tool that
// works through its children has its declaration judged by what they do.
func (p *recordedProcess) recordChild(o *sallyport.SpawnOptions, res *sallyport.ProcessResult, err error) {
	r := p.record
	if o != nil && err == nil {
		for _, s := range o.Secrets {
			_ = r.recordTouch("secrets", s.Ref, nil)
		}
	}
	for _, h := range res.Touched.Hosts {
		var refused error
		if !h.Allowed {
			refused = sallyport.HostError(h.Host, h.Why)
		}
		_ = r.recordTouch("network", hostItem(h.Host, h.Port), refused)
	}
	for _, path := range res.Touched.Written {
		_ = r.recordTouch("fs_reach.write", r.itemOf(path), nil)
	}
}

func (p *recordedProcess) Start(
	ctx context.Context, binary string, args []string, o *sallyport.SpawnOptions,
) (sallyport.Child, error) {
	child, err := p.process.Start(ctx, binary, args, o)
	p.recordChild(o, &sallyport.ProcessResult{}, err)
	return child, p.record.recordTouch("process", binary, err)
}

type recordedAttachments struct {
	record      *Record
	attachments sallyport.Attachments
}

func (a *recordedAttachments) List() []sallyport.Attachment { return a.attachments.List() }

func (a *recordedAttachments) Open(ctx context.Context, ref string) (io.ReadCloser, error) {
	body, err := a.attachments.Open(ctx, ref)
	item := ref
	for _, at := range a.attachments.List() {
		if at.Ref == ref {
			item = string(at.Kind)
		}
	}
	return body, a.record.recordTouch("attachments", item, err)
}

type recordedDatabases struct {
	record    *Record
	databases sallyport.Databases
}

func (d *recordedDatabases) Query(ctx context.Context, connection, query string, args []any) (sallyport.Table, error) {
	table, err := d.databases.Query(ctx, connection, query, args)
	return table, d.record.recordTouch("database", connection, err)
}

type recordedMail struct {
	record *Record
	mail   sallyport.Mail
}

func (m *recordedMail) Send(ctx context.Context, msg sallyport.Message) error {
	err := m.mail.Send(ctx, msg)
	for _, to := range msg.To {
		_ = m.record.recordTouch("mail", to, err)
	}
	return err
}

type recordedInput struct {
	record *Record
	input  sallyport.Input
}

func (in *recordedInput) Can(kind sallyport.InputKind) bool { return in.input.Can(kind) }

func (in *recordedInput) Ask(ctx context.Context, questions ...sallyport.Question) ([]sallyport.Answer, error) {
	answers, err := in.input.Ask(ctx, questions...)
	for _, q := range questions {
		_ = in.record.recordTouch("input", string(q.Kind), err)
	}
	return answers, err
}

func (r *Record) newBackends(t TB, o *Options) *sallyport.Backends {
	kv := o.KV
	if kv == nil {
		kv = &KV{}
	}
	return &sallyport.Backends{
		Network:     &sallyport.NetworkBackend{},
		Files:       &sallyport.FileBackend{Home: t.TempDir(), Reads: &memoryReads{}},
		Secrets:     Secrets(maps.Clone(o.Secrets)),
		KV:          kv,
		Process:     &Runner{Play: o.Spawn, record: r},
		Databases:   &Databases{Play: o.Query, record: r},
		Mail:        &Outbox{record: r},
		Attachments: Attachments(maps.Clone(o.Contents)),
	}
}
