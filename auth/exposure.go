package auth

import (
	"errors"
	"fmt"
	"net"
)

// minTokenChars is the least length of a token that an operator chose: 32
// characters, which is 128 bits when they are random hexadecimal digits.
const minTokenChars = 32

// checkToken refuses a token that an operator chose and that could be guessed
// or that no client could send.
func checkToken(token string) error {
	switch {
	case token == "":
		return errors.New("the token is empty")
	case len(token) < minTokenChars:
		return fmt.Errorf("the token has %d characters, expected at least %d: make one with "+
			"'openssl rand -hex 32'", len(token), minTokenChars)
	case len(token) > maxTokenBytes || !tokenText(token):
		return fmt.Errorf("the token: expected at most %d letters, digits and the characters - . _ ~ + /", maxTokenBytes)
	}
	return nil
}

// CheckExposure refuses to serve at address, a host:port, what would let
// strangers in: an address that others can reach without authentication, and,
// at any address, a chosen token that is empty or short. An address without a
// host, or with one that is not literally this machine's loopback, can be
// reached by others.
func CheckExposure(address string, authenticated bool, chosen ...string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("auth: address %q: expected host:port", address)
	}
	for _, token := range chosen {
		if err := checkToken(token); err != nil {
			return fmt.Errorf("auth: %w", err)
		}
	}
	if !authenticated && !Loopback(host) {
		return fmt.Errorf("auth: %s can be reached from other machines, and nothing asks who is calling: "+
			"set security.require_auth to true, or listen at 127.0.0.1", address)
	}
	return nil
}
