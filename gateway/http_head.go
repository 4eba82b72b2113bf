package gateway

import (
	"mime"
	"net/http"
	"strings"
)

func isJSON(value string) bool {
	if value == "application/json" {
		return true
	}
	kind, _, err := mime.ParseMediaType(value)
	return err == nil && kind == "application/json"
}

// acceptsBoth reports whether a client accepts both JSON and streams, as the
// protocol requires.
func acceptsBoth(values []string) bool {
	text, stream := false, false
	for _, value := range values {
		for kind := range strings.SplitSeq(value, ",") {
			kind, _, _ = strings.Cut(kind, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*":
				text = true
			case "text/event-stream", "text/*":
				stream = true
			case "*/*":
				return true
			}
		}
	}
	return text && stream
}

// isStateless chooses the protocol generation by the header. If the body names a
// protocol without sessions it chooses that one, and the library then says what
// the header should have been.
func isStateless(r *http.Request, e *messageEnvelope) bool {
	return r.Header.Get("Mcp-Protocol-Version") >= statelessSince || e.isStateless()
}
