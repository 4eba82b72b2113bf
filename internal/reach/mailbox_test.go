package reach

import "testing"

func TestCheckMailbox(t *testing.T) {
	for local, ok := range map[string]bool{
		"bob": true, "bob+list": true, "b-o/b=x": true, "o'hara": true, "jürgen": true, "用户": true, "=": true, "?=": true,
		"=?utf-8?q?eve=40evil.example=3e?=": false, "a=?b": false, "|cat": false, "a|cat": false, "/tmp/x": false, "-oQ": false,
		"bob\u202e": false, "\u200bbob": false, "bob\u00a0x": false, "bob\u3000x": false, "bob\u2028": false, "bob x": false, "bob\x7f": false, "\ue000": false,
	} {
		if err := CheckMailbox(local); (err == nil) != ok {
			t.Errorf("CheckMailbox(%q) = %v, want ok %t", local, err, ok)
		}
	}
}
