package main

import "testing"

func TestFatesOfCalls(t *testing.T) {
	for _, tt := range []struct {
		code            string
		arrived, failed bool
		want            callFate
	}{
		{"", true, false, callRan},
		{"execution_failed", true, false, callRan},
		{"approval_required", false, false, callHeld},
		{"permission_denied", false, false, callRefused},
		{"input_invalid", false, false, callRefused},
		{"input_invalid", false, true, callFailed},
		{"permission_denied", false, true, callRefused},
		{"not_available", false, false, callFailed},
		{"execution_failed", false, false, ""},
		{"", false, false, ""},
	} {
		got, err := fateOf(&executeAnswer{Code: tt.code}, tt.arrived, tt.failed)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("fateOf(%q, arrived %v, failed %v) = %q, %v, want %q", tt.code, tt.arrived, tt.failed, got, err, tt.want)
		}
	}
}
