package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

const (
	// defaultWait is what the documentation promises.
	defaultWait = 30 * time.Second
	// maxWait bounds a wait: a call holds a connection and a turn.
	maxWait = time.Hour
	// maxExpiry bounds how long a decision may be used: people do not remember
	// after a month what was approved.
	maxExpiry = 30 * 24 * time.Hour
)

// toolName reads the name of a tool. Whether there is one is known when the
// tools are registered.
func (s *scope) toolName(v string) (string, error) {
	switch {
	case strings.HasPrefix(v, "@"):
		return "", errors.New("labels are not accepted here: expected the name of a tool")
	case !nameOK(v):
		return "", fmt.Errorf("%s is not a tool: expected a name of %s", yamldoc.Quote(v), nameForm)
	}
	return v, nil
}

// ruledTool reads a tool of a rule about what was read before: a name, a label,
// all tools of a server, or "*".
func (s *scope) ruledTool(v string) (string, error) {
	name := strings.TrimPrefix(v, "@")
	if rest, ok := strings.CutPrefix(v, "mcp__"); ok {
		name = strings.TrimSuffix(rest, "__*")
	}
	if v != "*" && !nameOK(name) {
		return "", fmt.Errorf(`%s is not a tool: expected a name, a label such as "@file", a server as "mcp__notes__*", or "*"; names are %s`, yamldoc.Quote(v), nameForm)
	}
	return v, nil
}

// checkApprovals checks the keys of one approvals block together.
func (s *scope) checkApprovals(key string) {
	a := s.p.Approvals
	if at, ok := s.places[key+".expires"]; ok && a.Expires > 0 && a.Expires < a.Wait {
		s.addFault(s.file, at.at, key+".expires", "%s.expires: %s is less than the wait of %s: expected at least that",
			key, inUnits(a.Expires), inUnits(a.Wait))
	}
}
