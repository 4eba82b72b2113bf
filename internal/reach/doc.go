// Package reach holds the arithmetic of what may be reached: host patterns,
// path sets and secret references, each with a parser to one canonical form,
// a matcher and an intersection.
//
// Start with [ParseHost] for a pattern of a configuration, [CanonicalHost] for
// a host of a request, [IntersectHosts] for the grant of a call and [NewHosts]
// for the compiled set that a request is matched against.
//
// Two spellings of the same thing have one canonical form, so that a list
// cannot be passed by another spelling. An intersection never grants more
// than either side, and input that is not understood is an error, never a
// guess. The package does no I/O: it knows neither addresses behind names nor
// files behind paths.
package reach
