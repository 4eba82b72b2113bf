package profiles

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

//go:embed data/*.yaml
var files embed.FS

// bounds are what the text of one profile may have.
var bounds = yamldoc.Bounds{Bytes: 64 << 10, YAMLBytes: 64 << 10, YAMLKeys: 400}

// load reads the profiles of this program once. Its error is a fault of the
// program, which a test finds.
var load = sync.OnceValues(func() ([]*Profile, error) {
	entries, err := files.ReadDir("data")
	if err != nil {
		return nil, err
	}
	var list []*Profile
	var faults []error
	for _, e := range entries {
		text, err := files.ReadFile("data/" + e.Name())
		if err == nil {
			var p *Profile
			if p, err = Decode(e.Name(), text); err == nil {
				list = append(list, p)
			}
		}
		faults = append(faults, err)
	}
	return list, errors.Join(append(faults, checkUnique(list))...)
})

// All returns the profiles in the order of their names. The caller must not
// change them.
func All() []*Profile {
	list, err := load()
	if err != nil {
		panic(fmt.Sprintf("profiles: %v", err))
	}
	return list
}

// Decode reads the text of one profile. The name is the name of its file.
func Decode(name string, text []byte) (*Profile, error) {
	if _, err := yamldoc.ReadDocument(name, text, bounds); err != nil {
		return nil, err
	}
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &Profile{Name: strings.TrimSuffix(path.Base(name), ".yaml")}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(p); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := p.checkProfile(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}
