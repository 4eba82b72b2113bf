package plugin

import (
	"testing"

	"github.com/tetratelabs/wazero/api"
)

// TestFewIdleInstancesKeepTheirStacks: those that were used last.
func TestFewIdleInstancesKeepTheirStacks(t *testing.T) {
	t.Parallel()
	var p instancePool
	for range 2 * maxStacks {
		p.keepInstance(&instance{asked: map[string]api.Function{"call": nil}})
	}
	for at, i := range p.idle {
		i.stop()
		if kept := len(i.asked) > 0; kept != (at >= maxStacks) {
			t.Errorf("idle instance %d keeps its stack: %t", at, kept)
		}
	}
}
