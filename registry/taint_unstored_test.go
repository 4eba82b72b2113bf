package registry_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/sqlite"
)

// fullDisk is a recorder that records no intents while it is full.
type fullDisk struct {
	registry.Recorder
	full atomic.Bool
}

func (f *fullDisk) Record(ctx context.Context, e *audit.Event) error {
	if f.full.Load() && e.Kind == audit.KindIntent {
		return errors.New("the disk is full")
	}
	return f.Recorder.Record(ctx, e)
}

// TestWhatCouldNotBeRecordedCountsAfterAReload reads untrusted content and private data
// while nothing can be recorded. It counts in the registry that follows and, once the
// first has been closed, for another process.
func TestWhatCouldNotBeRecordedCountsAfterAReload(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	disk := &fullDisk{Recorder: audittest.NewLog(t, db)}
	inProcess := func(c *conversation.Memory) *flows {
		return wireFlows(t, nil, func(o *registry.Options) {
			o.Recorder, o.Facts, o.FactsInRecords, o.Conversations = disk, db.Facts(), true, c
		})
	}
	held := func(when string, f *flows) {
		t.Helper()
		if res := f.by("p", "s", "send"); res.Code != sallyport.CodeApprovalRequired {
			t.Errorf("%s: the call = %+v, want it held", when, res)
		}
	}
	own := conversation.New(nil)
	first := inProcess(own)
	disk.full.Store(true)
	first.let("p", "s", "mcp__trivia__fact", "read_file")
	disk.full.Store(false)
	held("before the reload", first)
	held("after the reload", inProcess(own))
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	held("in another process", inProcess(conversation.New(nil)))
}
