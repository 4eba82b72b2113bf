package clients

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/jsonc"
)

// Connect returns the text with the entry of this program among the servers;
// entry is JSON. A text that has it as it is comes back unchanged.
func (f *File) Connect(entry []byte) ([]byte, error) {
	if f.Client.TOML {
		return f.putTable(entry, nil)
	}
	e := jsonc.Entry{Name: Own, JSON: entry}
	if f.root == nil {
		if len(bytes.TrimSpace(f.Text)) > 0 {
			return nil, fmt.Errorf("%s: holds nothing but a mark: remove the file", f.Path)
		}
		return f.checkEdited(jsonc.Replace([]byte("{}\n"), &jsonc.Value{End: 2}, []jsonc.Entry{f.wrapServers(e)}))
	}
	object := f.root.Get(f.Client.Key)
	if object == nil {
		return f.checkEdited(jsonc.Add(f.Text, f.root, f.wrapServers(e)))
	}
	return f.checkEdited(f.insertEntry(f.Text, object, e))
}

// insertEntry adds an entry to an object, or replaces the one of that name.
func (f *File) insertEntry(text []byte, object *jsonc.Value, e jsonc.Entry) []byte {
	old := object.Get(e.Name)
	if old == nil {
		return jsonc.Add(text, object, e)
	}
	if sameJSON(text[old.Start:old.End], e.JSON) {
		return text
	}
	return jsonc.Exchange(text, object, nil, e)
}

// sameJSON reports whether two texts are the same JSON but for space.
func sameJSON(a, b []byte) bool {
	va, errA := jsonc.Parse(a, &jsonc.Options{Comments: true})
	vb, errB := jsonc.Parse(b, nil)
	return errA == nil && errB == nil && jsonc.Equal(va, vb)
}

// wrapServers returns an entry under the key of the client.
func (f *File) wrapServers(e jsonc.Entry) jsonc.Entry {
	return jsonc.Entry{Name: f.Client.Key, JSON: slices.Concat([]byte(`{"`+e.Name+`":`), e.JSON, []byte("}"))}
}

// Rewrite returns the text in which the entry of this program stands for the
// servers that were taken, wherever one of them was. Every other server stays as
// it is.
func (f *File) Rewrite(entry []byte, taken func(Server) bool) ([]byte, error) {
	if f.Client.TOML {
		return f.rewriteTables(entry, taken)
	}
	text := f.Text
	// From behind, so that what is yet to come stays where it is.
	for _, s := range slices.Backward(f.byPlace()) {
		if !slices.ContainsFunc(s.Servers, taken) {
			continue
		}
		var names []string
		for _, server := range s.Servers {
			if taken(server) {
				names = append(names, server.Name)
			}
		}
		text = jsonc.Exchange(text, s.object, names, jsonc.Entry{Name: Own, JSON: entry})
	}
	return f.checkEdited(text)
}

// byPlace lists the sections in the order of the text.
func (f *File) byPlace() []Section {
	list := slices.Clone(f.Sections)
	slices.SortFunc(list, func(a, b Section) int { return a.object.Start - b.object.Start })
	return list
}

// checkEdited reads an edited text back: what cannot be read is never written.
func (f *File) checkEdited(text []byte) ([]byte, error) {
	if _, err := jsonc.Parse(text, &jsonc.Options{Comments: f.Client.Comments}); err != nil {
		return nil, fmt.Errorf("%s: the edited text cannot be read: %w", f.Path, err)
	}
	return text, nil
}

// ErrChanged is the error of [File.Restore] for servers that are not those
// which were written.
var ErrChanged = errors.New("its servers were changed since")

// Restore returns the text with the servers of a copy that was made before
// [File.Rewrite], and with everything else as it is now. The error is
// ErrChanged when that would lose a server.
func (f *File) Restore(copied *File) ([]byte, error) {
	if f.Client.TOML {
		return f.restoreTables(copied)
	}
	text := f.Text
	for _, s := range slices.Backward(f.byPlace()) {
		i := slices.IndexFunc(copied.Sections, func(old Section) bool { return slices.Equal(old.Path, s.Path) })
		if i < 0 {
			if len(s.Servers) > 0 || s.Connected {
				return nil, fmt.Errorf("%w: the copy has no %s", ErrChanged, strings.Join(s.Path, "."))
			}
			continue
		}
		old := copied.Sections[i]
		before := copied.Text[old.object.Start:old.object.End]
		if bytes.Equal(before, f.Text[s.object.Start:s.object.End]) {
			continue
		}
		if err := f.checkRewritten(&s, copied, &old); err != nil {
			return nil, err
		}
		text = slices.Concat(text[:s.object.Start], before, text[s.object.End:])
	}
	return f.checkEdited(text)
}

// checkRewritten refuses a section that is not what Rewrite made of the one
// before.
func (f *File) checkRewritten(s *Section, copied *File, old *Section) error {
	if !s.Connected {
		return fmt.Errorf("%w: the entry %s is gone", ErrChanged, Own)
	}
	for _, server := range s.Servers {
		now, was := s.object.Get(server.Name), old.object.Get(server.Name)
		if was == nil || f.Client.TOML && !jsonc.Equal(now, was) || !f.Client.TOML && !bytes.Equal(f.Text[now.Start:now.End], copied.Text[was.Start:was.End]) {
			return fmt.Errorf("%w: %q at %s", ErrChanged, server.Name, server.At)
		}
	}
	return nil
}
