package sallyport_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

// TestErrorTexts checks the texts of the contract, section 3: they begin with
// the code, and code, resource and operation are fields.
func TestErrorTexts(t *testing.T) {
	tests := []struct {
		name      string
		err       *sallyport.Error
		text      string
		code      sallyport.Code
		resource  string
		operation string
		sentinel  error
	}{
		{
			"host", sallyport.HostError("api.stripe.com", ""),
			"HOST_NOT_ALLOWED: api.stripe.com is not in the declared allowedHosts",
			sallyport.CodeHostNotAllowed, "api.stripe.com", "dial", sallyport.ErrHostNotAllowed,
		},
		{
			"host on the floor", sallyport.HostError("169.254.169.254", "is a cloud metadata address"),
			"HOST_NOT_ALLOWED: 169.254.169.254 is a cloud metadata address",
			sallyport.CodeHostNotAllowed, "169.254.169.254", "dial", sallyport.ErrHostNotAllowed,
		},
		{
			"secret", sallyport.SecretError("STRIPE_KEY"),
			"SECRET_NOT_DECLARED: STRIPE_KEY is not in the tool's declared secrets",
			sallyport.CodeSecretNotDeclared, "STRIPE_KEY", "get", sallyport.ErrSecretNotDeclared,
		},
		{
			"path", sallyport.PathError("read", "/etc/passwd"),
			"PATH_NOT_REACHABLE: read not permitted for /etc/passwd",
			sallyport.CodePathNotReachable, "/etc/passwd", "read", sallyport.ErrPathNotReachable,
		},
		{
			"path on the floor", sallyport.PathFloorError("write", "/w/.git/config"),
			`PATH_NOT_REACHABLE: write of "/w/.git/config" hits the always-deny floor`,
			sallyport.CodePathNotReachable, "/w/.git/config", "write", sallyport.ErrPathNotReachable,
		},
		{
			"binary", sallyport.BinaryError("rm", ""),
			"BINARY_NOT_ALLOWED: rm is not in the declared allowedBinaries",
			sallyport.CodeBinaryNotAllowed, "rm", "spawn", sallyport.ErrBinaryNotAllowed,
		},
		{
			"binary with a reason", sallyport.BinaryError("./git", "is a path"),
			"BINARY_NOT_ALLOWED: ./git is a path",
			sallyport.CodeBinaryNotAllowed, "./git", "spawn", sallyport.ErrBinaryNotAllowed,
		},
		{
			"missing file", sallyport.FileNotFound("/w/a.txt"), "File not found: /w/a.txt",
			sallyport.CodeExecutionFailed, "/w/a.txt", "read", sallyport.ErrExecutionFailed,
		},
		{
			"input", sallyport.InputInvalid("offset 9 is beyond the end"), "offset 9 is beyond the end",
			sallyport.CodeInputInvalid, "", "", sallyport.ErrInputInvalid,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.err.Error(); got != tt.text {
				t.Errorf("Error() = %q, want %q", got, tt.text)
			}
			if tt.err.Code != tt.code || tt.err.Resource != tt.resource || tt.err.Operation != tt.operation {
				t.Errorf("fields = %s, %q, %q, want %s, %q, %q", tt.err.Code, tt.err.Resource, tt.err.Operation, tt.code, tt.resource, tt.operation)
			}
			wrapped := fmt.Errorf("while working: %w", tt.err)
			if !errors.Is(wrapped, tt.sentinel) {
				t.Errorf("errors.Is(%v, %v) = false, want true", wrapped, tt.sentinel)
			}
			if e, ok := errors.AsType[*sallyport.Error](wrapped); !ok || e != tt.err {
				t.Errorf("errors.AsType() = %v, %v, want the error itself", e, ok)
			}
		})
	}
}

// TestSentinelsAreDistinct compares each sentinel with each other one.
func TestSentinelsAreDistinct(t *testing.T) {
	sentinels := []error{
		sallyport.ErrInputInvalid, sallyport.ErrNotAvailable, sallyport.ErrExecutionFailed, sallyport.ErrStaleWrite,
		sallyport.ErrHostNotAllowed, sallyport.ErrSecretNotDeclared, sallyport.ErrPathNotReachable, sallyport.ErrBinaryNotAllowed,
	}
	for i, a := range sentinels {
		for j, b := range sentinels {
			if got := errors.Is(a, b); got != (i == j) {
				t.Errorf("errors.Is(%#v, %#v) = %v, want %v", a, b, got, i == j)
			}
		}
	}
}

// TestIsMatchesSentinelsOnly checks that an error with a detail matches only
// itself.
func TestIsMatchesSentinelsOnly(t *testing.T) {
	err := sallyport.PathError("read", "/a")
	for _, target := range []error{
		sallyport.PathError("read", "/b"), &sallyport.Error{Code: sallyport.CodePathNotReachable, Resource: "/a"},
		fs.ErrNotExist, errors.New("PATH_NOT_REACHABLE"),
	} {
		if errors.Is(err, target) {
			t.Errorf("errors.Is(%v, %v) = true, want false", err, target)
		}
	}
	if !errors.Is(err, err) {
		t.Error("an error is not itself")
	}
}

func TestErrorKeepsItsCause(t *testing.T) {
	cause := errors.New("the disk is on fire")
	err := &sallyport.Error{Code: sallyport.CodeExecutionFailed, Detail: "cannot read", Err: cause}
	if !errors.Is(err, cause) || err.Error() != "cannot read" {
		t.Errorf("Error() = %q, Is(cause) = %v, want the detail alone and true", err.Error(), errors.Is(err, cause))
	}
	if !errors.Is(sallyport.FileNotFound("/a"), fs.ErrNotExist) || errors.Is(sallyport.PathError("read", "/a"), fs.ErrNotExist) {
		t.Error("a missing file and a refusal are not told apart by fs.ErrNotExist")
	}
}

// TestCodes compares the table with the constants and with the statuses of the
// contract.
func TestCodes(t *testing.T) {
	want := map[sallyport.Code]int{
		sallyport.CodeInputInvalid: 400, sallyport.CodeNotAvailable: 404, sallyport.CodePermissionDenied: 403,
		sallyport.CodeRateLimited: 429, sallyport.CodeApprovalRequired: 409, sallyport.CodeApprovalDenied: 403,
		sallyport.CodeExecutionFailed: 502, sallyport.CodeStaleWrite: 409,
		sallyport.CodeHostNotAllowed: 0, sallyport.CodeSecretNotDeclared: 0,
		sallyport.CodePathNotReachable: 0, sallyport.CodeBinaryNotAllowed: 0,
	}
	got := map[sallyport.Code]int{}
	for _, c := range sallyport.Codes() {
		got[c.Code] = c.HTTP
		if !c.Code.Valid() || c.When == "" || c.Code.Scoped() != (c.HTTP == 0) {
			t.Errorf("row %+v: Valid() = %v, Scoped() = %v", c, c.Code.Valid(), c.Code.Scoped())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Codes() (-want +got):\n%s", diff)
	}
	sallyport.Codes()[0].When = "changed"
	if sallyport.Codes()[0].When == "changed" {
		t.Error("Codes() shares its table")
	}
	for _, c := range []sallyport.Code{"", "host_not_allowed", "nonsense"} {
		if c.Valid() || c.Scoped() {
			t.Errorf("Code(%q) is valid or scoped", c)
		}
	}
}

func TestErrorResult(t *testing.T) {
	scoped := sallyport.PathError("read", "/etc/passwd")
	tests := []struct {
		name string
		err  error
		want sallyport.Result
	}{
		{"nil", nil, sallyport.Result{Error: "the tool returned no result", Code: sallyport.CodeExecutionFailed}},
		{"plain", errors.New("boom"), sallyport.Result{Error: "boom", Code: sallyport.CodeExecutionFailed}},
		{"scoped", scoped, sallyport.Result{Error: scoped.Error(), Code: sallyport.CodeExecutionFailed}},
		{"scoped and wrapped", fmt.Errorf(`Get "https://x": %w`, scoped), sallyport.Result{Error: scoped.Error(), Code: sallyport.CodeExecutionFailed}},
		{"result code", sallyport.InputInvalid("bad"), sallyport.Result{Error: "bad", Code: sallyport.CodeInputInvalid}},
		{"stale", &sallyport.Error{Code: sallyport.CodeStaleWrite, Detail: "changed"}, sallyport.Result{Error: "changed", Code: sallyport.CodeStaleWrite}},
		{"unknown code", &sallyport.Error{Code: "oops", Detail: "odd"}, sallyport.Result{Error: "odd", Code: sallyport.CodeExecutionFailed}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, sallyport.ErrorResult(tt.err)); diff != "" {
				t.Errorf("ErrorResult(%v) (-want +got):\n%s", tt.err, diff)
			}
		})
	}
}

func TestResultErr(t *testing.T) {
	if err := sallyport.OK("fine").Err(); err != nil {
		t.Errorf("OK().Err() = %v, want nil", err)
	}
	err := sallyport.Err("gone", sallyport.CodeStaleWrite).Err()
	if !errors.Is(err, sallyport.ErrStaleWrite) || err.Error() != "gone" {
		t.Errorf("Err().Err() = %v, want the stale write with its text", err)
	}
	if got := sallyport.Err("x", "").Code; got != sallyport.CodeExecutionFailed {
		t.Errorf("Err(x, none).Code = %q, want execution_failed", got)
	}
}
