// Package wire is what a plugin and its host say to each other.
//
// A message is a line of JSON, its head, and bytes behind that line, its body,
// which may be empty. A module exports its memory and two functions without
// parameters and results: [ExportTools], which answers with a list of definitions,
// and [ExportCall], which reads a [Call] and answers with a result. It imports from
// [Module]: [FuncRead] and [FuncAnswer], and the functions of the accessors. Each of
// these takes the place and the length of a message and returns the length of the
// host's answer, which FuncRead then reads.
package wire

import "encoding/json"

// Module is the name of the module that the functions of the host are imported from.
const Module = "sallyport"

// The functions that a module exports.
const (
	// ExportTools answers with a JSON list of the tools' definitions.
	ExportTools = "sallyport_tools"
	// ExportCall reads a [Call], whose body is the arguments, runs the tool, and
	// answers with its result.
	ExportCall = "sallyport_call"
)

// The functions that carry messages, with the place and the length of a part of the
// module's memory.
const (
	// FuncRead copies the next bytes of the pending message and returns how many.
	FuncRead = "read"
	// FuncAnswer is the answer of the exported function, once.
	FuncAnswer = "answer"
)

// The functions of the accessors.
const (
	FuncAbs         = "fs_abs"           // File → text
	FuncReadFile    = "fs_read"          // File → the content as body
	FuncStat        = "fs_stat"          // File → FileInfo
	FuncList        = "fs_list"          // File → []FileInfo
	FuncWriteFile   = "fs_write"         // File and the content as body → null
	FuncMakeDir     = "fs_mkdir"         // File → null
	FuncUpdate      = "fs_update"        // File → the content as body; holds the file
	FuncCommit      = "fs_commit"        // Commit and the content as body → null; lets it go
	FuncHTTP        = "http"             // Request and its body → Response and its body
	FuncSecret      = "secret"           // Name → text
	FuncGet         = "kv_get"           // Name → Entry
	FuncSet         = "kv_set"           // Entry → null
	FuncDelete      = "kv_delete"        // Name → null
	FuncKeys        = "kv_list"          // Name, a prefix → []text
	FuncAttachments = "attachments_list" // Nothing → the list of attachments
	FuncAttachment  = "attachments_read" // Name, a ref → the content as body
	FuncProgress    = "progress"         // Progress → null
)

// Answer is the head of every answer of an accessor.
type Answer struct {
	// OK is what the function returns, where it returns something beside the body.
	OK json.RawMessage `json:"ok,omitempty"`
	// Error is why it failed; nil when it did not.
	Error *Error `json:"error,omitempty"`
}

// Error is the failure of an accessor.
type Error struct {
	// Code is the code of a refusal, or empty.
	Code string `json:"code,omitempty"`
	// Resource is what was refused; it may be empty.
	Resource string `json:"resource,omitempty"`
	// Operation is what was attempted; it may be empty.
	Operation string `json:"operation,omitempty"`
	// Detail is the text of the error, without the code.
	Detail string `json:"detail"`
	// Missing says that a file does not exist.
	Missing bool `json:"missing,omitempty"`
}

// Call is the head of a call; the arguments are the body. Its fields are those of
// sallyport.Call, and may be empty but for Tool and ID.
type Call struct {
	// Tool is the name of the tool.
	Tool string `json:"tool"`
	// ID is the id under which the call is recorded.
	ID string `json:"id"`
	// Session is the caller's session id.
	Session string `json:"session,omitempty"`
	// Personality is the name of the role.
	Personality string `json:"personality,omitempty"`
	// Platform is the surface.
	Platform string `json:"platform,omitempty"`
	// Workspace is the folder to which relative paths are relative.
	Workspace string `json:"workspace,omitempty"`
	// Turn is the number of the caller's turn.
	Turn int `json:"turn,omitempty"`
	// ResultBudget is the number of characters after which the value is cut.
	ResultBudget int `json:"result_budget,omitempty"`
	// Tainted says that the session may have read untrusted content.
	Tainted bool `json:"tainted,omitempty"`
	// Seconds is the time until the deadline; 0 means none.
	Seconds float64 `json:"seconds,omitempty"`
}

// File names a file.
type File struct {
	// Name is absolute or relative to the workspace.
	Name string `json:"name"`
}

// FileInfo describes a file.
type FileInfo struct {
	// Name is the last part of its name.
	Name string `json:"name"`
	// Size is its length in bytes.
	Size int64 `json:"size"`
	// Mode is that of Go's fs.FileMode.
	Mode uint32 `json:"mode"`
	// Modified is the time of the last change, in seconds since 1970.
	Modified int64 `json:"modified"`
}

// Commit ends an update: with the body as the new content, or without a change.
type Commit struct {
	// Keep says that the body is the new content.
	Keep bool `json:"keep,omitempty"`
}

// Name is a key, a prefix or a reference.
type Name struct {
	// Name is its text.
	Name string `json:"name"`
}

// Entry is a value in the key-value store.
type Entry struct {
	// Name is the key; empty in an answer.
	Name string `json:"name,omitempty"`
	// Value is the value; empty when the key is absent.
	Value string `json:"value"`
	// Found says whether the key is there.
	Found bool `json:"found,omitempty"`
	// TTL is the lifetime in milliseconds; 0 means the declared one.
	TTL int64 `json:"ttl,omitempty"`
}

// Request is an HTTP request.
type Request struct {
	// Method is the HTTP method.
	Method string `json:"method"`
	// URL is absolute.
	URL string `json:"url"`
	// Header holds the values by name.
	Header map[string][]string `json:"header,omitempty"`
}

// Response is the answer to a request, after redirects.
type Response struct {
	// Status is the HTTP status.
	Status int `json:"status"`
	// URL is that of the last request.
	URL string `json:"url"`
	// Header holds the values by name.
	Header map[string][]string `json:"header,omitempty"`
}

// Progress is a report for people.
type Progress struct {
	// Message is its text.
	Message string `json:"message"`
	// Percent is 0 to 100; nil when unknown.
	Percent *float64 `json:"percent,omitempty"`
	// Audience is user, dashboard or internal, which empty means.
	Audience string `json:"audience,omitempty"`
}

// Split divides a message into its head and its body.
func Split(message []byte) (head, body []byte) {
	for i, b := range message {
		if b == '\n' {
			return message[:i], message[i+1:]
		}
	}
	return message, nil
}
