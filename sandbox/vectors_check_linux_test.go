package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/sandbox/internal/hostuser"
)

// processCheck is what must hold after a case.
type processCheck struct {
	Stdout         *string           `json:"stdout"`
	StdoutNot      []string          `json:"stdout_not"`
	StdoutContains []string          `json:"stdout_contains"`
	ResultNot      []string          `json:"result_not"`
	ExitCode       *int              `json:"exit_code"`
	UIDUnchanged   bool              `json:"uid_unchanged"`
	MaxMS          int               `json:"max_ms"`
	WithinMS       int               `json:"within_ms"`
	Absent         []string          `json:"absent"`
	NotContent     map[string]string `json:"not_content"`
	Connected      *bool             `json:"connected"`
	RuntimeAlive   bool              `json:"runtime_alive"`
	TTYInputNot    []string          `json:"tty_input_not"`
	SandboxedSame  bool              `json:"sandboxed_same"`
	NoRoute        bool              `json:"no_route"`
	NotReachable   bool              `json:"not_reachable_from_host"`
	Survivors      *int              `json:"survivors"`
	MaxRSSMB       uint64            `json:"max_rss_mb"`
	ValidUTF8      bool              `json:"valid_utf8"`
	MaxFileBytes   int64             `json:"max_file_bytes"`
	Repeat         int               `json:"repeat"`
	Leaks          *int              `json:"leaks"`
}

// spawn starts the child of a case, beside the exchange of two files when it
// asks for one.
func spawn(ctx context.Context, call *sallyport.Call, c *processCase, st stage) (sallyport.ProcessResult, error) {
	if c.Race == nil {
		return call.Process.Spawn(ctx, c.Binary, c.args(st), c.options(st))
	}
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, st.expand(c.Race.Swap[0]), unix.AT_FDCWD, st.expand(c.Race.Swap[1]),
					unix.RENAME_EXCHANGE)
			}
		}
	})
	defer swapping.Wait()
	defer close(stop)
	for range needs.Count(c.Race.Iterations/10, c.Race.Iterations) - 1 {
		res, err := call.Process.Spawn(ctx, c.Binary, c.args(st), c.options(st))
		if bytes := string(res.Stdout); strings.Contains(bytes, "PWNED") {
			return res, err
		}
	}
	return call.Process.Spawn(ctx, c.Binary, c.args(st), c.options(st))
}

// reachedFromHost starts a child that listens, has it stay, and connects to
// its port from here.
func reachedFromHost(ctx context.Context, call *sallyport.Call, c *processCase, st stage) (bool, error) {
	r, w := io.Pipe()
	defer r.Close()
	args := c.args(st)
	args[len(args)-1] += "\nimport sys,time; sys.stdout.flush(); time.sleep(100)"
	o := c.options(st)
	o.Output = w
	child, err := call.Process.Start(ctx, c.Binary, args, o)
	if err != nil {
		return false, err
	}
	defer child.Stop(0)
	var host string
	var port int
	if _, err := fmt.Fscanf(r, "bound ('%7s', %d)", &host, &port); err != nil {
		return false, fmt.Errorf("the child did not listen: %w", err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false, nil
	}
	conn.Close()
	return true, nil
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(cause) {
		text += " <- " + cause.Error()
	}
	return text
}

func codeOf(err error) sallyport.Code {
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		return e.Code
	}
	return ""
}

// isAsExpected reports whether an outcome is the expected one.
func (o *outcome) isAsExpected(expect string, c *processCase) bool {
	switch expect {
	case "refuse":
		return o.Err != "" && o.Code != "" && o.Result.Level == ""
	case "ok":
		return o.Err == "" && (o.Result.ExitCode == 0 || c.Check.ExitCode != nil)
	case "contained":
		return o.Err == ""
	case "killed":
		return o.Died || o.Err == "" && (o.Result.ExitCode != 0 || o.Result.TimedOut)
	case "bounded":
		return o.Err == "" && o.Result.Dropped > 0 && len(o.Result.Stdout) <= defaultOutput
	default:
		return false
	}
}

func checkExpectation(t *testing.T, c *processCase, o *outcome) {
	t.Helper()
	if o.isAsExpected(c.Expect, c) || c.Alt != "" && o.isAsExpected(c.Alt, c) {
		return
	}
	// Where the path has no owner, running with an empty reach is as good as
	// an error; what the child saw then is checked.
	if c.Simulate["reach_path_missing"] != nil && o.isAsExpected("contained", c) {
		return
	}
	t.Errorf("%s: got exit %d, error %q, timed out %v, stderr %.300s, want %s",
		c.Why, o.Result.ExitCode, o.Err, o.Result.TimedOut, o.Result.Stderr, c.Expect)
}

func checkOutcome(t *testing.T, c *processCase, st stage, o *outcome) {
	t.Helper()
	k, stdout := &c.Check, string(o.Result.Stdout)
	if k.Stdout != nil && stdout != *k.Stdout {
		t.Errorf("stdout = %q, want %q", stdout, *k.Stdout)
	}
	if k.ExitCode != nil && o.Result.ExitCode != *k.ExitCode {
		t.Errorf("exit code = %d, want %d", o.Result.ExitCode, *k.ExitCode)
	}
	for _, s := range k.StdoutNot {
		if s = expandHost(st, s); strings.Contains(stdout, s) && !ownVariable(stdout, s) {
			t.Errorf("stdout holds %q: %.300q", s, stdout)
		}
	}
	for _, s := range k.StdoutContains {
		if !strings.Contains(stdout, s) {
			t.Errorf("stdout lacks %q: %.600q, stderr %.300q", s, stdout, o.Result.Stderr)
		}
	}
	checkText(t, c, o)
	checkFiles(t, c, st)
	checkHost(t, c, o)
}

func expandHost(st stage, s string) string {
	if dir, err := os.Getwd(); err == nil {
		s = strings.ReplaceAll(s, "$HOSTCWD", dir)
	}
	return st.expand(s)
}

// ownVariable reports whether a name in the output of env is the one that the
// runtime itself sets.
func ownVariable(stdout, name string) bool {
	want, own := proxyEnv()[strings.TrimSuffix(name, "=")]
	return own && strings.HasSuffix(name, "=") && strings.Count(stdout, name) == strings.Count(stdout, name+want+"\n")
}

// checkText looks at the output as it leaves the gate: cleaned.
func checkText(t *testing.T, c *processCase, o *outcome) {
	t.Helper()
	var known []sallyport.Secret
	for _, s := range c.Secrets {
		known = append(known, sallyport.NewSecret(s))
	}
	clean, err := output.New(&output.Options{Secrets: known})
	if err != nil {
		t.Fatal(err)
	}
	text := string(clean.Text(string(o.Result.Stdout) + string(o.Result.Stderr) + o.Err))
	for _, s := range c.Check.ResultNot {
		if strings.Contains(text, s) {
			t.Errorf("the result holds %q: %q", s, text)
		}
		if !strings.Contains(string(o.Result.Stderr), s) {
			t.Errorf("the child did not print %q, so nothing was shown", s)
		}
	}
	if c.Check.ValidUTF8 && !utf8.ValidString(text) {
		t.Errorf("the result is not valid UTF-8: %q", text)
	}
	if c.Check.NoRoute && !slices.Contains([]string{"[]\n", "['lo']\n"}, string(o.Result.Stdout)) {
		t.Errorf("interfaces = %s, want no other than lo", o.Result.Stdout)
	}
}

func checkFiles(t *testing.T, c *processCase, st stage) {
	t.Helper()
	for _, path := range c.Check.Absent {
		if _, err := os.Lstat(st.expand(path)); err == nil {
			t.Errorf("%s exists", path)
		}
	}
	for path, not := range c.Check.NotContent {
		if data, err := os.ReadFile(st.expand(path)); err == nil && strings.Contains(string(data), not) {
			t.Errorf("%s holds %q", path, not)
		}
	}
	if data, err := os.ReadFile(filepath.Join(st.Root, "outside", "secret.txt")); string(data) != "SECRET\n" {
		t.Errorf("outside/secret.txt = %q, %v, want it unchanged", data, err)
	}
	if k := c.Check.MaxFileBytes; k > 0 {
		info, err := os.Stat(filepath.Join(st.Root, "ws", "big"))
		if err != nil || info.Size() == 0 || info.Size() > fileBytesOfTest || (Limits{}).withDefaults().FileBytes > k {
			t.Errorf("the file has %v bytes, %v, want at most %d", info, err, fileBytesOfTest)
		}
	}
}

func checkHost(t *testing.T, c *processCase, o *outcome) {
	t.Helper()
	k := &c.Check
	if k.Connected != nil && !*k.Connected {
		if o.Result.ExitCode == 0 || slices.ContainsFunc(o.Dials, func(a string) bool { return strings.HasPrefix(a, "93.184.215.14:") }) {
			t.Errorf("exit code %d, dialled %q, want no connection", o.Result.ExitCode, o.Dials)
		}
	}
	if o.Reached {
		t.Error("the host connected to a child that listens")
	}
	if len(k.TTYInputNot) > 0 && o.TTY != 0 {
		t.Errorf("%d bytes wait on the terminal, want none", o.TTY)
	}
	if len(o.Leaks) > 0 {
		t.Errorf("left behind: %q", o.Leaks)
	}
	if k.MaxRSSMB > 0 {
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.HeapSys>>20 > k.MaxRSSMB {
			t.Errorf("the runtime holds %d MB, want at most %d", m.HeapSys>>20, k.MaxRSSMB)
		}
	}
	if ms := max(k.WithinMS, k.MaxMS); ms > 0 && o.Took > time.Duration(ms)*time.Millisecond {
		t.Errorf("took %v, want at most %d ms", o.Took, ms)
	}
	if k.Survivors != nil {
		if left := survivors(c); len(left) != *k.Survivors {
			t.Errorf("processes %v survive, want %d", left, *k.Survivors)
		}
	}
}

var sleepNumber = regexp.MustCompile(`\b6\d\b`)

// survivors waits until no process sleeps for the odd time of a case, at most
// the second within which everything must be gone.
func survivors(c *processCase) (left []string) {
	odd := sleepNumber.FindString(strings.Join(c.Args, " "))
	for range 100 {
		if left = sleeping(odd); len(left) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return left
}

// mayBeChilds reports whether children of this process run as a user.
func mayBeChilds(uid int) bool {
	return uid == os.Geteuid() || os.Geteuid() == 0 && uid >= hostuser.First && uid < hostuser.First+hostuser.Count
}

// sleeping lists the processes "sleep ODD" of this user and its children.
func sleeping(odd string) (pids []string) {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range found {
		dir := filepath.Dir(path)
		var st unix.Stat_t
		if data, err := os.ReadFile(path); err == nil && string(data) == "sleep\x00"+odd+"\x00" &&
			unix.Stat(dir, &st) == nil && mayBeChilds(int(st.Uid)) {
			pids = append(pids, filepath.Base(dir))
		}
	}
	return pids
}
