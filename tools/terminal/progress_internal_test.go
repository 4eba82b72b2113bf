package terminal

import (
	"strings"
	"testing"
)

func TestTheLastWholeLineIsKnown(t *testing.T) {
	t.Parallel()
	var o outputCapture
	for _, tt := range []struct{ write, want string }{
		{"begin", ""},
		{"ning\n", "ning"},
		{"1 of 9\n2 of 9\n3 of", "2 of 9"},
		{"\n\n", "2 of 9"},
		{strings.Repeat("x", 500) + "\r\n", strings.Repeat("x", maxLine)},
		{"\xff\n", "\ufffd"},
	} {
		if _, err := o.Write([]byte(tt.write)); err != nil || o.lastLine() != tt.want {
			t.Errorf("after %.20q: %q, %v; want %q", tt.write, o.lastLine(), err, tt.want)
		}
	}
}
