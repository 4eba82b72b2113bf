package command

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// release builds the program as it is released.
func release(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "sallyport")
	if err := buildProgram("../../cmd/sallyport", path, false); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkStart starts `serve --stdio` in a configured folder, sends
// initialize, waits for the answer, and reads the memory of the idle process.
// It reports the median time to the first answer in ms and the median resident
// memory in MB. ms-help is the part of that time that a process needs only to
// print its help.
func BenchmarkStart(b *testing.B) {
	program, dir := release(b), folder(b)
	var answer, help []time.Duration
	var resident []float64
	for i := range max(b.N, 5) {
		begun := time.Now()
		if err := exec.Command(program, "--help").Run(); err != nil {
			b.Fatal(err)
		}
		help = append(help, time.Since(begun))
		idle := time.Duration(0)
		if i < idleRuns {
			idle = idleTime
		}
		took, kept := start(b, program, dir, idle)
		if answer = append(answer, took); idle > 0 {
			resident = append(resident, kept)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(answer).Seconds()*1e3, "ms-answer")
	b.ReportMetric(median(help).Seconds()*1e3, "ms-help")
	if runtime.GOOS == "linux" {
		b.ReportMetric(median(resident), "MB-idle")
	}
}

// How many of the processes are left idle at first, and how long: package startup lets go of
// memory after five seconds.
const (
	idleRuns = 1
	idleTime = 7 * time.Second
)

// start measures one start: the time to the first answer, and the resident
// memory at some time after a list of tools and a call.
func start(b *testing.B, program, dir string, idle time.Duration) (took time.Duration, mb float64) {
	cmd := exec.Command(program, "serve", "--stdio")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewReader(out)
	exchange := func(message, want string) {
		fmt.Fprintln(in, message)
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, want) {
			b.Fatalf("answer = %q, %v, want %q in it", line, err, want)
		}
	}
	exchange(initialize, "serverInfo")
	took = time.Since(begun)
	exchange(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "read_file")
	exchange(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"README.md"}}}`, "Hello, gate")
	time.Sleep(idle)
	mb = residentMB(b, cmd.Process.Pid)
	in.Close()
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return took, mb
}

// residentMB returns VmRSS of a process in MB, or 0 without /proc.
func residentMB(b *testing.B, pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if fields := strings.Fields(string(line)); len(fields) == 3 && fields[0] == "VmRSS:" {
			kb, err := strconv.ParseFloat(fields[1], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kb / 1024
		}
	}
	return 0
}

func median[T ~int64 | ~float64](v []T) T {
	slices.Sort(v)
	return v[len(v)/2]
}
