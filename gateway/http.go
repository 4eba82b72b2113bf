package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/budget"
)

const (
	// maxSessions bounds the protocol sessions that are open at once, and
	// maxOwnSessions those of one principal. A session costs about ten
	// kilobytes. It ends after sessionIdle, or earlier if it is idle, its
	// principal has the most sessions, and another principal needs room.
	maxSessions, maxOwnSessions = 1000, 500
	// maxPosts bounds the requests that are read and answered at once, and
	// maxOwnPosts those of one principal. longBytes bounds the total size of
	// those messages that are longer than smallBytes, from when they are read
	// until they are answered. Together they limit what clients can occupy to
	// about 400 MiB, whatever they send.
	maxPosts, maxOwnPosts = 800, 400
	longBytes             = 192 << 20
	smallBytes            = 256 << 10
)

// principalKey is the key under which a verified token carries the principal.
const principalKey = "sallyport/principal"

// httpSurface is the handler of streamable HTTP.
type httpSurface struct {
	server   *Server
	newer    http.Handler // the library, without sessions
	older    http.Handler // the library, with sessions
	versions []string     // versions of the protocol with sessions
	long     *budget.Budget
}

// Handler serves streamable HTTP. Both generations of the protocol answer on
// one URL: requests of 2026-07-28 and later have no session, earlier ones do.
// It must stand behind an auth.Guard, which names the principal; a request
// without one is answered 401.
func (s *Server) Handler() http.Handler {
	server := func(*http.Request) *mcp.Server { return s.mcp }
	// The guard has checked Host and Origin against the server's own names. The
	// SDK's own check would refuse names that the operator added.
	common := mcp.StreamableHTTPOptions{
		Logger: s.o.Logger, MaxRequestBodyBytes: maxMessageBytes, DisableLocalhostProtection: true,
	}
	stateless, stateful := common, common
	stateless.Stateless, stateless.PropagateRequestCancellation = true, true
	return &httpSurface{
		server: s, long: budget.New(longBytes),
		newer: bindPrincipal(mcp.NewStreamableHTTPHandler(server, &stateless)),
		older: bindPrincipal(mcp.NewStreamableHTTPHandler(server, &stateful)),
		versions: slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(v string) bool {
			return v >= statelessSince
		}),
	}
}

// bindPrincipal passes the principal that the guard authenticated to the protocol
// library in the library's own form. The library then carries it with each
// message, also with those of a session that began in another request. It
// refuses a session to every user except the one that opened it.
func bindPrincipal(next http.Handler) http.Handler {
	verified := sdkauth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*sdkauth.TokenInfo, error) {
		p, ok := auth.PrincipalFrom(ctx)
		if !ok || p.Name == "" {
			return nil, sdkauth.ErrInvalidToken
		}
		return &sdkauth.TokenInfo{UserID: p.Name, Extra: map[string]any{principalKey: p}}, nil
	}, &sdkauth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The guard has checked and removed the token. The library calls its
		// verifier only when there is a token, so this word stands for it.
		r.Header.Set("Authorization", "Bearer checked")
		verified.ServeHTTP(w, r)
	})
}

// boundPrincipal returns the principal that bind attached to a message.
func boundPrincipal(extra *mcp.RequestExtra) (sallyport.Principal, bool) {
	if extra == nil || extra.TokenInfo == nil {
		return sallyport.Principal{}, false
	}
	p, ok := extra.TokenInfo.Extra[principalKey].(sallyport.Principal)
	return p, ok
}

// ServeHTTP reads a message strictly. It answers the message or hands it to the
// protocol generation that the message names.
func (s *httpSurface) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w = slowClientWriter{w, s.server.writeWait}
	p, ok := auth.PrincipalFrom(r.Context())
	if !ok || p.Name == "" {
		s.older.ServeHTTP(w, r)
		return
	}
	if r.Method != http.MethodPost {
		s.serveOther(w, r)
		return
	}
	if x := s.servePost(w, r, p); x != nil {
		s.serveListening(x)
	}
}

// servePost reads a message and answers it. It returns a message that only opens a
// stream instead of answering it, because such a request does not count as
// waiting for an answer.
func (s *httpSurface) servePost(w http.ResponseWriter, r *http.Request, p sallyport.Principal) (opens *httpExchange) {
	_, done, ok := s.server.posts.Begin(r.Context(), p.Name)
	if !ok {
		answerBusy(w, fmt.Sprintf("too many requests at once: %d of a principal, %d of all, and fewer the more run; try again", maxOwnPosts, maxPosts))
		return nil
	}
	defer done()
	body, held, err := s.readBody(w, r, p.Name)
	defer held.Release()
	if err != nil {
		answerUnread(w, err)
		return nil
	}
	e, err := openEnvelope(body)
	x := &httpExchange{w: w, r: r, principal: p, message: &e, stateless: isStateless(r, &e)}
	switch refused := (*messageFault)(nil); {
	case errors.As(err, &refused):
		x.writeFault(refused)
	case e.isIgnored():
		w.WriteHeader(http.StatusAccepted)
	case !x.stateless && !s.allowSession(w, r, &p, &e):
	default:
		r.Body = io.NopCloser(bytes.NewReader(body))
		if x.stateless && e.method == methodListen {
			return x
		}
		s.answerMessage(x)
	}
	return nil
}

// serveListening serves a stream of changes, which stays open until its client or the
// server ends it.
func (s *httpSurface) serveListening(x *httpExchange) {
	ctx, done, ok := s.server.listens.Begin(x.r.Context(), x.principal.Name)
	if !ok {
		answerBusy(x.w, tooManyStreams)
		return
	}
	defer done()
	x.r = x.r.WithContext(ctx)
	s.passToLibrary(x)
}

// answerMessage answers a message. Until then its session does not count as idle.
func (s *httpSurface) answerMessage(x *httpExchange) {
	if x.stateless {
		if err := s.server.checkHeaders(x); err != nil {
			x.writeFault(&messageFault{id: x.message.id, code: mcp.CodeHeaderMismatch, text: "header mismatch: " + err.Error()})
			return
		}
	} else {
		x.session = s.server.sessions.useSession(x.r.Header.Get("Mcp-Session-Id"), x.principal)
		defer x.session.releaseUse()
	}
	if !s.answerDirectly(x) {
		s.passToLibrary(x)
	}
}

// serveOther serves requests without a message: those that open a stream or end a
// session.
func (s *httpSurface) serveOther(w http.ResponseWriter, r *http.Request) {
	if isStateless(r, &messageEnvelope{}) {
		s.newer.ServeHTTP(w, r)
		return
	}
	if r.Method != http.MethodDelete {
		s.serveStream(w, r)
		return
	}
	ended := &statusRecorder{ResponseWriter: w}
	s.older.ServeHTTP(ended, r)
	if ended.status == http.StatusNoContent {
		s.server.sessions.removeSession(r.Header.Get("Mcp-Session-Id"))
	}
}

// serveStream serves a stream on which the client of a session listens.
func (s *httpSurface) serveStream(w http.ResponseWriter, r *http.Request) {
	p, _ := auth.PrincipalFrom(r.Context())
	ctx, done, ok := s.server.listens.Begin(r.Context(), p.Name)
	if !ok {
		answerBusy(w, tooManyStreams)
		return
	}
	defer done()
	s.older.ServeHTTP(w, r.WithContext(ctx))
}

// tooManyStreams is the answer to a client that opens one stream too many.
var tooManyStreams = fmt.Sprintf("too many streams are open: %d of a principal, %d of all; end one, or try again", maxOwnListens, maxListens)

// readBody returns the body. The caller releases held once a long message is
// answered. read does not wait for long messages of other requests: if there is
// no room, the error is [budget.ErrFull].
func (s *httpSurface) readBody(w http.ResponseWriter, r *http.Request, principal string) (body []byte, held *budget.Holding, err error) {
	all := http.MaxBytesReader(w, r.Body, maxMessageBytes)
	// The announced length is not trusted with more than one page of memory.
	begin := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), 4<<10)+bytes.MinRead))
	_, err = begin.ReadFrom(io.LimitReader(all, smallBytes))
	if body = begin.Bytes(); err != nil || len(body) < smallBytes {
		return body, nil, err
	}
	held = s.long.Hold("", principal, nil)
	body, err = held.ReadAll(all, body)
	return body, held, err
}

// allowSession decides whether a message without a session may open one.
func (s *httpSurface) allowSession(w http.ResponseWriter, r *http.Request, p *sallyport.Principal, e *messageEnvelope) bool {
	if r.Header.Get("Mcp-Session-Id") != "" {
		return true
	}
	if e.method != "initialize" {
		writeRefusal(w, &messageFault{
			id: e.id, code: jsonrpc.CodeInvalidRequest,
			text: "there is no session: initialize, then send Mcp-Session-Id; or send Mcp-Protocol-Version " + statelessSince,
		}, false)
		return false
	}
	open := 0
	for session := range s.server.mcp.Sessions() {
		if session.ID() != "" {
			open++
		}
	}
	if s.server.sessions.countOf(p.Name) >= maxOwnSessions || open >= maxSessions && !s.server.sessions.makeRoom(p.Name) {
		answerBusy(w, fmt.Sprintf("too many sessions are open: %d of a principal, %d of all; end one with DELETE, or try again", maxOwnSessions, maxSessions))
		return false
	}
	return true
}

// writeRefusal writes a fault. An unknown method is answered 404 in a protocol
// without sessions. With sessions it is an ordinary answer, because 404 there
// means that the session is gone.
func writeRefusal(w http.ResponseWriter, f *messageFault, stateless bool) {
	status := http.StatusBadRequest
	if f.code == jsonrpc.CodeMethodNotFound {
		status = http.StatusOK
		if stateless {
			status = http.StatusNotFound
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The write fails if the client has gone.
	_, _ = w.Write(f.encodeReply())
}

// answerUnread answers a body that did not arrive completely.
func answerUnread(w http.ResponseWriter, err error) {
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		http.Error(w, "the message is too long", http.StatusRequestEntityTooLarge)
		return
	}
	if errors.Is(err, budget.ErrFull) {
		answerBusy(w, fmt.Sprintf("too many long messages at once: %d MiB in all, half of what is left for each principal; try again", longBytes>>20))
		return
	}
	http.Error(w, "the message did not arrive whole", http.StatusBadRequest)
}

// answerBusy answers a request that exceeds a bound.
func answerBusy(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}
