// Package audit keeps the record of what tools were asked to do and what
// came of it: an intent before a call runs, an outcome after it, denials
// included, and what an operator changed in between, in one chain that shows
// tampering.
//
// Start with [LoadKey] and [New]; [Log.Record] returns when a record is
// durable. [Verify] walks the chain, [Export] writes it as JSON Lines,
// [ReadExport] reads such a file so that it can be verified elsewhere, and
// [Prune] cuts off the old end.
//
// # The chain
//
// Records are numbered from 1 without gaps. Each carries
//
//	hash = HMAC-SHA256(key, "sallyport/audit/record/1\n" ‖ prev ‖ seq ‖ time ‖ denied ‖
//	                        kind ‖ call ‖ tool ‖ principal ‖ body)
//
// where prev is the 32-byte hash of the record before it (zeros for the
// first), seq and time (Unix nanoseconds) are big-endian 64-bit integers,
// denied is one byte, and each text is preceded by its length as a
// big-endian 32-bit integer, so that no two records give the same input.
// The body is the event as JSON without its sequence number. It is hashed as
// it is stored and never encoded again: a store and an export hold the same
// bytes. The other fields repeat parts of the body for searching; the hash
// covers them, so that a search cannot be misled.
//
// The records of several processes form one chain: number and hash are given
// inside the store's write transaction.
//
// # What it proves
//
// Without the key, no one can change, swap, insert, remove or repeat a
// record without [Verify] naming the first bad one. The newest records can
// be cut off, or the whole store put back to an older state, without a
// trace in the store itself: keep the [Head] elsewhere and give it to
// Verify, which then proves the tail too. A holder of the key can forge
// everything; it lives in a file of its own.
package audit
