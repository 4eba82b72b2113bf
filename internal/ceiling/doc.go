// Package ceiling holds the arguments of calls to what a role says of them.
//
// A ceiling is a JSON Schema fragment over the arguments of a tool with four more
// words: known, sum, from_untrusted and else. [Compile] reads one, [Ceiling.Check]
// says which arguments are outside, and [Narrow] writes the schema of the tool as the
// role leaves it, for lists.
//
// What a call may do is the conjunction: the arguments satisfy the schema of the tool
// and every ceiling.
package ceiling
