// Command bench measures the program as it is released beside its peers, in
// turns, and writes the first table of docs/performance.md. With -soak it keeps
// the program under load and says what grew.
//
//	go run . [-quick] [-only REGEXP] [-json]
//	go run . -write
//	go run . -soak 30m [-load 0.5]
//
// It needs Linux, and bubblewrap for the rows of children. All load is on
// loopback.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
	"time"
)

// page is what -write changes, from the folder of this module.
const page = "../../docs/performance.md"

// settings says how long each measurement takes.
type settings struct {
	// rounds is how often all take their turn, and turn how long one lasts.
	rounds int
	turn   time.Duration
	// starts is how many processes and children are started of each kind.
	starts int
	// planned is how many calls a turn at a fixed rate has.
	planned int
}

var (
	whole = settings{rounds: 9, turn: 300 * time.Millisecond, starts: 25, planned: 500}
	quick = settings{rounds: 2, turn: 30 * time.Millisecond, starts: 2, planned: 30}
)

// group is the rows of one comparison.
type group struct {
	// name is what -only matches.
	name, title string
	measure     func(context.Context, *bench) ([]figure, error)
}

// groups returns all comparisons in the order of the table: what a default
// installation does first.
func groups() []group {
	return []group{
		{"http-1", "`read_file` of 1 kB over HTTP, 1 call at once", func(ctx context.Context, b *bench) ([]figure, error) { return b.measureHTTP(ctx, 1) }},
		{"http-16", "the same, 16 at once", func(ctx context.Context, b *bench) ([]figure, error) { return b.measureHTTP(ctx, 16) }},
		{"stdio-1", "`read_file` of 1 kB over stdio, 1 call at once", func(ctx context.Context, b *bench) ([]figure, error) { return b.measureStdio(ctx, 1) }},
		{"stdio-16", "the same, 16 at once", func(ctx context.Context, b *bench) ([]figure, error) { return b.measureStdio(ctx, 16) }},
		{"hop", "added to a call of a mounted server, 1 at once", measureHop},
		{"rate", "added to a call of a mounted HTTP server, 1,000 a second", measureRate},
		{"children", "a child process, `/bin/true`", measureChildren},
		{"start", "start to the answer of `tools/list` on stdio; resident memory after one call", measureStart},
		{"size", "the stripped binary", measureSize},
		{"library-1", "the library without the program, by the record that it keeps: HTTP, 1 at once", func(ctx context.Context, b *bench) ([]figure, error) { return b.measureLibrary(ctx, 1) }},
		{"library-16", "the same, 16 at once", func(ctx context.Context, b *bench) ([]figure, error) { return b.measureLibrary(ctx, 16) }},
		{"beside", "500 calls of `read_file` a second over HTTP, beside what an operator connects", measureBeside},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	short := flag.Bool("quick", false, "measure so briefly that the figures say nothing: to see that it works")
	only := flag.String("only", "", "measure the groups whose name matches this regular expression")
	raw := flag.Bool("json", false, "print the figures as JSON, one row a line")
	write := flag.Bool("write", false, "replace the table in "+page)
	length := flag.Duration("soak", 0, "keep the program under load for this long instead")
	load := flag.Float64("load", 0.5, "the share of its capacity that a soak asks for")
	flag.Parse()
	if *write && (*short || *only != "") {
		return errors.New("-write writes the whole table: leave out -quick and -only")
	}
	b, err := newBench(whole)
	if err != nil {
		return err
	}
	defer b.close(&err)
	if *short {
		b.settings = quick
	}
	if *length > 0 {
		return b.soak(ctx, *length, *load)
	}
	matched, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	before := readLoad()
	var table []measured
	for _, g := range groups() {
		if !matched.MatchString(g.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", g.name)
		figures, err := g.measure(ctx, b)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		table = append(table, measured{g, figures})
		// A run takes minutes: what it has found is worth something without its end.
		for _, f := range figures {
			fmt.Fprintf(os.Stderr, "  %s: %s; %s\n", f.What, f.text(), f.ratioText())
		}
	}
	if len(table) == 0 {
		return fmt.Errorf("no group has a name that matches %q", *only)
	}
	text := renderTable(table) + "\n" + describeRun(before, readLoad()) + "\n"
	switch {
	case *write:
		return writeTable(page, text)
	case *raw:
		return printRaw(table)
	}
	fmt.Print(text)
	return nil
}

// describeRun says on what a run was made, and whether its times say much.
func describeRun(before, after float64) string {
	as := "a user"
	if os.Getuid() == 0 {
		as = "root" // children have users of their own then
	}
	text := fmt.Sprintf("%d processors, as %s, at load %.0f when the run began and %.0f when it ended.", runtime.NumCPU(), as, before, after)
	if max(before, after) > 2*float64(runtime.NumCPU()) {
		text += " **Others kept the machine busy: the times say little here, and the ratios and the processor times more.**"
	}
	return text
}

func printRaw(table []measured) error {
	out := json.NewEncoder(os.Stdout)
	for _, m := range table {
		for _, f := range m.figures {
			f.Group = m.name
			if err := out.Encode(f); err != nil {
				return err
			}
		}
	}
	return nil
}
