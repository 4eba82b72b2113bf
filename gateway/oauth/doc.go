// Package oauth gets and keeps the tokens with which the gate calls MCP
// servers that want OAuth: it is the client of the protocol's authorization
// specification.
//
// Start with [NewVault], which keeps tokens sealed, and [New], which speaks for
// one server: [Authority.Do] sends a request with a token, renews the token
// when the server says so, and tells when a person has to log in, which
// [Authority.Login] does.
//
// Every request goes through the accessors of the call that causes it: a
// server's metadata leads nowhere that the call's grant does not reach. A token
// is for one server, one principal and the issuer that made it, and it is a
// secret: it is sent in the Authorization header of requests to that server and
// nowhere else, and the gate removes it from whatever a call returns.
package oauth
