package plugin

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/schema"
)

// Declaration is what an operator says of a plugin.
type Declaration struct {
	// Name is the name of the plugin, which roles list.
	Name string
	// Module is the absolute path of the module.
	Module string
	// Capabilities is the most that its tools may declare. The zero value allows none.
	Capabilities sallyport.Capabilities
	// MemoryMiB bounds the memory of one instance.
	MemoryMiB int
	// Timeout bounds one call, whatever the tool declares.
	Timeout time.Duration
}

// usable are the capabilities whose accessors plugins have.
var usable = [...]string{"network", "secrets", "storage", "fs_reach", "attachments"}

// Unusable lists what is declared and no plugin can use.
func Unusable(c *sallyport.Capabilities) []string { return group.Unusable(c, usable[:]...) }

// Decode reads the declaration of a plugin, as JSON, strictly. The error is
// [definition.Faults] and lists everything that is wrong.
func Decode(name string, data json.RawMessage, folders definition.Folders) (Declaration, error) {
	d := definition.Decoder{Folders: folders}
	p := Declaration{Name: name, MemoryMiB: defaultMemoryMiB, Timeout: defaultTimeout}
	tree, err := schema.Decode(data, &schema.Limits{Bytes: definition.MaxBytes})
	if err != nil {
		d.Fault("", "%v", err)
		return p, d.Faults.Tidy()
	}
	o := d.Object("", tree)
	if o == nil {
		return p, d.Faults.Tidy()
	}
	if path := o.Text("module", "", true); path != "" {
		p.Module = d.Path("/module", path)
	}
	if v, at, ok := o.Take("capabilities", ""); ok {
		p.Capabilities = d.Capabilities(at, v)
		for _, name := range Unusable(&p.Capabilities) {
			d.Fault(definition.Below(at, name), "no plugin can use it: expected %s", strings.Join(usable[:], ", "))
		}
	}
	if size := o.Text("memory", "", false); size != "" {
		n, err := config.ParseSize(size)
		if err != nil || n < 1<<20 || n > MaxMemoryMiB<<20 || n%(1<<20) != 0 {
			d.Fault("/memory", "expected 1MiB to %dMiB", MaxMemoryMiB)
		}
		p.MemoryMiB = int(n >> 20)
	}
	if v, at, ok := o.Take("timeout", ""); ok {
		p.Timeout = cmp.Or(d.Timeout(at, v), defaultTimeout)
	}
	o.Done()
	if len(d.Faults) > 0 {
		return p, d.Faults.Tidy()
	}
	return p, nil
}
