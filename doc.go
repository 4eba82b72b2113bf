// Package sallyport is the contract between an agent's tools, the operator
// who bounds them and the gate that decides each call.
//
// A [Tool] says in data what it touches outside itself: its [Capabilities].
// An operator says in data what a role may touch: a [Personality]. For each
// call the gate (package registry) computes the intersection, the [Grant],
// and hands the tool accessors for exactly that through its [Call]. Nothing
// else is meant to reach the world.
//
// Start with [Tool] and package schema, whose generic helper turns a typed
// Go function into a Tool; then registry.New and Registry.Call.
//
// The package holds nouns only and imports nothing but the standard library.
// It promises stable names, stable error [Code] values and stable error
// texts. It does not confine Go code: a tool compiled into the process is
// trusted code behind accessors, and package ambient keeps it honest.
package sallyport
