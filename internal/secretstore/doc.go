// Package secretstore keeps secrets where a user sets them: in a file that age
// has encrypted, and in the keychain of the system. It also asks the programs of
// other stores.
//
// Start with [NewFile] and [NewKeychain], each of which is a [Store], and with
// [NewProgram]. No error of theirs contains a value. They do not decide who may
// read what.
//
// The register of promises is docs/guarantees.md: G-SECRET.
package secretstore
