//go:build unix

package secrets

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestDirModes(t *testing.T) {
	tests := []struct {
		name string
		mode os.FileMode
		ok   bool
	}{
		{name: "owner", mode: 0o600, ok: true},
		{name: "owner reads", mode: 0o400, ok: true},
		{name: "group reads", mode: 0o640, ok: true},
		{name: "group writes", mode: 0o620},
		{name: "others read", mode: 0o604},
		{name: "others write", mode: 0o602},
		{name: "usual mode of a file", mode: 0o644},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, folder := openDir(t, nil)
			writeSecret(t, folder, "ref", "correct horse", tt.mode)
			_, ok, err := d.Secret(t.Context(), "ref")
			if ok != tt.ok {
				t.Errorf("Secret of a file with mode %#o = %t, %v, want %t", tt.mode, ok, err, tt.ok)
			}
			if !tt.ok && (err == nil || !strings.Contains(err.Error(), "chmod 600 "+filepath.Join(folder, "ref"))) {
				t.Errorf("Secret of a file with mode %#o: error %v, want the command that mends it", tt.mode, err)
			}
			if got := known(t, d); (len(got) == 1) != tt.ok {
				t.Errorf("Known with mode %#o = %d values, want one only when it can be handed out", tt.mode, len(got))
			}
		})
	}
}

func TestDirOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving a file away needs root")
	}
	d, folder := openDir(t, map[string]string{"ref": "correct horse"})
	if err := os.Chown(filepath.Join(folder, "ref"), 65534, -1); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := d.Secret(t.Context(), "ref"); ok || err == nil || !strings.Contains(err.Error(), "owned by user 65534") {
		t.Errorf("Secret of another user's file = %t, %v, want a refusal", ok, err)
	}
}

func TestDirNeverWaitsOnAFIFO(t *testing.T) {
	d, folder := openDir(t, nil)
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, _, err := d.Secret(t.Context(), "pipe")
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("Secret of a FIFO = %v, want a refusal", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Secret waits for the writer of a FIFO")
	}
}
