package clients

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sallyport/sallyport/internal/jsonc"
	"github.com/sallyport/sallyport/internal/tomledit"
)

// FormatEntry returns the lines with the entry of this program, for a person to
// add; entry is a JSON object.
func (c *Client) FormatEntry(entry []byte) (string, error) {
	if c.TOML {
		object, err := jsonc.Parse(entry, nil)
		if err != nil {
			return "", err
		}
		return tomledit.Format(c.Key, Own, object, "\n"), nil
	}
	text, err := json.MarshalIndent(map[string]any{c.Key: map[string]json.RawMessage{Own: entry}}, "", "  ")
	return string(text) + "\n", err
}

// putTable returns the text with the entry of this program in the place of the
// named servers. A text that has the entry and nothing to replace comes back
// unchanged.
func (f *File) putTable(entry []byte, names []string) ([]byte, error) {
	object, err := jsonc.Parse(entry, nil)
	if err != nil {
		return nil, err
	}
	d := f.toml
	if d == nil {
		if d, err = tomledit.Parse(f.Text); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	if own := d.Root.Get(f.Client.Key).Get(Own); own != nil && len(names) == 0 && jsonc.Equal(own, object) {
		return f.Text, nil
	}
	text, err := d.Put(f.Client.Key, names, Own, entry)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return text, nil
}

// rewriteTables is Rewrite for TOML.
func (f *File) rewriteTables(entry []byte, taken func(Server) bool) ([]byte, error) {
	var names []string
	for _, s := range f.Servers() {
		if taken(s) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return f.Text, nil
	}
	return f.putTable(entry, names)
}

// restoreTables is Restore for TOML.
func (f *File) restoreTables(copied *File) ([]byte, error) {
	if len(f.Sections) == 0 {
		return f.Text, nil
	}
	s := &f.Sections[0] // a file in TOML has one
	k := slices.IndexFunc(copied.Sections, func(old Section) bool { return slices.Equal(old.Path, s.Path) })
	if k < 0 {
		return nil, fmt.Errorf("%w: the copy has no %s", ErrChanged, f.Client.Key)
	}
	if jsonc.Equal(s.object, copied.Sections[k].object) {
		return f.Text, nil
	}
	if err := f.checkRewritten(s, copied, &copied.Sections[k]); err != nil {
		return nil, err
	}
	text, err := f.toml.Restore(f.Client.Key, Own, copied.toml)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return text, nil
}
