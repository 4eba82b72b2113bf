package place

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestA1_ExchangesDuringOpensLeadNowhere exchanges a folder and a link while the
// folder is opened.
func TestA1_ExchangesDuringOpensLeadNowhere(t *testing.T) {
	dir := disk(t, "w/data/", "w/other -> ../out", "out/")
	data, other := filepath.Join(dir, "w/data"), filepath.Join(dir, "w/other")
	outside, err := os.Stat(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, data, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
			}
		}
	})
	opened, refused := 0, 0
	for range 200_000 {
		f, err := Open(data)
		if err != nil {
			refused++
			continue
		}
		opened++
		info, err := f.Stat()
		f.Close()
		if err != nil || os.SameFile(info, outside) {
			t.Fatalf("an open led outside: %v", err)
		}
	}
	close(stop)
	running.Wait()
	if opened == 0 || refused == 0 {
		t.Errorf("%d opens led to the folder and %d met the link: nothing was tried", opened, refused)
	}
}
