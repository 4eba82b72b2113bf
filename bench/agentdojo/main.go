// Command agentdojo replays recorded conversations of the AgentDojo benchmark, and
// attacks that know the rules, through a real `serve`, and says what the gate would
// have held, refused and let through.
//
//	go run ./bench/agentdojo -data DIR [-json]
//	go run ./bench/agentdojo roles -data DIR
//	go run ./bench/agentdojo convert -runs DIR -out FILE
//
// README.md beside this file says what the figures mean. All load is on loopback.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	// A reader of the output that ends first is an error, and not the end: folders and
	// processes have to be removed.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agentdojo:", err)
		os.Exit(1)
	}
}

// run runs the command that the first argument names, which is the measurement where
// it names none.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "roles":
			return printRoles(args[1:], out)
		case "convert":
			return convertFolder(args[1:])
		}
	}
	return measure(ctx, args, out)
}

// parseFlags reads the flags of a command, which takes no other arguments and needs
// those that are named.
func parseFlags(flags *flag.FlagSet, args []string, needed ...*string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	for _, value := range needed {
		if *value == "" {
			flags.Usage()
			return flag.ErrHelp
		}
	}
	return nil
}

const dataUsage = "the folder with suites.json.gz, effects.json and runs.jsonl.gz"

// printRoles prints the role of each suite, as one document of YAML each.
func printRoles(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("roles", flag.ContinueOnError)
	data := flags.String("data", "", dataUsage+", of which the last is not read")
	if err := parseFlags(flags, args, data); err != nil {
		return err
	}
	worlds, err := readWorlds(*data)
	if err != nil {
		return err
	}
	for _, suite := range sortedKeys(worlds) {
		role, err := generateRole(suite, worlds[suite])
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "---\n# %s, SHA-256 %s\n%s", suite, digestOf(role), role)
	}
	return nil
}

// measure replays all runs and prints what became of them.
func measure(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("agentdojo", flag.ContinueOnError)
	data := flags.String("data", "", dataUsage)
	raw := flags.Bool("json", false, "print the figures as JSON")
	cases := flags.String("cases", "", "write each stopped call of a solved task, and each attack that is left, into this file, with the reason")
	program := flags.String("program", "", "measure this binary instead of one built from this checkout")
	atOnce := flags.Int("gates", max(2, runtime.NumCPU()), "how many gates serve at the same time")
	if err := parseFlags(flags, args, data); err != nil {
		return err
	}
	if *atOnce < 1 {
		return errors.New("-gates: at least one has to serve")
	}
	b, err := readBenchmark(*data)
	if err != nil {
		return err
	}
	b.atOnce, b.program = *atOnce, *program
	if b.dir, err = os.MkdirTemp("", "agentdojo"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if b.program == "" {
		if b.program, err = buildProgram(ctx, b.dir); err != nil {
			return err
		}
	}
	if *cases != "" {
		b.explained = &caseWriter{path: *cases}
	}
	r, err := b.measureAll(ctx)
	if err != nil {
		return err
	}
	if err := b.explained.write(); err != nil {
		return err
	}
	if !*raw {
		r.print(out)
		return nil
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// measureAll makes all measurements.
func (b *benchmark) measureAll(ctx context.Context) (*report, error) {
	runs := make([]*recordedRun, len(b.runs))
	for i := range b.runs {
		runs[i] = &b.runs[i]
	}
	done, err := b.replayAll(ctx, runs, withRoles, withDefaults)
	if err != nil {
		return nil, err
	}
	r := &report{Models: b.tallyModels(done, withRoles), Defaults: b.tallyModels(done, withDefaults), Roles: map[string]string{}}
	for _, part := range []struct {
		models []*modelFigures
		mode   ruleMode
	}{{r.Models, withRoles}, {r.Defaults, withDefaults}} {
		truth, err := b.replayAll(ctx, b.groundTruthRuns(), part.mode)
		if err != nil {
			return nil, err
		}
		addGroundTruth(part.models, truth)
	}
	if r.Adaptive, err = b.measureAdaptive(ctx); err != nil {
		return nil, err
	}
	for suite, role := range b.roles {
		r.Roles[suite] = digestOf(role)
	}
	return r, nil
}
