package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// endTime is how long a process may take to end.
const endTime = 10 * time.Second

// process is a program that runs. It ends with its standard input, or, as the
// program does over HTTP, by SIGTERM.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	// signalled is true when it ends by SIGTERM.
	signalled, ended bool
}

// start starts a program in a folder.
func (b *bench) start(ctx context.Context, dir, program string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, program, args...)}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = dir, environment(dir), &p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReaderSize(out, 64<<10)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	b.running = append(b.running, p)
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends a process and waits for it.
func (p *process) stop() error {
	if p.ended {
		return nil
	}
	p.ended = true
	_ = p.in.Close()
	if p.signalled {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	late := time.AfterFunc(endTime, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(p.cmd.Args, " "), err, p.stderr.Bytes())
	}
	return nil
}

var (
	addressLine = regexp.MustCompile(`sallyport serves (http://[^/]+)/mcp`)
	tokenLine   = regexp.MustCompile(`token +(sallyport_[A-Za-z0-9_-]+)`)
)

// startServe starts the program over HTTP in a folder and returns its address
// and token, which it prints.
func (b *bench) startServe(ctx context.Context, dir string) (p *process, url, token string, err error) {
	program, err := b.build(ctx, product)
	if err != nil {
		return nil, "", "", err
	}
	if p, err = b.start(ctx, dir, program, "serve", "--listen", "127.0.0.1:0", "--new-token"); err != nil {
		return nil, "", "", err
	}
	p.signalled = true
	var banner strings.Builder
	for {
		line, err := p.out.ReadString('\n')
		banner.WriteString(line)
		if err != nil {
			return nil, "", "", fmt.Errorf("serve printed %q and ended: %w\n%s", banner.String(), err, p.stderr.Bytes())
		}
		// Its last paragraph says how to see the record.
		if strings.Contains(line, "audit tail") {
			break
		}
	}
	address, secret := addressLine.FindStringSubmatch(banner.String()), tokenLine.FindStringSubmatch(banner.String())
	if address == nil || secret == nil {
		return nil, "", "", fmt.Errorf("no address and token in what serve printed: %q", banner.String())
	}
	return p, address[1], secret[1], nil
}

// startListener starts a server of this module, which prints its address and,
// where it wants one, a token.
func (b *bench) startListener(ctx context.Context, dir, pkg string, args ...string) (p *process, url, token string, err error) {
	program, err := b.build(ctx, pkg)
	if err != nil {
		return nil, "", "", err
	}
	if p, err = b.start(ctx, dir, program, args...); err != nil {
		return nil, "", "", err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return nil, "", "", fmt.Errorf("%s %s: %w\n%s", pkg, strings.Join(args, " "), err, p.stderr.Bytes())
	}
	url, token, _ = strings.Cut(strings.TrimSpace(line), " ")
	return p, url, token, nil
}

// processorTime returns the processor time of a process, to 10 ms.
func processorTime(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name, in brackets, may hold spaces. utime and stime are the fields 12
	// and 13 behind it, in hundredths of a second on every Linux.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var ticks int
	for _, f := range fields[11:13] {
		n, _ := strconv.Atoi(f)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// readLoad returns how many processes wanted a processor in the last minute.
func readLoad() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}

// statusField returns a number of /proc/PID/status, such as VmRSS in kB.
func statusField(pid int, name string) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}

// countDescriptors returns how many files a process has open.
func countDescriptors(pid int) int {
	names, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(names)
}

// countDescendants returns how many processes a process has started that still
// run, with what these started.
func countDescendants(pid int) (n int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		for _, field := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(field)
			n += 1 + countDescendants(child)
		}
	}
	return n
}
