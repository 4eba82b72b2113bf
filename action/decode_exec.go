package action

import (
	"strings"

	"github.com/sallyport/sallyport/internal/definition"
)

// decodeExec reads {"command": […]} or {"path": …}.
func (d *actionDecoder) decodeExec(at string, v any) *Exec {
	o := d.Object(at, v)
	if o == nil {
		return &Exec{}
	}
	e := &Exec{Command: o.Texts("command"), Env: d.decodeTemplates(o, "env"), SecretPrefixes: o.Texts("secret_prefixes")}
	if path := o.Text("path", "", false); path != "" {
		e.Path = d.Path(definition.Below(at, "path"), path)
	}
	// A name is found on the search path; what has a slash is a file.
	if len(e.Command) > 0 && (strings.ContainsAny(e.Command[0], `/\`) || strings.HasPrefix(e.Command[0], "$")) {
		e.Command[0] = d.Path(definition.Below(at, "command")+"/0", e.Command[0])
	}
	o.Done()
	return e
}

// decodeProgram reads a handler that is the path of a file.
func (d *actionDecoder) decodeProgram(at, path string) *Exec {
	if path == "" {
		d.Fault(at, "expected the path of a program")
		return &Exec{}
	}
	return &Exec{Path: d.Path(at, path)}
}
