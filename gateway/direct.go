package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/rawjson"
	"github.com/sallyport/sallyport/internal/running"
)

// directRequest is a call or a listing that the server answers without the protocol
// library, which spends forty times as long on it as the gate. Only messages
// that every decoder reads in the same way are answered directly. The library
// answers or refuses a request with a member that is not listed in
// [envelope.direct], with a string that needs decoding, or with a value of an
// unusual kind. It also answers calls that ask for progress or log messages,
// because it puts these events into the stream. If a direct call turns out to
// be held and the person behind the client may decide about it, the library
// takes it over from there.
type directRequest struct {
	id      json.RawMessage
	key     any    // the id in comparable form
	tool    string // empty for a listing
	args    json.RawMessage
	cursor  string
	version string // version of a protocol without sessions, or empty
	session string // conversation that the request names; mostly empty
	elicits bool   // the client shows questions to a person
	tasks   bool   // the client knows tasks
}

// maxDirectDepth bounds the brackets of a message, and with them its depth. It
// is far below the depth at which decoders begin to differ.
const maxDirectDepth = 900

// asDirect returns the message as a direct request. ok is false when the library
// has to answer it.
func (e *messageEnvelope) asDirect() (d directRequest, ok bool) {
	if e.id == nil || len(e.top) != 4 && (len(e.top) != 3 || e.params != nil) {
		return d, false
	}
	d = directRequest{id: e.id, version: e.version}
	if d.key, ok = keyOfID(e.id); !ok {
		return d, false
	}
	switch e.method {
	case "tools/call":
		ok = d.readCall(e)
	case "tools/list":
		ok = d.readListing(e)
	default:
		return d, false
	}
	return d, ok && d.readMeta(e) && !isDeep(e.params) && !hasHugeNumber(d.args)
}

// readCall reads the parameters of a call.
func (d *directRequest) readCall(e *messageEnvelope) bool {
	ok := false
	for _, m := range e.in {
		switch string(m.key) {
		case "name":
			if d.tool, ok = plainText(m.value); !ok || d.tool == "" {
				return false
			}
		case "arguments":
			if m.value[0] != '{' {
				return false
			}
			d.args = m.value
		case "_meta":
		default:
			return false
		}
	}
	return ok
}

// readListing reads the parameters of a listing.
func (d *directRequest) readListing(e *messageEnvelope) bool {
	for _, m := range e.in {
		switch string(m.key) {
		case "cursor":
			var ok bool
			if d.cursor, ok = plainText(m.value); !ok {
				return false
			}
			if _, err := base64.RawURLEncoding.DecodeString(d.cursor); err != nil {
				return false
			}
		case "_meta":
		default:
			return false
		}
	}
	return len(e.params) == 0 || e.params[0] == '{'
}

// readMeta reads _meta. A protocol without sessions requires the client's
// capabilities there.
func (d *directRequest) readMeta(e *messageEnvelope) bool {
	if m := valueOf(e.in, "_meta"); m != nil && m[0] != '{' {
		return false
	}
	able := false
	for _, m := range e.meta {
		ok := true
		switch string(m.key) {
		case mcp.MetaKeyProtocolVersion:
			ok = e.version == statelessSince
		case mcp.MetaKeyClientCapabilities:
			var c capabilities
			able = fitsType(m.value, &c)
			ok, d.elicits, d.tasks = able, canElicit(&c.ClientCapabilities), knowsTasks(&c.ClientCapabilities)
		case mcp.MetaKeyClientInfo:
			ok = fitsType(m.value, &mcp.Implementation{})
		case sessionMeta:
			d.session, ok = plainText(m.value)
			ok = ok && d.session != "" && len(d.session) <= maxSessionBytes
		case "progressToken", earlyMeta:
			ok = false
		default:
			_, ok = plainText(m.value)
		}
		if !ok {
			return false
		}
	}
	return able || e.version == ""
}

// capabilities is the type into which the library decodes a client's
// capabilities.
type capabilities struct {
	mcp.ClientCapabilities
	Roots *struct {
		ListChanged bool `json:"listChanged"`
	} `json:"roots"`
}

// fitsType reports whether an object decodes into the type that the library uses
// for it. encoding/json ignores the case of keys and is the stricter of the two
// decoders.
func fitsType(object json.RawMessage, into any) bool {
	return object[0] == '{' && (len(object) == len("{}") || json.Unmarshal(object, into) == nil)
}

// isDeep reports whether a text may be nested too deeply for the direct path.
func isDeep(text []byte) bool {
	return bytes.Count(text, []byte{'{'})+bytes.Count(text, []byte{'['}) > maxDirectDepth
}

// hasHugeNumber reports whether a text may hold a number beyond the range of a double.
// The library refuses some of those before the gate can.
func hasHugeNumber(text []byte) bool {
	const digits = 300 // a double has at most 309
	run := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case '0' <= c && c <= '9':
			if run++; run > digits {
				return true
			}
			continue
		case c == '"':
			i += rawjson.Len(text[i:]) - 1
		case (c == 'e' || c == 'E') && run > 0:
			return true
		}
		run = 0
	}
	return false
}

// keyOfID returns an id in comparable form. ok is false for an id that the
// library would spell differently.
func keyOfID(id json.RawMessage) (key any, ok bool) {
	if text, ok := plainText(id); ok {
		return text, true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return n, err == nil && (n != 0 || len(id) == 1)
}

// answerDirectly answers a call or a listing and appends the answer to out. The call is
// counted in calls. If the call is held for the person behind the client, there
// is no answer yet, and held is its result.
func (s *Server) answerDirectly(ctx context.Context, calls *running.Set, caller *sallyport.Caller, d *directRequest, out []byte) (answer []byte, held *sallyport.Result) {
	if d.tool == "" {
		page, err := s.lists.encodedPage(s.gate.Definitions(caller), d.cursor)
		if err != nil {
			return appendFault(out, d.id, err), nil
		}
		return s.appendPage(out, d, page), nil
	}
	caller.Asks = d.elicits && s.mayAskPerson(caller, d.tool)
	ctx, done, _ := calls.Begin(ctx, "")
	res := s.gate.Call(ctx, caller, sallyport.Request{Tool: d.tool, Args: d.args})
	gone := ctx.Err() != nil
	done()
	if caller.Asks && isHeld(&res) && !gone {
		return out, &res
	}
	return s.appendResult(out, d, &res), nil
}

// newCaller returns the caller for a principal that calls a tool outside any session.
func (s *Server) newCaller(p sallyport.Principal, tool string) *sallyport.Caller {
	return &sallyport.Caller{
		Principal: p, Platform: sallyport.PlatformMCP, Personality: p.Role("", s.o.Personality), Exclude: excludedNonTools(tool),
	}
}

// callerFor returns the caller for a principal's direct request. session is that of a
// protocol with sessions, or that of the stream.
func (s *Server) callerFor(p sallyport.Principal, d *directRequest, session string) *sallyport.Caller {
	c := s.newCaller(p, d.tool)
	switch {
	case d.version == "":
		c.Session = session
	case d.session != "":
		c.Session = d.session
	default:
		c.Session = s.conversations.currentSession(sallyport.SessionKey(p.Name, c.Personality))
	}
	return c
}
