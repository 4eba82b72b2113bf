package upstream

import "github.com/sallyport/sallyport/internal/lock"

// Transport is how a server is reached.
type Transport = lock.Transport

// The transports of remote servers. A server with a Command has none.
const (
	// TransportHTTP is streamable HTTP.
	TransportHTTP = lock.TransportHTTP
	// TransportSSE is the older HTTP transport with server-sent events.
	TransportSSE = lock.TransportSSE
)

// Kind says what a definition of a server defines.
type Kind = lock.Kind

// The kinds of definitions.
const (
	// KindTool is a tool, by its name.
	KindTool = lock.KindTool
	// KindResource is a resource, by its URI.
	KindResource = lock.KindResource
	// KindTemplate is a resource template, by its URI template.
	KindTemplate = lock.KindTemplate
	// KindPrompt is a prompt, by its name.
	KindPrompt = lock.KindPrompt
)

// Launch is how a server is started or reached, and what it may then touch. An
// operator approves it together with what the server offers.
type Launch = lock.Launch

// Offer is what a server says it is and lists, as received: nothing in it has
// been cleaned.
type Offer = lock.Offer
