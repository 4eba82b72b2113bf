package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/sandbox"
)

// observeFlags holds the flags of observe.
type observeFlags struct {
	workspace, output string
	env               []string
	private           bool
}

func observeCommand(env *environment, f *flags) *cobra.Command {
	var o observeFlags
	cmd := &cobra.Command{
		Use:   "observe [flags] -- COMMAND [ARG...]",
		Short: "Run a program and print the declaration it needs",
		Long: `Run a program, note what it uses, and print the smallest capabilities that this
run needed. Copy them into the definition of a tool or an MCP server.

The program is not confined and nothing is refused: it has the rights of the user
who runs this command. It gets what a confined child gets: the same environment
and search path, a private home, and the network through the proxy. So it behaves
as it would as a child. Its streams are passed through. The declaration goes to
standard error, or to the file that --output names. The exit code is the
program's. Ctrl-C ends the program, and the command prints what it saw until then.

A run shows only what that run did. The command also lists what the declaration
cannot show.`,
		Example: `  sallyport observe -- git clone https://github.com/octocat/hello-world
  sallyport observe --env API_URL -- python3 report.py
  sallyport observe --json --output need.json -- npx -y @modelcontextprotocol/server-everything`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runObserve(cmd, env, f, &o, args)
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVar(&o.workspace, "workspace", "", "run in `DIR` and call it ${workspace} (default: the working directory)")
	cmd.Flags().StringVar(&o.output, "output", "", "write the declaration to `FILE` (default: standard error)")
	cmd.Flags().StringArrayVar(&o.env, "env", nil, "pass the variable `NAME` of this environment, or NAME=VALUE; may be repeated")
	cmd.Flags().BoolVar(&o.private, "allow-private", false, "let the program reach private addresses, as allow_private_urls does")
	return cmd
}

func runObserve(cmd *cobra.Command, env *environment, f *flags, o *observeFlags, args []string) error {
	opts, done, err := o.newOptions(env)
	if err != nil {
		return err
	}
	seen, err := sandbox.Observe(cmd.Context(), args, opts)
	done()
	if err != nil {
		return err
	}
	if err := o.writeDeclaration(env, f, seen, args); err != nil {
		return fmt.Errorf("the declaration could not be written: %w", err)
	}
	if seen.ExitCode != 0 {
		return &exitError{code: seen.ExitCode}
	}
	return nil
}

// newOptions returns the options of the run. The caller calls done when the
// program has ended.
func (o *observeFlags) newOptions(env *environment) (opts *sandbox.ObserveOptions, done func(), err error) {
	opts = &sandbox.ObserveOptions{
		Workspace: env.Dir, Home: env.Home, Env: map[string]string{}, AllowPrivate: o.private,
		Toolchains: sandbox.Toolchains(env.Home), Network: env.NewNetwork(),
	}
	if o.workspace != "" {
		opts.Workspace = fsx.Absolute(env.Dir, o.workspace)
	}
	opts.Files = &sallyport.FileBackend{Home: env.Home, Deny: []string{
		filepath.Join(opts.Workspace, app.ConfigName), filepath.Join(opts.Workspace, app.StateDir),
	}}
	for _, pair := range o.env {
		name, value, given := strings.Cut(pair, "=")
		if !given {
			var set bool
			if value, set = env.Lookup(name); !set {
				return nil, nil, fmt.Errorf("--env: %s is not set", name)
			}
		}
		opts.Env[name] = value
	}
	opts.Stdin, _ = env.stdin.(*os.File)
	out, outDone, err := pipeTo(env.stdout)
	if err != nil {
		return nil, nil, err
	}
	errs, errDone, err := pipeTo(env.Stderr)
	if err != nil {
		outDone()
		return nil, nil, err
	}
	opts.Stdout, opts.Stderr = out, errs
	return opts, func() { outDone(); errDone() }, nil
}

// pipeTo returns a file that leads to a writer. It returns the writer's own
// file where there is one, so that a terminal stays a terminal.
func pipeTo(w io.Writer) (*os.File, func(), error) {
	if r, ok := w.(*answerWriter); ok {
		w = r.WriteCloser
	}
	if f, ok := w.(*os.File); ok {
		return f, func() {}, nil
	}
	r, f, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		defer r.Close()
		// The writer remembers its own failure.
		_, _ = io.Copy(w, r)
	}()
	return f, func() { f.Close(); <-copied }, nil
}

// writeDeclaration prints the declaration to the file or output that the user chose.
func (o *observeFlags) writeDeclaration(env *environment, f *flags, seen *sandbox.Observation, args []string) error {
	var b bytes.Buffer
	p := &report.Printer{W: &b, JSON: f.json}
	if f.json {
		if err := p.PrintJSON(seen); err != nil {
			return err
		}
	} else {
		report.PrintObservation(p, seen, args)
	}
	if o.output == "" {
		_, err := env.Stderr.Write(b.Bytes())
		return err
	}
	return os.WriteFile(fsx.Absolute(env.Dir, o.output), b.Bytes(), 0o644)
}
