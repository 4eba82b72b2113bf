package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// measureStart starts servers on stdio, in turns, until they have answered with
// their list of tools, and reads the memory of the idle process after a call.
func measureStart(ctx context.Context, b *bench) ([]figure, error) {
	dir, err := b.newWorkspace(ctx)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{
		served: "**the default `serve --stdio`**", onLines: "a bare loop over lines", mcpGo: "mcp-go, without a gate", goSDK: "the official go-sdk, without a gate",
	}
	took, resident, spent := make([][]float64, len(stdioServers)), make([][]float64, len(stdioServers)), make([][]float64, len(stdioServers))
	for range b.starts {
		for i, s := range stdioServers {
			o, err := b.startOnce(ctx, dir, s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			took[i], resident[i], spent[i] = append(took[i], float64(o.took)), append(resident[i], o.mb), append(spent[i], float64(o.processor))
		}
	}
	rows := make([]figure, len(stdioServers))
	for i, s := range stdioServers {
		rows[i] = figure{What: labels[s.name], P50: time.Duration(median(took[i])), P99: time.Duration(percentile(took[i], 99)), Processor: time.Duration(median(spent[i])), MB: median(resident[i])}
		for k, other := range stdioServers[:3] {
			if other.name == onLines && i != k || other.name == mcpGo && i == 0 {
				rows[i].Ratios = append(rows[i].Ratios,
					ratio{other.name + " in time", medianRatio(took[i], took[k])}, ratio{"it in memory", medianRatio(resident[i], resident[k])}, ratio{"its processor time", medianRatio(spent[i], spent[k])})
			}
		}
	}
	rows[0].aimAt(rows[0].P50 <= 12*time.Millisecond, "12 ms")
	rows[0].aimAt(rows[0].MB <= 20, "20 MB")
	return rows, nil
}

// once is one start: the time to the list of tools, the memory after a call, and
// the processor time of the whole life of the process.
type once struct {
	took, processor time.Duration
	mb              float64
}

// startOnce measures one start and ends the process.
func (b *bench) startOnce(ctx context.Context, dir string, s stdioServer) (o once, err error) {
	defer b.stopAll()
	if _, err := b.build(ctx, s.pkg); err != nil {
		return o, err
	}
	begun := time.Now()
	p, err := b.startStdio(ctx, dir, s)
	if err != nil {
		return o, err
	}
	if err := p.greet(); err != nil {
		return o, err
	}
	if err := p.ask(listing, "read_file"); err != nil {
		return o, err
	}
	o.took = time.Since(begun)
	if err := p.ask(callOf(3, "read_file", readArgs), readText); err != nil {
		return o, err
	}
	o.mb = float64(statusField(p.pid(), "VmRSS")) / 1024
	if err := p.stop(); err != nil {
		return o, err
	}
	o.processor = p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	return o, nil
}

// ask sends a request and waits for a line that holds a word.
func (p *process) ask(message, want string) error {
	if _, err := io.WriteString(p.in, message+"\n"); err != nil {
		return err
	}
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			return fmt.Errorf("%w\n%s", err, p.stderr.Bytes())
		}
		if strings.Contains(line, want) {
			return nil
		}
		if !strings.Contains(line, `"method":`) {
			return fmt.Errorf("answer to %s: %s", message, line)
		}
	}
}

// measureSize returns the size of the program.
func measureSize(ctx context.Context, b *bench) ([]figure, error) {
	path, err := b.build(ctx, product)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	f := figure{What: "**sallyport**", MB: float64(info.Size()) / 1e6}
	f.aimAt(f.MB <= 25, "25 MB")
	return []figure{f}, nil
}

// wrapped is how ratios call bubblewrap.
const wrapped = "bubblewrap"

// measureChildren runs the part of library that starts children.
func measureChildren(ctx context.Context, b *bench) ([]figure, error) {
	program, err := b.build(ctx, library)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "children", strconv.Itoa(b.starts*2))
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "TMPDIR="+b.dir)
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var took map[string][]float64
	if err := json.Unmarshal(out, &took); err != nil {
		return nil, err
	}
	var rows []figure
	for _, r := range []struct{ way, what string }{
		{"cold", "**cold**"},
		{"warm", "with a helper that waits"},
		{"bwrap", "bubblewrap with all namespaces and its init, without a filter of system calls and without a proxy"},
		{"cold-burst", "64 at once, **cold**"},
		{"warm-burst", "64 at once, 64 helpers wait"},
		{"bwrap-burst", "64 at once, bubblewrap"},
	} {
		other, burst := "bwrap", strings.HasSuffix(r.way, "-burst")
		if burst {
			other = "bwrap-burst"
		}
		f := figure{What: r.what}
		if r.way != other {
			// A single start is compared with the one of its round; a burst by its
			// percentiles.
			f.Ratios = []ratio{{wrapped, medianRatio(took[r.way], took[other])}}
			if burst {
				f.Ratios = []ratio{
					{wrapped + " at the median", median(took[r.way]) / median(took[other])},
					{wrapped + " at the 99th percentile", percentile(took[r.way], 99) / percentile(took[other], 99)},
				}
			}
		}
		f.P50, f.P99 = time.Duration(median(took[r.way])), time.Duration(percentile(took[r.way], 99))
		switch r.way {
		case "cold":
			f.aimBelowShare(wrapped, 0.9)
		case "warm":
			f.aimBelowShare(wrapped, 0.4)
		case "cold-burst":
			f.aimAt(f.P50 <= 55*time.Millisecond && f.P99 <= 100*time.Millisecond, "55 and 100 ms")
		}
		rows = append(rows, f)
	}
	return rows, nil
}
