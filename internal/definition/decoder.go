// Package definition reads what a configuration declares as one JSON value,
// such as an action or an upstream server, strictly and key by key, and
// collects everything that is wrong with it.
package definition

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/reach"
)

const (
	// MaxBytes bounds the text of one definition.
	MaxBytes = 4 << 20
	// maxTimeout bounds what a definition may ask for.
	maxTimeout = time.Hour
)

// Decoder reads a definition from a tree, whose numbers are json.Number, and
// collects what is wrong.
type Decoder struct {
	// Folders say where the definition stands.
	Folders Folders
	// Faults is what was wrong so far.
	Faults Faults
}

// Folders say where a definition stands.
type Folders struct {
	// Dir is the absolute folder of the configuration file, at which paths are
	// anchored and which ${self} means; empty refuses relative paths.
	Dir string
	// Workspace and Home are what ${workspace} and ${home} mean; empty refuses
	// the variable.
	Workspace, Home string
}

// Fault notes that something is wrong at a place.
func (d *Decoder) Fault(pointer, format string, args ...any) {
	d.Faults.Add(pointer, format, args...)
}

// Broken reports whether something is wrong at a place, in it or around it.
func (d *Decoder) Broken(pointer string) bool {
	return slices.ContainsFunc(d.Faults, func(f Fault) bool {
		return f.Pointer == pointer || strings.HasPrefix(f.Pointer, pointer+"/") || strings.HasPrefix(pointer, f.Pointer+"/")
	})
}

// Raw is the text of a part.
func (d *Decoder) Raw(at string, v any) json.RawMessage {
	text, err := Compact(v)
	if err != nil {
		d.Fault(at, "%v", err)
	}
	return text
}

// RateLimit reads {"requests": 100, "window": "1h"}.
func (d *Decoder) RateLimit(at string, v any) *sallyport.RateLimit {
	o := d.Object(at, v)
	if o == nil {
		return nil
	}
	limit := &sallyport.RateLimit{Requests: o.Count("requests", "")}
	if _, ok := o.members["requests"]; !ok {
		d.Fault(Below(at, "requests"), "is missing: expected a whole number of at least 1")
	}
	window := o.Text("window", "", true)
	var err error
	if limit.Window, err = config.ParseDuration(window); err != nil && window != "" {
		d.Fault(Below(at, "window"), "%v", err)
	}
	o.Done()
	return limit
}

// Timeout reads a text such as "30s", of at most an hour.
func (d *Decoder) Timeout(at string, v any) time.Duration {
	text, ok := v.(string)
	if !ok {
		d.Fault(at, `expected a text such as "30s"`)
		return 0
	}
	timeout, err := config.ParseDuration(text)
	switch {
	case err != nil:
		d.Fault(at, "%v", err)
	case timeout <= 0 || timeout > maxTimeout:
		d.Fault(at, "expected 1s to 1h")
	}
	return timeout
}

// Path is the absolute form of a path in the configuration, "" after a fault.
func (d *Decoder) Path(at, path string) string {
	switch {
	case strings.HasPrefix(path, "$"):
		abs, err := reach.Expand(path, d.Folders.pathVariables())
		if err != nil {
			d.Fault(at, "%v", err)
			return ""
		}
		return abs
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case !filepath.IsAbs(d.Folders.Dir):
		d.Fault(at, "a relative path has no folder here to be anchored at: expected an absolute path")
		return ""
	default:
		return filepath.Join(d.Folders.Dir, path)
	}
}

func (f *Folders) pathVariables() map[string]string {
	return map[string]string{"self": f.Dir, "workspace": f.Workspace, "home": f.Home}
}

// Compact is the JSON text of a value, with nothing escaped for HTML.
func Compact(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}
