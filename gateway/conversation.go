package gateway

import (
	"crypto/rand"
	"maps"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
	"github.com/sallyport/sallyport/internal/task"
	"github.com/sallyport/sallyport/internal/turn"
)

// sessionMeta is the _meta key by which a client of a protocol without sessions
// names its conversation.
const sessionMeta = "sallyport/session"

// taskMeta is the _meta key by which a client opens its session with a task, or narrows
// it.
const taskMeta = "sallyport/task"

// maxSessionBytes bounds a session id that a client chooses.
const maxSessionBytes = 256

// sessionIdle is how long a session or a conversation may be idle before it
// ends.
const sessionIdle = 30 * time.Minute

// conversationSet assigns sessions to callers of a protocol without sessions that
// name none. Each principal and personality has one session, which is replaced
// after an idle time.
type conversationSet struct {
	mu   sync.Mutex
	idle map[string]*currentConversation
}

type currentConversation struct {
	id   string
	last time.Time
}

// currentSession returns the conversation of a key. It starts a new one when the last
// call is too long ago.
func (c *conversationSet) currentSession(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	v := c.idle[key]
	if v == nil || now.Sub(v.last) > sessionIdle {
		// So the map holds only the principals of the last half hour.
		maps.DeleteFunc(c.idle, func(_ string, v *currentConversation) bool { return now.Sub(v.last) > sessionIdle })
		v = &currentConversation{id: newSession()}
		c.idle[key] = v
	}
	v.last = now
	return v.id
}

func newSession() string { return "mcp-" + rand.Text() }

// namedTask returns the task that a request hands over, nil for none.
func namedTask(meta wire.Members) (*sallyport.Task, error) {
	value := meta.Value(taskMeta)
	if value == nil {
		return nil, nil
	}
	t, err := task.Decode(value)
	if err != nil {
		return nil, wire.Invalid("_meta " + taskMeta + ": " + err.Error())
	}
	return t, nil
}

// namedTurn returns what a request says of its turn, beside what its header says.
func namedTurn(meta wire.Members, header turn.Context) (turn.Context, error) {
	said, err := turn.Decode(meta.Value(turn.Meta))
	if err == nil {
		err = said.Join(header)
	}
	if err != nil {
		return said, wire.Invalid("_meta " + turn.Meta + ": " + err.Error())
	}
	return said, nil
}

// namedSession returns the conversation that a request names, or "" for none.
// It refuses an invalid name, because replacing the name could join two
// conversations.
func namedSession(meta wire.Members) (string, error) {
	value := meta.Value(sessionMeta)
	if value == nil {
		return "", nil
	}
	name, ok := wire.DecodeString(value)
	if !ok || name == "" || len(name) > maxSessionBytes || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", wire.Invalid("_meta " + sessionMeta + ": expected a text of 1 to 256 bytes without control characters")
	}
	return name, nil
}
