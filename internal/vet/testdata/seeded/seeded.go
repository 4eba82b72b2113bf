// Package seeded holds tools that go around their accessors. A comment with the
// word want says what is found in its line: the kind, or "not shown", and a part of
// the text.
package seeded

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"plugin"
	"reflect"
	"sync"
	"syscall"
	"text/template"
	"unsafe"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/scoped"
)

var home = os.Getenv("HOME") // want environment: os.Getenv

type in struct{}

// keeper keeps what its constructor made.
type keeper struct {
	client *http.Client
	out    io.Writer
	lines  *bufio.Writer
	once   *sync.Once
	later  func()
	db     *sql.DB
	reach  sallyport.Network
	dialer interface {
		Dial(network, address string) (net.Conn, error)
	}
}

// Tools makes the tools.
func Tools() ([]sallyport.Tool, error) {
	db, err := sql.Open("x", "")
	if err != nil {
		return nil, err
	}
	k := &keeper{
		client: &http.Client{}, out: os.Stdout, lines: bufio.NewWriter(os.Stderr), once: new(sync.Once), db: db,
		dialer: &net.Dialer{}, later: func() { _ = os.Remove(home) }, // want file: os.Remove
	}
	if k.reach, err = ownNetwork(); err != nil {
		return nil, err
	}
	return []sallyport.Tool{
		{Name: "file", Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) { return readIt("/etc/passwd") }},
		{Name: "kept", Run: k.run},
		{Name: "process", Run: startIt},
		{Name: "memory", Run: poke},
		{Name: "reflection", Run: callIt},
		{Name: "handed", Run: handed(os.ReadFile)},
		{Name: "chosen", Run: runs["x"]}, // want not shown: only the run knows
		schema.MustTool(sallyport.Tool{Name: "typed"}, func(context.Context, *sallyport.Call, in) (sallyport.Result, error) {
			defer os.Chdir("/") // want file: os.Chdir
			go func() { dialIt() }()
			return sallyport.OK(fmt.Sprint(environ())), nil
		}),
	}, nil
}

func readIt(name string) (sallyport.Result, error) {
	text, err := os.ReadFile(name) // want file: os.ReadFile
	return sallyport.OK(string(text)), err
}

func environ() []string { return os.Environ() } // want environment: os.Environ

func dialIt() {
	_, _ = net.Dial("tcp", "example.com:80") // want network: net.Dial
}

func (k *keeper) run(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://example.com", nil)
	if err != nil {
		return sallyport.Result{}, err
	}
	_, _ = k.client.Do(req)           // want network: Client).Do uses a net/http.Client of its own
	_, _ = http.DefaultClient.Do(req) // want network: net/http.DefaultClient
	_, _ = c.Network.Client().Do(req) // the call's
	fmt.Fprintln(k.out, "x")          // want file: os.Stdout
	_ = k.lines.Flush()               // want file: os.Stderr
	k.once.Do(k.later)
	_, _ = k.db.QueryContext(ctx, "")                                    // want network: database/sql.Open
	_, _ = k.dialer.Dial("tcp", "x:1")                                   // want network: a net.Dialer of its own
	_, _ = k.reach.DialContext(ctx, "tcp", "x:1")                        // want accessor: DialContext of one that is not the call's
	_ = template.Must(template.New("").Parse("")).Execute(io.Discard, k) // want not shown: calls what only the run knows
	return sallyport.Result{}, nil
}

func startIt(ctx context.Context, _ *sallyport.Call) (sallyport.Result, error) {
	cmd := exec.CommandContext(ctx, "id") // want process: os/exec.CommandContext
	own := &exec.Cmd{Path: "/bin/id"}
	_ = own.Run()                                          // want process: a os/exec.Cmd of its own
	out, err := cmd.Output()                               // want process: os/exec.CommandContext
	_, _, _ = syscall.Syscall(syscall.SYS_GETPID, 0, 0, 0) // want system call: syscall.Syscall
	_, _ = plugin.Open("x.so")                             // want plugin: plugin.Open
	stop()
	return sallyport.OK(string(out)), err
}

func poke(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
	*(*int)(unsafe.Pointer(c)) = 1 // want unsafe memory: may be
	bytes := []byte("x")
	return sallyport.OK(*(*string)(unsafe.Pointer(&bytes))), nil
}

func callIt(context.Context, *sallyport.Call) (sallyport.Result, error) {
	reflect.ValueOf(readIt).Call(nil) // want not shown: reflect.Value).Call
	add(1)
	return sallyport.Result{}, nil
}

func handed(read func(string) ([]byte, error)) func(context.Context, *sallyport.Call) (sallyport.Result, error) {
	return func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		text, err := read("/etc/passwd") // want file: os.ReadFile
		return sallyport.OK(string(text)), err
	}
}

var runs = map[string]func(context.Context, *sallyport.Call) (sallyport.Result, error){}

// ownNetwork makes an accessor with a grant of its own.
func ownNetwork() (sallyport.Network, error) {
	s, err := scoped.New("own", &sallyport.Grant{}, nil)
	if err != nil {
		return nil, err
	}
	var c sallyport.Call
	_, err = s.Bind(context.Background(), &c, scoped.Turn{}, nil)
	return c.Network, err
}
