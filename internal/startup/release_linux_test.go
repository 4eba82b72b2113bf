package startup

import (
	"io"
	"os"
	"testing"
)

func residentKiB() (sum int) {
	for _, m := range programMappings() {
		sum += m.resident
	}
	return sum
}

// What was mapped of the program file is let go, and the program goes on.
func TestReleaseMemory(t *testing.T) {
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	for _, m := range programMappings() {
		// Reading all of it maps all of it.
		if _, err := io.Copy(io.Discard, io.NewSectionReader(memory, int64(m.start), int64(m.end-m.start))); err != nil {
			t.Fatal(err)
		}
	}
	before := residentKiB()
	releaseMemory()
	if after := residentKiB(); before < 1024 || after > before*9/10 {
		t.Errorf("%d KiB of the program file are resident, before %d", after, before)
	}
}
