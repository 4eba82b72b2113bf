// Package plugin runs the tools of WebAssembly modules, which need no trust: a
// module reaches the accessors of its call, a closed table of harmless system
// functions, and nothing else.
//
// Start with [Load], which checks and compiles a module and asks it for its
// tools, and [Plugin.Run], which returns what runs one of them.
//
// A module exchanges messages with its host; see package wire. An instance of a
// module serves one tool for one session, one call at a time, so that nothing it
// remembers reaches another principal, session, role or tool. Memory, time, the
// number of instances, of calls to the host, and of bytes are bounded. What a
// module answers is output of another party: the gate cleans and wraps it.
//
// The register of promises is docs/guarantees.md: G-PLUGIN.
package plugin

import "time"

// The bounds of every plugin.
const (
	// MaxModule bounds the text of a module, in bytes. A large Go program has 10 MiB.
	MaxModule = 32 << 20
	// MaxMemoryMiB is the most memory that an instance may be given.
	MaxMemoryMiB = 1024
	// defaultMemoryMiB is what an instance gets where the operator says nothing.
	defaultMemoryMiB = 64
	// defaultTimeout is the longest call where the operator says nothing.
	defaultTimeout = 30 * time.Second
	// startTimeout bounds the time until an instance can be called, and the
	// answer to what tools there are.
	startTimeout = 20 * time.Second
	// compileTimeout bounds the translation of a module.
	compileTimeout = 2 * time.Minute

	// maxFunction bounds the code of one function, in bytes: translating one takes
	// time that grows faster than its size.
	maxFunction = 256 << 10
	// maxLong bounds the loops of a function with the instructions that may take long
	// by themselves: translating takes time that grows faster than their number.
	maxLong = 1000
	// maxFlow bounds what the branches and calls of a function hand on: variables, and as
	// many parameters or results as the widest type has. Translating takes some 250 bytes
	// for each, and time that grows faster. Each branch and call counts as leastFlow of
	// them at least.
	maxFlow, leastFlow = 1 << 20, 40
	// maxGuarded bounds the code of a module with the places at which it can be
	// ended, which make that of a large Go program a fifth larger.
	maxGuarded = 2 * MaxModule
	// maxFunctions bounds the functions of a module.
	maxFunctions = 200_000
	// maxLocals bounds the local variables of a function, maxAllLocals those of a module:
	// a claim of many takes a few bytes, and eight bytes for each are kept.
	maxLocals, maxAllLocals = 50_000, 16 << 20
	// maxTyped bounds the parameters and results of all types: each takes some 90 bytes.
	maxTyped = 1 << 20
	// maxTables and maxElements bound the tables of a module, and what all of them hold.
	maxTables, maxElements = 16, 1 << 20
	// maxSegments bounds the parts of which memory is filled. A Go program has 100,000.
	maxSegments = 1 << 17
	// maxGlobals bounds the global variables of a module.
	maxGlobals = 100_000

	// maxTools bounds the tools that one plugin declares.
	maxTools = 200
	// maxMessage bounds one message between a module and its host, in bytes.
	maxMessage = 16 << 20
	// maxHostCalls bounds the calls of a run to accessors and system functions.
	maxHostCalls = 100_000
	// maxMoved bounds the bytes that a run moves through the accessors.
	maxMoved = 256 << 20
	// maxLogLines and maxLogBytes bound what a run writes to its standard output
	// and error: lines, and the bytes of each.
	maxLogLines, maxLogBytes = 100, 1000

	// maxInstances bounds the instances of a plugin that run at once,
	// maxOfPrincipal those of them that run for one principal.
	maxInstances, maxOfPrincipal = 16, 8
	// maxIdle bounds the instances that wait for the next call of their session,
	// idleTime how long one waits.
	maxIdle, idleTime = 16, time.Minute
)
