package sandbox

import (
	"io"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

// Programs that know no proxy are observed by the names that they look up, on
// whatever port, and servers of their own have the ports that they want.
func TestObserveWithoutProxy(t *testing.T) {
	t.Parallel()
	installed(t, "python3")
	o := newObservatory(t)
	o.net.serveName("echo.example.org", 7777, rawServer(t, func(c net.Conn) { _, _ = io.Copy(c, c) }))
	seen, out := o.observe(ObserveOptions{}, "python3", "-c", `
import socket, urllib.request as u
own = socket.create_server(("127.0.0.1", 7443))
def say(port):
    s = socket.create_connection(("echo.example.org", port)); s.sendall(b"\0x"); s.shutdown(socket.SHUT_WR)
    return s.makefile().read()[1:]
print(say(7777))
print(u.build_opener(u.ProxyHandler({})).open("http://rates.example.org/").read().decode().strip() != "")
try: say(7443)
except OSError: print("refused")
try: socket.create_connection(("93.184.216.1", 80))
except OSError: print("unreachable")
`)
	if out != "x\nTrue\nrefused\nunreachable" {
		t.Errorf("the program says %q", out)
	}
	want := &sallyport.NetworkCapability{AllowedHosts: []string{"echo.example.org:7777", "rates.example.org"}}
	if diff := cmp.Diff(want, seen.Capabilities.Network); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	for _, item := range []string{"echo.example.org:7443", "93.184.216.1:80"} {
		if withheld(seen, "network", item) == nil {
			t.Errorf("withheld = %+v, want %s", seen.Withheld, item)
		}
	}
}
