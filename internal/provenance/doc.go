// Package provenance remembers what a conversation read from untrusted sources,
// and says of a value whether it came out of that.
//
// A [Memory] holds the texts of one conversation in a folded form: compatible
// characters are one character, case and white space do not count. It finds a whole
// value, an address, URL, host, account or number within a text, and a run of 64
// characters, plain, percent encoded or in base64. It does not recognise a
// paraphrase.
//
// A memory is bounded. Once a text did not fit, the memory is flooded: it can no
// longer say where a value did not come from, and [Reading.Find] answers that every
// value came out of untrusted content. It answers the same where looking would take too long.
package provenance
