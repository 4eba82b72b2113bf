package app

import "testing"

func TestUnwrapTextRemovesTheWrapper(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain": "plain",
		"<untrusted source=\"unknown\" tool=\"a\">\nit failed\n</untrusted>": "it failed",
		"x: <untrusted tool=\"a\">\nit\nfailed\n</untrusted>":                "x: it\nfailed",
	} {
		if got := unwrapText(text); got != want {
			t.Errorf("unwrapText(%q) = %q, want %q", text, got, want)
		}
	}
}
