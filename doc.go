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
// It does not confine Go code: a tool compiled into the process is trusted code
// behind accessors, and nothing stops it from going around them.
// cmd/sallyport-vet shows where one does, before it runs, and lists what it could
// not follow (docs/guides/vet.md). What is promised, where it is enforced and which test holds it stands in
// docs/guarantees.md, entry by entry: start with G-DECIDE and G-GRANT.
//
// Exported names of this module are stable from the first tagged release on.
// Until then a name may go or change; CHANGELOG.md lists each one with its
// successor.
package sallyport
