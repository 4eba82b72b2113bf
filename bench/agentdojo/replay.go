package main

import (
	"time"
)

// callFate is what became of a call.
type callFate string

// The fates of calls.
const (
	callRan     callFate = "ran"
	callHeld    callFate = "held"
	callRefused callFate = "refused"
	// callFailed is a call that failed when it was recorded, too: of a tool that the
	// suite does not have, or with arguments that are none of its.
	callFailed callFate = "failed"
)

// gatedCall is a call that went through the gate.
type gatedCall struct {
	fate callFate
	// id is the call in the record, code and why what the caller was told, approval
	// the request that a person has to decide.
	id, code, why, approval string
	took                    time.Duration
}

