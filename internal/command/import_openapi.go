package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/openapi"
	"github.com/sallyport/sallyport/tools/terminal"
)

func importOpenAPI(env *environment, f *flags) *cobra.Command {
	var o openapi.Options
	var secrets []string
	var out string
	cmd := &cobra.Command{
		Use:   "openapi FILE",
		Short: "Make http actions of an OpenAPI 3.0 or 3.1 document",
		Long: `Make http actions of the operations of an OpenAPI 3.0 or 3.1 document, YAML or
JSON, and print them as a configuration file; nothing is fetched. What was
taken, left out and changed is printed on stderr with its place.`,
		Example: `  sallyport import openapi petstore.yaml
  sallyport import openapi github.json --only issues --prefix gh_ --out github.yaml
  sallyport import openapi api.yaml --server https://api.example.com/v2 --secret key=providers/example/key`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Secrets, err = secretFlags(secrets); err != nil {
				return usageError(err)
			}
			if o.Taken, err = builtinNames(); err != nil {
				return usageError(err)
			}
			data, err := readDocument(env.absolutePath(args[0]))
			if err != nil {
				return usageError(fmt.Errorf("%s: %w", args[0], err))
			}
			layer, err := openapi.Import(args[0], data, &o)
			if err != nil {
				return usageError(err)
			}
			return env.writeLayer(f, layer, out)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Server, "server", "", "the `URL` under which the paths are, where the document does not name exactly one")
	flags.StringVar(&o.Prefix, "prefix", "", "the beginning of every id: `TEXT`")
	flags.StringArrayVar(&o.Only, "only", nil, "take this `TAG|OPERATION` alone: a tag, an operationId, an id or \"GET /path\"; may be repeated")
	flags.StringArrayVar(&o.Permissions, "permission", nil, "`NAME` that every action asks for, in place of the derived ones; may be repeated")
	flags.StringArrayVar(&secrets, "secret", nil, "`SCHEME=REF`: the reference of the secret for a security scheme; may be repeated")
	flags.StringVar(&out, "out", "", "write to `FILE`, which must not exist, in place of stdout")
	return cmd
}

// absolutePath makes a file name absolute, relative to the working directory.
func (e *environment) absolutePath(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.dir, name)
}

// secretFlags parses a list of SCHEME=REF.
func secretFlags(list []string) (map[string]string, error) {
	refs := map[string]string{}
	for _, s := range list {
		// The name of a scheme holds no =.
		scheme, ref, ok := strings.Cut(s, "=")
		if !ok || scheme == "" || ref == "" {
			return nil, fmt.Errorf("--secret %s: expected SCHEME=REF, such as api_key=providers/petstore/key", s)
		}
		if _, twice := refs[scheme]; twice {
			return nil, fmt.Errorf("--secret %s: %s is given twice", s, scheme)
		}
		refs[scheme] = ref
	}
	return refs, nil
}

// builtinNames lists the names of the built-in tools, which no action may have.
func builtinNames() ([]string, error) {
	commands, err := terminal.New(nil)
	if err != nil {
		return nil, err
	}
	names := unconnectedTools()
	for _, t := range builtinTools(commands) {
		names = append(names, t.Name)
	}
	return names, commands.Close()
}

// readDocument reads a regular file within the bounds of a document.
func readDocument(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, errors.New(fsx.Reason(err))
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("expected a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, errors.New(fsx.Reason(err))
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, openapi.MaxBytes+1))
}

// writeLayer prints a layer or writes it to a file, then reports the result.
func (e *environment) writeLayer(f *flags, l *openapi.Layer, out string) error {
	p := e.newPrinter(f)
	if out != "" {
		if err := fsx.WriteNew(e.absolutePath(out), l.YAML); err != nil {
			return usageError(err)
		}
	}
	if p.json {
		report := importReport{File: out, Operations: l.Operations, Actions: l.IDs, Notes: l.Notes}
		if out == "" {
			report.Config = string(l.YAML)
		}
		return p.printJSON(report)
	}
	for _, n := range l.Notes {
		fmt.Fprintln(e.stderr, n)
	}
	fmt.Fprintf(e.stderr, "%d of %d operations became actions\n", len(l.IDs), l.Operations)
	if out != "" {
		p.printLine("wrote %s", e.absolutePath(out))
		p.printLine("next: read it, then sallyport check --config %s --config %s", configName, out)
		return nil
	}
	_, err := e.stdout.Write(l.YAML)
	return err
}

// importReport is the JSON answer of an import.
type importReport struct {
	File       string         `json:"file,omitempty"`
	Config     string         `json:"config,omitempty"`
	Operations int            `json:"operations"`
	Actions    []string       `json:"actions"`
	Notes      []openapi.Note `json:"notes"`
}
