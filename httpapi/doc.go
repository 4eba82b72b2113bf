// Package httpapi offers the tools of a gate as actions of a JSON API: list
// them, describe them as an OpenAPI document, execute them, with progress as a
// stream of events when the client asks for it.
//
// Start with [New]; [Server.Routes] is the table of what is served and [Mux]
// the only way to serve a table, so that no route exists that is not in one.
// The handler stands behind an [auth.Guard], which names the principal.
//
// It promises that a body is read strictly and once, that a broken request for
// an action is recorded like any other refusal, that a client that does not
// read never holds up a tool, and that one that is gone cancels its call. It
// decides nothing itself: every answer about an action is the gate's.
//
// The register of promises is docs/guarantees.md: G-EDGE, G-DECIDE.
package httpapi
