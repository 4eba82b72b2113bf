package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/store/sqlite"
)

// childEnv makes the test binary play another process: its value is the
// role, and the arguments follow.
const childEnv = "SALLYPORT_TEST_CHILD"

func TestMain(m *testing.M) {
	role, ok := os.LookupEnv(childEnv)
	if !ok {
		os.Exit(m.Run())
	}
	if err := playChild(role, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

func playChild(role string, args []string) error {
	switch role {
	case "write":
		return childWrite(args[0], args[1], nil)
	case "write with checkpoints":
		return childWrite(args[0], args[1], sqlite.ShortLog())
	case "checkpoint":
		return childCheckpoint(args[0])
	case "record":
		return childRecord(args[0], args[1])
	case "admit":
		return childAdmit(args[0])
	case "hold":
		return childHold(args[0], args[1])
	case "approvals":
		return childApprovals(args[0])
	case "facts":
		return childFacts(args[0])
	case "read":
		return childRead(args[0])
	case "brings":
		return childBrings(args[0], args[1])
	default:
		return fmt.Errorf("no such role: %s", role)
	}
}

func childKey() audit.Key {
	k, err := audit.NewKey([]byte(fmt.Sprintf("%032s", "key")))
	if err != nil {
		panic(err)
	}
	return k
}

// childWrite sets keys and records events without end and prints each once
// it was acknowledged.
func childWrite(path, prefix string, o *sqlite.Options) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path, o)
	if err != nil {
		return err
	}
	l, err := audit.New(db, childKey(), nil)
	if err != nil {
		return err
	}
	kv, err := db.KV(ctx, "tool:a")
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		id := fmt.Sprintf("%s-%d", prefix, i)
		intent := audit.Event{Kind: audit.KindIntent, CallID: id, Tool: "t", Principal: "local"}
		outcome := audit.Event{Kind: audit.KindOutcome, CallID: id, Tool: "t", Principal: "local", OK: true}
		err := errors.Join(l.Record(ctx, &intent), kv.Set(ctx, id, id, 0), l.Record(ctx, &outcome))
		if err != nil {
			return err
		}
		if _, err := fmt.Println(id); err != nil {
			return err
		}
	}
}

// childRecord records a fixed number of events.
func childRecord(path, prefix string) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	l, err := audit.New(db, childKey(), nil)
	if err != nil {
		return err
	}
	for i := range childEvents {
		e := audit.Event{Kind: audit.KindOutcome, CallID: fmt.Sprintf("%s-%d", prefix, i), OK: true}
		if err := l.Record(ctx, &e); err != nil {
			return err
		}
	}
	return errors.Join(l.Close(), db.Close())
}

const childEvents = 100

// childHold holds a lock until its standard input ends.
func childHold(path, statement string) error {
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		return err
	}
	if err := c.Exec(statement); err != nil {
		return err
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// child is a running process.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

func startChild(t testing.TB, role string, args ...string) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &child{cmd, stdin, bufio.NewScanner(stdout)}
}

// hold starts a process that holds a lock and returns what ends it.
func hold(t testing.TB, path, statement string) (release func()) {
	t.Helper()
	c := startChild(t, "hold", path, statement)
	if !c.lines.Scan() || c.lines.Text() != "held" {
		t.Fatalf("the other process said %q, want held", c.lines.Text())
	}
	return func() {
		c.stdin.Close()
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("the other process: %v", err)
		}
	}
}

// rawExec changes the file behind the back of the program.
func rawExec(t testing.TB, path, sql string) {
	t.Helper()
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec(sql); err != nil {
		t.Fatalf("%s: %v", strings.TrimSpace(sql), err)
	}
}
