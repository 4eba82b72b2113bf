package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/attached"
	"github.com/sallyport/sallyport/internal/rawjson"
	"github.com/sallyport/sallyport/schema"
)

const (
	// filesMeta is the _meta key by which a client sends files along with a call.
	filesMeta = "sallyport/attachments"
	// inlineBytes bounds a kept file that becomes the value of an argument, so
	// that its text fits into arguments like what a client sends itself.
	inlineBytes = 6 << 20
)

// takenFiles is the files that a request brought. They are there until the
// request and every call that it began have released them. nil holds none.
type takenFiles struct {
	mu       sync.Mutex
	holders  int
	releases []func()
}

func (f *takenFiles) holdFiles() {
	if f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.holders++
	}
}

func (f *takenFiles) releaseFiles() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holders--; f.holders == 0 {
		for _, release := range f.releases {
			release()
		}
	}
}

// fileTaker takes over the files of one request.
type fileTaker struct {
	*takenFiles
	ctx    context.Context
	shelf  *attached.Shelf
	owner  attached.Owner
	caller *sallyport.Caller
	count  int
	// room is how many bytes the arguments may still grow by.
	room int
}

// errRoom means that files make arguments larger than a client may send them.
var errRoom = fmt.Errorf("with their files the arguments have more than %d bytes", schema.DefaultBytes)

// takeFiles takes over the files that a request brings: those of its _meta, and
// those that stand in the place of arguments that take files, which the request
// then has in their place in the form that the tool takes. Nothing is fetched. The
// error is for the client. The caller releases the files also after an error.
func (c *core) takeFiles(ctx context.Context, r *request, caller *sallyport.Caller, q *sallyport.Request) (*takenFiles, error) {
	brought := r.Meta.Value(filesMeta)
	var in []attached.Argument
	if r.Method == methodCallTool && bytes.Contains(q.Args, []byte(`"type"`)) {
		in = c.gate.FileArguments(caller, q.Tool)
	}
	if brought == nil && len(in) == 0 {
		return nil, nil
	}
	t := &fileTaker{
		takenFiles: &takenFiles{holders: 1}, ctx: ctx, shelf: c.o.Files,
		owner: attached.OwnerOf(&caller.Principal), caller: caller,
		room: schema.DefaultBytes - len(q.Args),
	}
	if err := t.takeList(brought); err != nil {
		return t.takenFiles, fmt.Errorf("_meta %s: %w", filesMeta, err)
	}
	if len(q.Args) == 0 || q.Args[0] != '{' {
		return t.takenFiles, nil // the gate refuses it
	}
	args, err := t.replaceArguments(q.Args, in)
	if err == nil {
		q.Args = args
	}
	return t.takenFiles, err
}

// takeList takes over a list of files, which may be absent.
func (t *fileTaker) takeList(list json.RawMessage) error {
	if list == nil {
		return nil
	}
	var all []json.RawMessage
	if list[0] != '[' || json.Unmarshal(list, &all) != nil {
		return errors.New("expected a list of content")
	}
	for i, one := range all {
		_, ok, err := t.takeFile(one, attached.FormRef)
		if !ok {
			err = errors.New("expected an embedded resource, or a link to one that is kept")
		}
		if err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
	}
	return nil
}

// takeFile takes over a file and returns what the tool gets in its place. ok is
// false for a value that is no file.
func (t *fileTaker) takeFile(value json.RawMessage, form attached.Form) (in string, ok bool, err error) {
	content, ok, err := attached.ReadContent(value)
	if !ok || err != nil {
		return "", ok, err
	}
	if t.count++; t.count > attached.MaxFiles {
		return "", true, fmt.Errorf("more than %d files", attached.MaxFiles)
	}
	if t.shelf == nil {
		return "", true, errors.New("this server takes no files")
	}
	if content.Ref == "" && form != attached.FormRef {
		in, err = form.InlineText(content.Data)
		return in, true, err
	}
	a, release, err := t.findFile(&content)
	if err != nil {
		return "", true, err
	}
	t.releases = append(t.releases, release)
	if form == attached.FormRef {
		t.caller.Attachments = append(t.caller.Attachments, a)
		return a.Ref, true, nil
	}
	if size := form.InlineSize(a.Bytes); size > int64(t.room) {
		return "", true, errRoom
	}
	data, err := t.shelf.LoadContent(t.ctx, a.Ref, inlineBytes)
	if err == nil {
		in, err = form.InlineText(data)
	}
	return in, true, err
}

// appendFile writes what a tool gets in the place of a value of so many bytes, when the
// arguments have room for it.
func (t *fileTaker) appendFile(out []byte, in string, stood int) ([]byte, error) {
	if t.room += stood - rawjson.TextLen(in); t.room < 0 {
		return nil, errRoom
	}
	return rawjson.AppendText(out, in), nil
}

// findFile finds a file that is kept, or keeps one for this call.
func (t *fileTaker) findFile(content *attached.Content) (sallyport.Attachment, func(), error) {
	if content.Ref != "" {
		return t.shelf.FindUpload(t.owner, content.Ref)
	}
	return t.shelf.TakeFile(t.owner, content.Name, bytes.NewReader(content.Data))
}

// replaceArguments returns an object of arguments with what the tool gets in the
// place of files. Everything else stays as it was sent.
func (t *fileTaker) replaceArguments(args json.RawMessage, in []attached.Argument) (json.RawMessage, error) {
	if err := checkRepeats(args, in); err != nil {
		return nil, err
	}
	out := []byte{'{'}
	for rest := rawjson.Blank(args[1:]); rest[0] != '}'; {
		key, value, after, err := rawjson.Next(rest)
		if err != nil {
			return nil, err
		}
		rest = after
		for i := range in {
			if in[i].Name != string(key) {
				continue
			}
			if value, err = t.replaceValue(value, &in[i]); err != nil {
				return nil, fmt.Errorf("the argument %s: %w", strconv.Quote(in[i].Name), err)
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(rawjson.AppendText(out, string(key)), ':'), value...)
	}
	return append(out, '}'), nil
}

// checkRepeats refuses arguments with two values for one that takes files.
func checkRepeats(args json.RawMessage, in []attached.Argument) error {
	seen := make([]bool, len(in))
	for rest := rawjson.Blank(args[1:]); rest[0] != '}'; {
		key, _, after, err := rawjson.Next(rest)
		if err != nil {
			return err
		}
		rest = after
		i := slices.IndexFunc(in, func(a attached.Argument) bool { return a.Name == string(key) })
		if i < 0 {
			continue
		}
		if seen[i] {
			return fmt.Errorf("the argument %s comes twice", strconv.Quote(in[i].Name))
		}
		seen[i] = true
	}
	return nil
}

func (t *fileTaker) replaceValue(value json.RawMessage, a *attached.Argument) (json.RawMessage, error) {
	if !a.List {
		text, ok, err := t.takeFile(value, a.Form)
		if !ok || err != nil {
			return value, err
		}
		return t.appendFile(nil, text, len(value))
	}
	var all []json.RawMessage
	if value[0] != '[' || json.Unmarshal(value, &all) != nil {
		return value, nil // the gate refuses it
	}
	out := []byte{'['}
	for i, one := range all {
		text, ok, err := t.takeFile(one, a.Form)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", i, err)
		}
		if i > 0 {
			out = append(out, ',')
		}
		if !ok {
			out = append(out, one...)
		} else if out, err = t.appendFile(out, text, len(one)); err != nil {
			return nil, fmt.Errorf("%d: %w", i, err)
		}
	}
	return append(out, ']'), nil
}
