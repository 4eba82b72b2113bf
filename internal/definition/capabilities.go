package definition

import (
	"encoding/json"
	"errors"

	"github.com/sallyport/sallyport"
)

// keysOf are the keys of a capability, nil for one that is a list. Who adds a
// group to the type in Go adds it here.
func keysOf(group string) []string {
	switch group {
	case "network":
		return []string{"allowedHosts"}
	case "storage":
		return []string{"scope", "kind", "ttlSecondsDefault"}
	case "fs_reach":
		return []string{"read", "write", "mode"}
	case "process":
		return []string{"allowedBinaries", "execFrom"}
	case "attachments":
		return []string{"kinds"}
	case "database":
		return []string{"connections", "mode"}
	case "mail":
		return []string{"relay", "to"}
	default:
		return nil
	}
}

// Capabilities reads a declaration. What it says is judged at registration.
func (d *Decoder) Capabilities(at string, v any) (c sallyport.Capabilities) {
	o := d.Object(at, v)
	if o == nil {
		return c
	}
	into := map[string]any{
		"network": &c.Network, "secrets": &c.Secrets, "storage": &c.Storage, "fs_reach": &c.FSReach, "process": &c.Process,
		"attachments": &c.Attachments, "database": &c.Database, "mail": &c.Mail, "input": &c.Input,
	}
	for key, target := range into {
		v, at, ok := o.Take(key, "")
		if !ok {
			continue
		}
		if keys := keysOf(key); keys != nil {
			group := d.Object(at, v)
			if group == nil {
				continue
			}
			for _, k := range keys {
				if v, at, ok := group.Take(k, ""); ok && v == nil {
					d.Fault(at, "expected a value, not null")
				}
			}
			group.Done()
		} else if v == nil {
			d.Fault(at, "expected a list of texts")
			continue
		}
		if err := json.Unmarshal(d.Raw(at, v), target); err != nil {
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
