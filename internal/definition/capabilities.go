package definition

import (
	"encoding/json"
	"errors"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
)

// Capabilities reads a declaration. What it says is judged at registration.
func (d *Decoder) Capabilities(at string, v any) (c sallyport.Capabilities) {
	o := d.Object(at, v)
	if o == nil {
		return c
	}
	for _, g := range group.All() {
		v, at, ok := o.Take(g.Name, "")
		if !ok {
			continue
		}
		if g.Keys != nil {
			object := d.Object(at, v)
			if object == nil {
				continue
			}
			for _, k := range g.Keys {
				if v, at, ok := object.Take(k, ""); ok && v == nil {
					d.Fault(at, "expected a value, not null")
				}
			}
			object.Done()
		} else if v == nil {
			d.Fault(at, "expected a list of texts")
			continue
		}
		if err := json.Unmarshal(d.Raw(at, v), g.Field(&c)); err != nil {
			d.Fault(at, "%s", describeWrongType(err))
		}
	}
	o.Done()
	return c
}

// describeWrongType says what was expected in the place of a value of another type.
func describeWrongType(err error) string {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return "expected another type at " + t.Field + " than " + t.Value
	}
	return err.Error()
}
