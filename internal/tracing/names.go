package tracing

// SchemaURL is the version of the OpenTelemetry conventions for generative AI and MCP
// that every name of this file follows. They are in development: a new version is a
// change of this file alone.
const SchemaURL = "https://opentelemetry.io/schemas/gen-ai/1.42.0"

// Names of the conventions.
const (
	KeyOperation       = "gen_ai.operation.name"
	KeyTool            = "gen_ai.tool.name"
	KeyPrompt          = "gen_ai.prompt.name"
	KeyToolCall        = "gen_ai.tool.call.id"
	KeyConversation    = "gen_ai.conversation.id"
	KeyMethod          = "mcp.method.name"
	KeyProtocol        = "mcp.protocol.version"
	KeySession         = "mcp.session.id"
	KeyRequestID       = "jsonrpc.request.id"
	KeyTransport       = "network.transport"
	KeyErrorType       = "error.type"
	KeyServerAddress   = "server.address"
	KeyServerPort      = "server.port"
	KeyHTTPMethod      = "http.request.method"
	KeyHTTPStatus      = "http.response.status_code"
	KeyExecutable      = "process.executable.name"
	KeyExitCode        = "process.exit.code"
	KeyServiceName     = "service.name"
	KeyServiceVersion  = "service.version"
	KeyServiceInstance = "service.instance.id"
)

// Names of what only a gate knows.
const (
	KeyCallID    = "sallyport.call.id"
	KeyOutcome   = "sallyport.outcome"
	KeyCode      = "sallyport.code"
	KeyStep      = "sallyport.decision.step"
	KeyRole      = "sallyport.role"
	KeyPrincipal = "sallyport.principal"
	KeySurface   = "sallyport.surface"
	KeyCached    = "sallyport.cached"
	KeyApproval  = "sallyport.approval.id"
	KeyUpstream  = "sallyport.upstream"
	// KeyConfinement is the level at which a child was confined.
	KeyConfinement = "sallyport.child.level"
	// KeyUpstreamTrace is the trace that a server was told.
	KeyUpstreamTrace = "sallyport.upstream.trace"
	// KeyRecord and KeyRecordHash are the number and the hash of a record.
	KeyRecord     = "sallyport.record.seq"
	KeyRecordHash = "sallyport.record.hash"
	KeyChange     = "sallyport.change.action"
)

// Values of the conventions, and the name of the span of a wait for a person, for which
// they have none.
const (
	OperationExecute = "execute_tool"
	TransportPipe    = "pipe"
	TransportTCP     = "tcp"
	ErrorTool        = "tool_error"
	ErrorTimeout     = "timeout"
	ErrorOther       = "_OTHER"
	SpanApproval     = "await approval"
	// EventRecord, with a dot and its kind, names the event of a record.
	EventRecord = "sallyport.record"
)

// Names of the scope of the spans, and of the program as it is told to collectors.
const (
	ScopeName   = "github.com/sallyport/sallyport"
	ServiceName = "sallyport"
)
