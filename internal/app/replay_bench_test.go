package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// BenchmarkReplay decides a record of 5,000 calls again, from the state file on the disk
// to the count of flips.
func BenchmarkReplay(b *testing.B) {
	const calls = 5000
	dir := b.TempDir()
	env := &Environment{
		Stderr: b.Output(), Dir: dir, Home: dir,
		Lookup: func(string) (string, bool) { return "", false }, Pairs: func() []string { return nil },
	}
	text := `{"version": 2, "state": "sqlite:state.db", "personalities": {"role": {"toolset": ["read_file"], "fs_reach": {"read": ["${workspace}"]},
		"arguments": {"read_file": {"path": {"maxLength": 40}}}}}}`
	for name, text := range map[string]string{ConfigName: text, "a.txt": "text"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	rt, err := OpenForCalls(b.Context(), env, nil)
	if err != nil {
		b.Fatal(err)
	}
	caller := &sallyport.Caller{Principal: rt.Callers.Local(), Session: "s", Personality: "role", Platform: sallyport.PlatformCLI}
	for range calls {
		args := json.RawMessage(`{"path":"a.txt"}`)
		if res := rt.InForce().Registry.Call(b.Context(), caller, sallyport.Request{Tool: "read_file", Args: args}); !res.OK {
			b.Fatal(res.Error)
		}
	}
	if err := rt.Close(); err != nil {
		b.Fatal(err)
	}
	past, err := OpenForReplay(b.Context(), env, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer past.Close()
	for b.Loop() {
		sum, err := past.Replay(b.Context(), time.Time{}, func(c *ReplayedCall) error { return fmt.Errorf("%+v", c) })
		if err != nil || sum.Same != calls {
			b.Fatalf("Replay() = %+v, %v", sum, err)
		}
	}
	b.ReportMetric(calls*float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}
