package sallyport

import (
	"io/fs"
	"slices"
)

// Code classifies a failure. Codes never change; texts may.
type Code string

// Result codes: the code field of a failed [Result].
const (
	// CodeInputInvalid: the arguments fail the schema, are not JSON or repeat a
	// key, or the tool refuses them.
	CodeInputInvalid Code = "input_invalid"
	// CodeNotAvailable: the tool is unknown, is invisible to the caller,
	// reports that it is not available, or declares a capability for which no
	// backend is connected.
	CodeNotAvailable Code = "not_available"
	// CodePermissionDenied: the principal lacks a permission of the tool.
	CodePermissionDenied Code = "permission_denied"
	// CodeRateLimited: the principal has used up the tool's rate limit.
	CodeRateLimited Code = "rate_limited"
	// CodeApprovalRequired: a human has to decide and has not decided yet.
	CodeApprovalRequired Code = "approval_required"
	// CodeApprovalDenied: a human denied the call, or the decision expired.
	CodeApprovalDenied Code = "approval_denied"
	// CodeExecutionFailed: the tool failed, panicked, timed out, or returned a
	// result that its returns schema forbids.
	CodeExecutionFailed Code = "execution_failed"
	// CodeStaleWrite: the file changed since this session read it.
	CodeStaleWrite Code = "STALE_WRITE"
)

// Scoped codes: the refusals of accessors. A tool that returns such an error
// yields a result with CodeExecutionFailed whose text begins with the code.
const (
	// CodeHostNotAllowed: the network accessor refused a host.
	CodeHostNotAllowed Code = "HOST_NOT_ALLOWED"
	// CodeSecretNotDeclared: the secrets accessor refused a reference.
	CodeSecretNotDeclared Code = "SECRET_NOT_DECLARED"
	// CodePathNotReachable: the file accessor refused a path.
	CodePathNotReachable Code = "PATH_NOT_REACHABLE"
	// CodeBinaryNotAllowed: the process accessor refused a binary.
	CodeBinaryNotAllowed Code = "BINARY_NOT_ALLOWED"
)

// CodeSpec documents one code: it is one row of the error table.
type CodeSpec struct {
	// Code is the code that the row documents.
	Code Code
	// HTTP is the status of the HTTP API; 0 for scoped codes, which arrive
	// inside an execution_failed.
	HTTP int
	// When says in which cases the code appears.
	When string
}

// codes is the only table of codes. docs/reference/errors.md is generated from it.
var codes = [...]CodeSpec{
	{CodeInputInvalid, 400, "arguments fail the schema (all faults, with pointers), are not JSON, repeat a key, or the tool says so"},
	{CodeNotAvailable, 404, "unknown tool, outside the personality or the surface, gated off; 503 when a backend is missing"},
	{CodePermissionDenied, 403, "the principal lacks a permission that the tool requires"},
	{CodeRateLimited, 429, "the rate limit of principal and tool is used up; retry_after_ms says when to come back"},
	{CodeApprovalRequired, 409, "a human has to decide and has not yet; approval_id and expires_at name the held call"},
	{CodeApprovalDenied, 403, "a human said no, or the decision expired"},
	{CodeExecutionFailed, 502, "the tool failed, panicked, timed out, or returned what its returns schema forbids"},
	{CodeStaleWrite, 409, "the file changed since this session read it"},
	{CodeHostNotAllowed, 0, "the host is outside the grant, or the address that would be dialled is refused by the floor"},
	{CodeSecretNotDeclared, 0, "the reference is outside the tool's declared secrets or the personality's ceiling"},
	{CodePathNotReachable, 0, "the path is outside the grant, or on the always-deny floor"},
	{CodeBinaryNotAllowed, 0, "the binary is outside the grant, or not where the fixed search path finds it"},
}

// Codes returns the table of all codes, in the order of the documentation.
// The caller owns the slice.
func Codes() []CodeSpec { return slices.Clone(codes[:]) }

// Valid reports whether c is one of the codes of this package.
func (c Code) Valid() bool {
	return slices.ContainsFunc(codes[:], func(s CodeSpec) bool { return s.Code == c })
}

// Scoped reports whether c is a code of an accessor, which precedes the text of
// the error.
func (c Code) Scoped() bool {
	switch c {
	case CodeHostNotAllowed, CodeSecretNotDeclared, CodePathNotReachable, CodeBinaryNotAllowed:
		return true
	default:
		return false
	}
}

// Error is a refusal or failure with a code. Detail may be shown to a model: it
// names the thing refused, never a secret, a stack or a driver's message. Err
// holds the cause, which belongs only in the log.
type Error struct {
	// Code classifies the failure.
	Code Code
	// Resource is the thing refused: a host, reference, path or binary.
	// Empty when there is none.
	Resource string
	// Operation is the attempted operation: read, write, dial, get, spawn.
	// Empty when there is none.
	Operation string
	// Detail is the text for the caller, without the code.
	Detail string
	// Err is the cause; nil when there is none. It is never shown.
	Err error
}

// Error returns "CODE: detail" for a scoped code. For a result code it returns
// only the detail, because a result carries the code in a field.
func (e *Error) Error() string {
	if e.Code.Scoped() {
		return string(e.Code) + ": " + e.Detail
	}
	return e.Detail
}

// Unwrap returns the cause, nil when there is none.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an *Error with the same code and no detail,
// which is the form of the sentinels below.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Detail == "" && t.Resource == ""
}

// Sentinels for errors.Is. They hold a code and nothing else.
var (
	ErrInputInvalid      error = &Error{Code: CodeInputInvalid}
	ErrNotAvailable      error = &Error{Code: CodeNotAvailable}
	ErrExecutionFailed   error = &Error{Code: CodeExecutionFailed}
	ErrStaleWrite        error = &Error{Code: CodeStaleWrite}
	ErrHostNotAllowed    error = &Error{Code: CodeHostNotAllowed}
	ErrSecretNotDeclared error = &Error{Code: CodeSecretNotDeclared}
	ErrPathNotReachable  error = &Error{Code: CodePathNotReachable}
	ErrBinaryNotAllowed  error = &Error{Code: CodeBinaryNotAllowed}
)

// HostError refuses a host. An empty reason means that the host is outside
// the grant; otherwise the text is "<host> <reason>".
func HostError(host, reason string) *Error {
	if reason == "" {
		reason = "is not in the declared allowedHosts"
	}
	return &Error{Code: CodeHostNotAllowed, Resource: host, Operation: "dial", Detail: host + " " + reason}
}

// SecretError refuses a secret reference that is outside the grant.
func SecretError(ref string) *Error {
	return &Error{
		Code: CodeSecretNotDeclared, Resource: ref, Operation: "get",
		Detail: ref + " is not in the tool's declared secrets",
	}
}

// PathError refuses a path that is outside the grant. The operation is read
// or write. The text is the same whether or not the path exists.
func PathError(operation, path string) *Error {
	return &Error{
		Code: CodePathNotReachable, Resource: path, Operation: operation,
		Detail: operation + " not permitted for " + path,
	}
}

// PathFloorError refuses a path on the always-deny floor.
func PathFloorError(operation, path string) *Error {
	return &Error{
		Code: CodePathNotReachable, Resource: path, Operation: operation,
		Detail: operation + ` of "` + path + `" hits the always-deny floor`,
	}
}

// BinaryError refuses a binary. An empty reason means that it is outside the
// grant; otherwise the text is "<binary> <reason>".
func BinaryError(binary, reason string) *Error {
	if reason == "" {
		reason = "is not in the declared allowedBinaries"
	}
	return &Error{Code: CodeBinaryNotAllowed, Resource: binary, Operation: "spawn", Detail: binary + " " + reason}
}

// FileNotFound reports that a reachable path does not exist. It matches
// fs.ErrNotExist and is distinct from a refusal.
func FileNotFound(path string) *Error {
	return &Error{
		Code: CodeExecutionFailed, Resource: path, Operation: "read",
		Detail: "File not found: " + path, Err: fs.ErrNotExist,
	}
}

// InputInvalid reports a fault in the arguments that no schema expresses. The
// detail is the tool's own text. It may repeat the arguments, but nothing that
// the tool has read, because the gate does not mark it as untrusted.
func InputInvalid(detail string) *Error { return &Error{Code: CodeInputInvalid, Detail: detail} }
