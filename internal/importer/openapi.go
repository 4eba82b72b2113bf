package importer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/openapi"
)

// DocumentOptions are the wishes of the user about an OpenAPI document.
type DocumentOptions struct {
	// Name is the path of the document.
	Name string
	// Out is the path of the file that is written; empty means the answer.
	Out string
	// Secrets lists SCHEME=REF: the secret of a security scheme.
	Secrets []string
	// Actions says which actions are made. Its secrets come from Secrets.
	Actions openapi.Options
}

// ImportDocument makes actions of the operations of an OpenAPI document. It
// prints them as a configuration file, or writes that file.
func ImportDocument(e *Environment, o *DocumentOptions) error {
	actions, err := o.Actions, error(nil)
	if actions.Secrets, err = secretFlags(o.Secrets); err != nil {
		return err
	}
	data, err := readDocument(fsx.Absolute(e.Dir, o.Name))
	if err != nil {
		return fmt.Errorf("%s: %w", o.Name, err)
	}
	layer, err := openapi.Import(o.Name, data, &actions)
	if err != nil {
		return err
	}
	return e.writeLayer(layer, o.Out)
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
func (e *Environment) writeLayer(l *openapi.Layer, out string) error {
	if out != "" {
		if err := fsx.WriteNew(fsx.Absolute(e.Dir, out), l.YAML); err != nil {
			return err
		}
	}
	if e.JSON {
		report := documentReport{File: out, Operations: l.Operations, Actions: l.IDs, Notes: l.Notes}
		if out == "" {
			report.Config = string(l.YAML)
		}
		return e.printJSON(report)
	}
	for _, n := range l.Notes {
		fmt.Fprintln(e.Err, n)
	}
	fmt.Fprintf(e.Err, "%d of %d operations became actions\n", len(l.IDs), l.Operations)
	if out != "" {
		e.printLine("wrote %s", fsx.Absolute(e.Dir, out))
		e.printLine("next: read it, then %s check --config %s --config %s", e.programName(), config.FileName, out)
		return nil
	}
	_, err := e.Out.Write(l.YAML)
	return err
}

// documentReport is the JSON answer of an import.
type documentReport struct {
	File       string         `json:"file,omitempty"`
	Config     string         `json:"config,omitempty"`
	Operations int            `json:"operations"`
	Actions    []string       `json:"actions"`
	Notes      []openapi.Note `json:"notes"`
}
