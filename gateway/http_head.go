package gateway

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/gateway/internal/wire"
)

// The headers of the protocol. nameHeader repeats the name of the tool or prompt,
// the URI of the resource, or the id of the task.
const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	resumeHeader  = "Last-Event-Id"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// checkHead checks what the head of a request says by itself. A status of 0 means
// that it is right; for 405 why are the methods that are allowed.
func checkHead(r *http.Request) (status int, why string) {
	version := r.Header.Get(versionHeader)
	sessions := version < statelessSince
	if sessions && version != "" && !slices.Contains(spokenVersions, version) {
		return http.StatusBadRequest, "Bad Request: Unsupported protocol version (supported versions: " + strings.Join(spokenVersions, ",") + ")"
	}
	text, stream := acceptedForms(r.Header.Values("Accept"))
	switch {
	case r.Method == http.MethodPost:
		switch {
		case !isJSON(r.Header.Get("Content-Type")):
			return http.StatusUnsupportedMediaType, "Content-Type must be 'application/json'"
		case !text || !stream:
			return http.StatusBadRequest, "Accept must contain both 'application/json' and 'text/event-stream'"
		}
	case !sessions:
		return http.StatusMethodNotAllowed, "POST"
	case r.Method != http.MethodGet && r.Method != http.MethodDelete:
		return http.StatusMethodNotAllowed, "GET, POST, DELETE"
	case r.Method == http.MethodGet && !stream:
		return http.StatusBadRequest, "Accept must contain 'text/event-stream' for GET requests"
	case r.Header.Get(sessionHeader) == "":
		return http.StatusBadRequest, "Bad Request: " + r.Method + " requires an Mcp-Session-Id header"
	}
	if len(r.Header.Values(resumeHeader)) > 0 {
		return http.StatusBadRequest, "streams cannot be resumed: send no Last-Event-ID"
	}
	return 0, ""
}

func isJSON(value string) bool {
	if value == "application/json" {
		return true
	}
	kind, _, err := mime.ParseMediaType(value)
	return err == nil && kind == "application/json"
}

func acceptedForms(values []string) (text, stream bool) {
	for _, value := range values {
		for kind := range strings.SplitSeq(value, ",") {
			kind, _, _ = strings.Cut(kind, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*":
				text = true
			case "text/event-stream", "text/*":
				stream = true
			case "*/*":
				return true, true
			}
		}
	}
	return text, stream
}

// isStateless chooses the protocol generation by the header. If the body names a
// protocol without sessions it chooses that one, and the answer then says what
// the header should have been.
func isStateless(r *http.Request, m *wire.Message) bool {
	return r.Header.Get(versionHeader) >= statelessSince || m.Version >= statelessSince
}

// checkAgreement checks the headers of a message of a protocol without sessions
// against its body. A component that reads only headers, such as a proxy, must see
// which tool is called with which arguments.
func (s *httpSurface) checkAgreement(x *httpExchange) *jsonrpc.Error {
	if x.Method == "" {
		return nil
	}
	if x.ID != nil {
		if refused := checkVersion(x.r.Header.Get(versionHeader), x.Version); refused != nil {
			return refused
		}
	}
	if why := s.checkNames(x); why != "" {
		return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: why}
	}
	return nil
}

func checkVersion(header, body string) *jsonrpc.Error {
	switch {
	case header == "":
		return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: fmt.Sprintf("%s header is required for requests carrying %q", versionHeader, mcp.MetaKeyProtocolVersion)}
	case body == "":
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("missing or invalid _meta field %q", mcp.MetaKeyProtocolVersion)}
	case header != body:
		return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: fmt.Sprintf("%s header %q does not match request %s %q", versionHeader, header, mcp.MetaKeyProtocolVersion, body)}
	default:
		return nil
	}
}

// checkNames compares the method, the name and the arguments in the headers with
// those in the body. It returns what is wrong, or "".
func (s *httpSurface) checkNames(x *httpExchange) string {
	switch header := x.r.Header.Get(methodHeader); header {
	case x.Method:
	case "":
		return "missing required Mcp-Method header"
	default:
		return fmt.Sprintf("header mismatch: Mcp-Method header value '%s' does not match body value '%s'", header, x.Method)
	}
	key := ""
	switch x.Method {
	case methodCallTool, methodGetPrompt:
		key = "name"
	case methodRead:
		key = "uri"
	case methodTaskGet, methodTaskUpdate, methodTaskCancel:
		key = "taskId"
	default:
		return ""
	}
	header := x.r.Header.Get(nameHeader)
	if header == "" && key != "taskId" {
		return fmt.Sprintf("missing required Mcp-Name header for method %q", x.Method)
	}
	if strings.HasPrefix(header, codedPrefix) {
		var ok bool
		if header, ok = decodeHeader(header); !ok {
			return "header mismatch: " + nameHeader + " is not encoded as the protocol says"
		}
	}
	switch body, ok := wire.DecodeString(x.In.Value(key)); {
	case ok && body == header:
	case key == "taskId":
		return "header mismatch: " + nameHeader + " is not the taskId"
	default:
		return fmt.Sprintf("header mismatch: Mcp-Name header value '%s' does not match body value '%s'", header, body)
	}
	if x.Method != methodCallTool {
		return ""
	}
	if repeated := s.core.gate.Headers(s.core.newCaller(x.principal, header), header); len(repeated) > 0 {
		if err := checkRepeated(repeated, x.r.Header, x.In.Value("arguments")); err != nil {
			return "header mismatch: " + err.Error()
		}
	}
	return ""
}
