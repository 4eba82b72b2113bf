package lock

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/schema"
)

// maxBytes bounds the file: some two thousand tools with long descriptions,
// and what the decoder takes without being asked for more.
const maxBytes = schema.DefaultBytes

//go:embed lock.schema.json
var schemaText []byte

// format is the compiled schema of the file.
var format = sync.OnceValue(func() *schema.Schema {
	s, err := schema.CompileAny(schemaText)
	if err != nil {
		panic("lock: lock.schema.json: " + err.Error())
	}
	return s
})

// Fault is one thing wrong with a file.
type Fault struct {
	// File is the name that was given.
	File string
	// Line and Column count from 1, columns in characters.
	Line, Column int
	// Message says what is wrong.
	Message string
}

// String returns "file:line:column: message".
func (f Fault) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
}

// Faults is everything wrong with a file, in its order. As an error it is a
// line each.
type Faults []Fault

// Error lists the faults.
func (f Faults) Error() string {
	return text.JoinLines(f, Fault.String)
}

// Load reads a file with [Parse]. A file that does not exist is an error that
// satisfies errors.Is(err, fs.ErrNotExist); what is no regular file is refused.
func Load(path string) (*File, error) {
	// Opening a FIFO would wait for a writer.
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New(path + ": not a regular file")
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	return Parse(path, data)
}

// Parse reads the text of a file, strictly: an unknown or repeated key, a
// wrong type, a missing field, a digest that is not that of what stands beside
// it, and a name that is not what [MapName] gives are errors, and nothing is
// loaded by halves. name is for messages. The error is [Faults].
//
// What a definition holds that is not shown is noted under Hidden, no matter who
// wrote the file.
func Parse(name string, data []byte) (*File, error) {
	l := faultLocator{name: name, data: data}
	v, err := schema.Decode(data, nil)
	if err != nil {
		return nil, l.locateFaults(err)
	}
	if faults := format().Validate(v); len(faults) > 0 {
		return nil, l.locateFaults(faults)
	}
	var doc fileDocument
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, l.locateFaults(schema.Faults{{Message: err.Error()}})
	}
	f := &File{Servers: make(map[string]Server, len(doc.Servers))}
	var c fileChecker
	for _, name := range slices.Sorted(maps.Keys(doc.Servers)) {
		f.Servers[name] = c.checkServer(name, doc.Servers[name])
	}
	if len(c.faults) > 0 {
		return nil, l.locateFaults(c.faults)
	}
	return f, nil
}

// fileChecker checks what a schema cannot say of a decoded file.
type fileChecker struct{ faults schema.Faults }

func (c *fileChecker) addFault(path []string, format string, args ...any) {
	c.faults = append(c.faults, schema.Fault{Pointer: toPointer(path), Message: fmt.Sprintf(format, args...)})
}

// checkServer checks one server and brings it into the form that [Take] gives.
func (c *fileChecker) checkServer(name string, w serverEntry) Server {
	at := []string{"servers", name}
	if err := CheckServer(name); err != nil {
		c.addFault(at, "%v", err)
		return Server{}
	}
	s := w.Server
	launch, err := s.Launch.normalized(output.Plain())
	if err != nil {
		c.addFault(at, "%v", err)
	}
	s.Launch = launch
	if err == nil && w.CapabilitiesSHA256 != s.CapabilitiesDigest() {
		c.addFault(append(at, "capabilities_sha256"), "is not the digest of the capabilities")
	}
	if s.Identity != nil {
		*s.Identity = c.checkPin(append(at, "identity"), *s.Identity)
	}
	for _, k := range offered {
		pins := *s.pinsOf(k)
		if len(pins) == 0 {
			*s.pinsOf(k) = nil
		}
		for _, key := range slices.Sorted(maps.Keys(pins)) {
			pins[key] = c.checkOffer(append(at, string(k)+"s", key), name, k, key, pins[key])
		}
	}
	return s
}

// checkOffer checks one listed definition.
func (c *fileChecker) checkOffer(at []string, server string, k Kind, key string, p Pin) Pin {
	p = c.checkPin(at, p)
	var named map[string]any
	if err := json.Unmarshal(p.Definition, &named); err != nil || named[k.Key()] != key {
		c.addFault(at, "the definition is that of another %s", k)
	}
	if k != KindTool {
		return p
	}
	if name, err := MapName(server, key); err != nil || name != p.Name {
		c.addFault(append(at, "name"), "expected %s", name)
	}
	return p
}

// checkPin checks one definition against its digest. When something is hidden, the
// digest is of what the file does not hold.
func (c *fileChecker) checkPin(at []string, p Pin) Pin {
	m, err := decodeObject(p.Definition)
	if err != nil {
		c.addFault(append(at, "definition"), "%v", err)
		return p
	}
	for field := range p.Hidden {
		if _, ok := m[field]; !ok {
			c.addFault(append(at, "hidden"), "names a field that the definition does not have")
		}
	}
	fresh, err := newPin(m, output.Plain())
	if err != nil {
		c.addFault(append(at, "definition"), "%v", err)
		return p
	}
	if len(p.Hidden) == 0 && fresh.SHA256 != p.SHA256 {
		c.addFault(append(at, "sha256"), "is not the digest of the definition")
	}
	fresh.Name, fresh.SHA256 = p.Name, p.SHA256
	for field, sum := range p.Hidden {
		if fresh.Hidden == nil {
			fresh.Hidden = map[string]string{}
		}
		fresh.Hidden[field] = sum
	}
	return fresh
}
