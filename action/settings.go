package action

import (
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

// maxKept is the longest time for which results are kept.
const maxKept = 24 * time.Hour

// compileSettings checks the label, the cache and the availability.
func (b *toolBuilder) compileSettings(t *sallyport.Tool) {
	d := b.d
	t.Toolset = Toolset
	if d.Toolset != "" {
		if t.Toolset = d.Toolset; !isID(d.Toolset) {
			b.addFault("/toolset", "expected 1 to 64 letters, digits, _ or -")
		}
	}
	t.Cache = d.Cache
	if d.Cache != nil && (d.Cache.TTL < 0 || d.Cache.TTL > maxKept) {
		b.addFault("/cache", "expected a time of at most %v", maxKept)
	}
	for i, name := range d.NeedsEnv {
		if !reach.IsEnvName(name) {
			b.addFault(definition.Below("/available/env", formatInt(i)), "not the name of a variable")
		}
	}
	for i, path := range d.NeedsFiles {
		if !filepath.IsAbs(path) {
			b.addFault(definition.Below("/available/files", formatInt(i)), "not an absolute path")
		}
	}
	if len(d.NeedsEnv)+len(d.NeedsFiles) > 0 {
		t.IsAvailable = func() bool { return d.listLacking() == "" }
		t.WhyNot = d.listLacking
	}
}

// checkCached faults the cache of an action that changes something: its second call would
// change nothing.
func (b *toolBuilder) checkCached(t *sallyport.Tool) {
	if t.Cache == nil || b.d.Handler.HTTP == nil {
		return
	}
	if !t.Idempotent || group.AsksToChange(&t.Capabilities) {
		b.addFault("/cache", "a request that may change something is made each time: remove the key, or say idempotent")
	}
}

// listLacking says which condition of the action is not met; empty when all are. It names
// variables, and files by their last element: callers read it.
func (d *Definition) listLacking() string {
	for _, name := range d.NeedsEnv {
		if os.Getenv(name) == "" {
			return "the variable " + name + " is not set"
		}
	}
	for _, path := range d.NeedsFiles {
		if _, err := os.Stat(path); err != nil {
			return "the file " + filepath.Base(path) + " is not there"
		}
	}
	return ""
}

// decodeCache reads true, or a time such as "5m".
func (d *actionDecoder) decodeCache(at string, v any) *sallyport.Cache {
	switch v := v.(type) {
	case bool:
		if v {
			return &sallyport.Cache{}
		}
		return nil
	case string:
		ttl, err := config.ParseDuration(v)
		if err != nil || ttl <= 0 {
			break
		}
		return &sallyport.Cache{TTL: ttl}
	}
	d.Fault(at, `expected true, false or a time such as "5m"`)
	return nil
}

// decodeAvailable reads {"env": […], "files": […]}.
func (d *actionDecoder) decodeAvailable(def *Definition, at string, v any) {
	o := d.Object(at, v)
	if o == nil {
		return
	}
	def.NeedsEnv = o.Texts("env")
	for i, path := range o.Texts("files") {
		def.NeedsFiles = append(def.NeedsFiles, d.Path(definition.Below(definition.Below(at, "files"), formatInt(i)), path))
	}
	o.Done()
}
