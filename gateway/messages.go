package gateway

//lint:file-ignore SA1019 protocols with sessions have levels for messages, later ones do not; only this file knows of them

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
)

// messageLevel is the level of what a tool tells the user.
const messageLevel mcp.LoggingLevel = "info"

// acceptLevels accepts the log level that a client of a protocol with sessions sets.
// It does not offer levels to other clients.
func (s *Server) acceptLevels(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if r, ok := req.(*mcp.ServerRequest[*mcp.SetLoggingLevelParams]); ok {
			if err := s.recordLevel(ctx, r); err != nil {
				return nil, err
			}
		}
		res, err := next(ctx, method, req)
		if d, ok := res.(*mcp.DiscoverResult); ok && err == nil && d.Capabilities != nil {
			d.Capabilities.Logging = nil
		}
		return res, err
	}
}

// recordLevel records that a client wants log messages. From then on the library
// answers the calls of that session, because it puts messages into their
// streams.
func (s *Server) recordLevel(ctx context.Context, r *mcp.ServerRequest[*mcp.SetLoggingLevelParams]) error {
	known := []mcp.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
	if !slices.Contains(known, r.Params.Level) {
		return &jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidParams,
			Message: "expected a level of debug, info, notice, warning, error, critical, alert or emergency",
		}
	}
	if c := connectionFrom(ctx); c != nil {
		c.messages.Store(true)
	} else {
		s.sessions.wantMessages(r.Session.ID())
	}
	return nil
}

// wantsMessages reports whether the client of a session wants log messages.
func (s *Server) wantsMessages(ctx context.Context, session *mcp.ServerSession) bool {
	if begun := session.InitializeParams(); begun == nil || begun.ProtocolVersion >= statelessSince {
		return false
	}
	if c := connectionFrom(ctx); c != nil {
		return c.messages.Load()
	}
	return s.sessions.wantsMessages(session.ID())
}

// sendLogMessage sends what a tool tells the user as a log message. The library drops
// messages below the client's level.
func sendLogMessage(ctx context.Context, session *mcp.ServerSession, p sallyport.Progress) {
	// The call fails if the client has gone.
	_ = session.Log(ctx, &mcp.LoggingMessageParams{Level: messageLevel, Logger: p.Tool, Data: p.Message})
}

// withMessages adds log messages to the offered capabilities.
func withMessages(c *mcp.ServerCapabilities) *mcp.ServerCapabilities {
	c.Logging = &mcp.LoggingCapabilities{}
	return c
}
