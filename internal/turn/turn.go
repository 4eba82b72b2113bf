// Package turn reads what a client says of the turn that a call belongs to, the same way on
// every surface. It is a hint for tools, reducers and the record, and gives no right.
package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
)

const (
	// Header is the header of HTTP in which a client, or what stands before it, says it.
	Header = "Sallyport-Turn"
	// Meta is the key of MCP's _meta.
	Meta = "sallyport/turn"
	// maxBytes bounds the text, and maxName a name in it.
	maxBytes, maxName = 4 << 10, 256
)

// Context is what a client says. The zero value says nothing.
type Context struct {
	// Turn is the number of the turn in the session, from 1; 0 means unknown.
	Turn int `json:"turn"`
	// Messages is the number of messages in the session so far; 0 means unknown.
	Messages int `json:"messages"`
	// Agent names the agent within a larger deployment.
	Agent string `json:"agent"`
	// Team names the team of the agent.
	Team string `json:"team"`
	// MemoryScope names a part of the memory of the caller's role.
	MemoryScope string `json:"memory_scope"`
}

// Decode reads {"turn": N, "messages": N, "agent": ID, "team": ID, "memory_scope": ID}
// strictly: each key at most once, and no other. An empty text says nothing.
func Decode(text []byte) (c Context, err error) {
	if len(text) == 0 {
		return c, nil
	}
	if _, err := schema.Decode(text, &schema.Limits{Bytes: maxBytes}); err != nil {
		return c, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil || bytes.TrimSpace(text)[0] != '{' {
		return Context{}, errors.New("expected an object with the keys turn, messages, agent, team and memory_scope")
	}
	return c, c.Check()
}

// Check refuses numbers out of range and names that could not be shown.
func (c *Context) Check() error {
	for name, n := range map[string]int{"turn": c.Turn, "messages": c.Messages} {
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("%s: expected a whole number of 0 to %d", name, math.MaxInt32)
		}
	}
	odd := func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }
	for name, s := range map[string]string{"agent": c.Agent, "team": c.Team, "memory_scope": c.MemoryScope} {
		if len(s) > maxName || strings.ContainsFunc(s, odd) {
			return fmt.Errorf("%s: expected at most %d bytes of text without control characters", name, maxName)
		}
	}
	return nil
}

// Join adds what another place says. Two places that differ are refused: one of them may be
// an agent's, and the other that of the program that holds it.
func (c *Context) Join(other Context) error {
	for name, pair := range map[string]struct{ into, from *int }{"turn": {&c.Turn, &other.Turn}, "messages": {&c.Messages, &other.Messages}} {
		if err := joinField(name, pair.into, *pair.from); err != nil {
			return err
		}
	}
	for name, pair := range map[string]struct{ into, from *string }{
		"agent": {&c.Agent, &other.Agent}, "team": {&c.Team, &other.Team}, "memory_scope": {&c.MemoryScope, &other.MemoryScope},
	} {
		if err := joinField(name, pair.into, *pair.from); err != nil {
			return err
		}
	}
	return nil
}

func joinField[T comparable](name string, into *T, from T) error {
	var nothing T
	switch {
	case from == nothing || *into == from:
	case *into == nothing:
		*into = from
	default:
		return fmt.Errorf("%s: the header %s says something else", name, Header)
	}
	return nil
}

// Fill writes what the client says into a caller.
func (c *Context) Fill(caller *sallyport.Caller) {
	caller.Turn, caller.Messages = c.Turn, c.Messages
	caller.Agent, caller.Team, caller.MemoryScope = c.Agent, c.Team, c.MemoryScope
}

// FromHeader reads the header of a request; several of them are refused.
func FromHeader(values []string) (Context, error) {
	switch len(values) {
	case 0:
		return Context{}, nil
	case 1:
		c, err := Decode([]byte(values[0]))
		if err != nil {
			return c, fmt.Errorf("the header %s: %w", Header, err)
		}
		return c, nil
	default:
		return Context{}, fmt.Errorf("the header %s is repeated", Header)
	}
}
