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
	// Resource, Operation and Detail are those of the accessor's error.
	Resource  string `json:"resource,omitempty"`
	Operation string `json:"operation,omitempty"`
	Detail    string `json:"detail"`
	// Missing says that a file does not exist.
	Missing bool `json:"missing,omitempty"`
}

// Call is the head of a call; the arguments are the body.
type Call struct {
	Tool         string  `json:"tool"`
	ID           string  `json:"id"`
	Session      string  `json:"session,omitempty"`
	Personality  string  `json:"personality,omitempty"`
	Platform     string  `json:"platform,omitempty"`
	Workspace    string  `json:"workspace,omitempty"`
	Turn         int     `json:"turn,omitempty"`
	ResultBudget int     `json:"result_budget,omitempty"`
	Tainted      bool    `json:"tainted,omitempty"`
	Seconds      float64 `json:"seconds,omitempty"` // until the deadline
}

// File names a file.
type File struct {
	Name string `json:"name"`
}

// FileInfo describes a file.
type FileInfo struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	// Mode is that of Go's fs.FileMode.
	Mode uint32 `json:"mode"`
	// Modified is the time of the last change, in seconds since 1970.
	Modified int64 `json:"modified"`
}

// Commit ends an update: with the body as the new content, or without a change.
type Commit struct {
	Keep bool `json:"keep,omitempty"`
}

// Name is a key, a prefix or a reference.
type Name struct {
	Name string `json:"name"`
}

// Entry is a value in the key-value store.
type Entry struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value"`
	// Found says whether the key is there.
	Found bool `json:"found,omitempty"`
	// TTL is the lifetime in milliseconds; 0 means the declared one.
	TTL int64 `json:"ttl,omitempty"`
}

// Request is an HTTP request.
type Request struct {
	Method string              `json:"method"`
	URL    string              `json:"url"`
	Header map[string][]string `json:"header,omitempty"`
}

// Response is the answer to a request, after redirects.
type Response struct {
	Status int                 `json:"status"`
	URL    string              `json:"url"`
	Header map[string][]string `json:"header,omitempty"`
}

// Progress is a report for people.
type Progress struct {
	Message  string   `json:"message"`
	Percent  *float64 `json:"percent,omitempty"`
	Audience string   `json:"audience,omitempty"`
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
