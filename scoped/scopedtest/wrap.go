package scopedtest

import (
	"context"
	"io"
	"io/fs"
	"time"

	"github.com/sallyport/sallyport"
)

// wrap puts a recorder around each accessor of a call.
func (r *Record) wrap(c *sallyport.Call, o *Options) error {
	n, err := newNetwork(r, o)
	if err != nil {
		return err
	}
	c.Network = n
	c.FS = &files{r, c.FS}
	c.Secrets = &secrets{r, c.Secrets}
	c.KV = &kv{r, c.KV}
	c.Process = &process{r, c.Process}
	c.Attachments = &attachments{r, c.Attachments}
	c.Databases = &databases{r, c.Databases}
	c.Mail = &mailer{r, c.Mail}
	c.Input = &input{r, c.Input}
	return nil
}

type files struct {
	record *Record
	fs     sallyport.FS
}

func (f *files) read(name string, err error) error {
	return f.record.touch("fs_reach.read", f.record.item(f.fs.Abs(name)), err)
}

func (f *files) write(name string, err error) error {
	return f.record.touch("fs_reach.write", f.record.item(f.fs.Abs(name)), err)
}

func (f *files) Open(name string) (fs.File, error) {
	file, err := f.fs.Open(name)
	return file, f.read(name, err)
}

func (f *files) ReadFile(name string) ([]byte, error) {
	data, err := f.fs.ReadFile(name)
	return data, f.read(name, err)
}

func (f *files) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := f.fs.ReadDir(name)
	return list, f.read(name, err)
}

func (f *files) Stat(name string) (fs.FileInfo, error) {
	st, err := f.fs.Stat(name)
	return st, f.read(name, err)
}

func (f *files) WriteFile(name string, data []byte) error {
	return f.write(name, f.fs.WriteFile(name, data))
}

func (f *files) UpdateFile(name string, edit func([]byte) ([]byte, error)) error {
	return f.write(name, f.fs.UpdateFile(name, edit))
}

func (f *files) MkdirAll(name string) error { return f.write(name, f.fs.MkdirAll(name)) }

func (f *files) Abs(name string) string { return f.fs.Abs(name) }

type secrets struct {
	record  *Record
	secrets sallyport.Secrets
}

func (s *secrets) Get(ctx context.Context, ref string) (sallyport.Secret, error) {
	value, err := s.secrets.Get(ctx, ref)
	return value, s.record.touch("secrets", ref, err)
}

type kv struct {
	record *Record
	kv     sallyport.KV
}

func (k *kv) Get(ctx context.Context, key string) (string, bool, error) {
	value, ok, err := k.kv.Get(ctx, key)
	return value, ok, k.record.touch("storage", key, err)
}

func (k *kv) Set(ctx context.Context, key, value string, ttl time.Duration) error {
	return k.record.touch("storage", key, k.kv.Set(ctx, key, value, ttl))
}

func (k *kv) Delete(ctx context.Context, key string) error {
	return k.record.touch("storage", key, k.kv.Delete(ctx, key))
}

func (k *kv) List(ctx context.Context, prefix string) ([]string, error) {
	keys, err := k.kv.List(ctx, prefix)
	return keys, k.record.touch("storage", prefix+"*", err)
}

type process struct {
	record  *Record
	process sallyport.Process
}

func (p *process) Spawn(
	ctx context.Context, binary string, args []string, o *sallyport.SpawnOptions,
) (sallyport.ProcessResult, error) {
	res, err := p.process.Spawn(ctx, binary, args, o)
	p.used(o, &res, err)
	return res, p.record.touch("process", binary, err)
}

// used records what the child was played to have touched, so that a tool that
// works through its children has its declaration judged by what they do.
func (p *process) used(o *sallyport.SpawnOptions, res *sallyport.ProcessResult, err error) {
	r := p.record
	if o != nil && err == nil {
		for _, s := range o.Secrets {
			_ = r.touch("secrets", s.Ref, nil)
		}
	}
	for _, h := range res.Touched.Hosts {
		var refused error
		if !h.Allowed {
			refused = sallyport.HostError(h.Host, h.Why)
		}
		_ = r.touch("network", hostItem(h.Host, h.Port), refused)
	}
	for _, path := range res.Touched.Written {
		_ = r.touch("fs_reach.write", r.item(path), nil)
	}
}

func (p *process) Start(
	ctx context.Context, binary string, args []string, o *sallyport.SpawnOptions,
) (sallyport.Child, error) {
	child, err := p.process.Start(ctx, binary, args, o)
	p.used(o, &sallyport.ProcessResult{}, err)
	return child, p.record.touch("process", binary, err)
}

type attachments struct {
	record      *Record
	attachments sallyport.Attachments
}

func (a *attachments) List() []sallyport.Attachment { return a.attachments.List() }

func (a *attachments) Open(ctx context.Context, ref string) (io.ReadCloser, error) {
	body, err := a.attachments.Open(ctx, ref)
	item := ref
	for _, at := range a.attachments.List() {
		if at.Ref == ref {
			item = string(at.Kind)
		}
	}
	return body, a.record.touch("attachments", item, err)
}

type databases struct {
	record    *Record
	databases sallyport.Databases
}

func (d *databases) Query(ctx context.Context, connection, query string, args []any) (sallyport.Table, error) {
	table, err := d.databases.Query(ctx, connection, query, args)
	return table, d.record.touch("database", connection, err)
}

type mailer struct {
	record *Record
	mail   sallyport.Mail
}

func (m *mailer) Send(ctx context.Context, msg sallyport.Message) error {
	err := m.mail.Send(ctx, msg)
	for _, to := range msg.To {
		_ = m.record.touch("mail", to, err)
	}
	return err
}

type input struct {
	record *Record
	input  sallyport.Input
}

func (in *input) Can(kind sallyport.InputKind) bool { return in.input.Can(kind) }

func (in *input) Ask(ctx context.Context, questions ...sallyport.Question) ([]sallyport.Answer, error) {
	answers, err := in.input.Ask(ctx, questions...)
	for _, q := range questions {
		_ = in.record.touch("input", string(q.Kind), err)
	}
	return answers, err
}
