// Package house holds the rules of the repository as tests: who may import
// whom, that every exported name says what it is, that pages link to what
// exists and name code and tests that exist. It has no code of its own.
package house
