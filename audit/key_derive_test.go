package audit_test

import (
	"bytes"
	"testing"

	"github.com/sallyport/sallyport/audit"
)

func TestDeriveDependsOnKeyAndPurpose(t *testing.T) {
	key := func(b byte) audit.Key {
		k, err := audit.NewKey(bytes.Repeat([]byte{b}, audit.KeyBytes))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	one := key(1).Derive("a")
	if len(one) != audit.KeyBytes || !bytes.Equal(one, key(1).Derive("a")) {
		t.Errorf("Derive() = %x, want the same %d bytes each time", one, audit.KeyBytes)
	}
	if bytes.Equal(one, key(1).Derive("b")) || bytes.Equal(one, key(2).Derive("a")) {
		t.Error("another purpose or key derives the same")
	}
}
