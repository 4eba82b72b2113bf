package command

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestServeUnderSystemd passes a socket as systemd does, and hears that the server is
// ready and that it stops.
func TestServeUnderSystemd(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	folder, err := os.MkdirTemp("", "notify") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	told, err := net.ListenPacket("unixgram", filepath.Join(folder, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	hear := func(want string) {
		t.Helper()
		b := make([]byte, 100)
		if err := told.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		n, _, err := told.ReadFrom(b)
		if err != nil || string(b[:n]) != want {
			t.Fatalf("systemd hears %q %v, want %s", b[:n], err, want)
		}
	}
	cmd := exec.Command("sh", "-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec sallyport serve")
	cmd.Dir, cmd.ExtraFiles = dir, []*os.File{socket}
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "NOTIFY_SOCKET="+told.LocalAddr().String())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	hear("READY=1")
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, address) {
		t.Errorf("serve announces %q %v, want %s", line, err, address)
	}
	res, err := http.Get("http://" + address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	hear("STOPPING=1")
	if err := cmd.Wait(); err != nil {
		t.Errorf("serve ends with %v", err)
	}
}
