// Sallyport-vet shows what the tools of a Go program touch beside the accessors of
// their calls: docs/guides/vet.md.
//
//	sallyport-vet [-json] [-accept FILE] PACKAGES     the whole program
//	go vet -vettool=$(which sallyport-vet) PACKAGES   package by package: less is seen
//
// It ends with 0 when nothing was found, with 1 when something was, and with 2 when
// the program could not be read.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/sallyport/sallyport/internal/vet"
)

func main() {
	if isVettool(os.Args[1:]) {
		unitchecker.Main(vet.Analyzer)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// isVettool reports whether go vet asks: for the version, the flags, or a package.
func isVettool(args []string) bool {
	return len(args) > 0 && (args[0] == "-V=full" || args[0] == "-flags" || strings.HasSuffix(args[len(args)-1], ".cfg"))
}

func run(args []string, out, messages io.Writer) int {
	flags := flag.NewFlagSet("sallyport-vet", flag.ContinueOnError)
	flags.SetOutput(messages)
	asJSON := flags.Bool("json", false, "print the report as JSON")
	accepted := flags.String("accept", "", "leave out the findings that `FILE` lists: TOOL | KIND | WHAT | REASON")
	flags.Usage = func() {
		fmt.Fprintln(messages, "usage: sallyport-vet [-json] [-accept FILE] PACKAGES\nShows what the tools of the packages touch beside the accessors of their calls.")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return 2
	}
	report, err := vet.Load(vet.Options{}, flags.Args()...)
	if err == nil && *accepted != "" {
		err = accept(report, *accepted)
	}
	if err == nil && *asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		err = e.Encode(report)
	} else if err == nil {
		err = report.WriteText(out)
	}
	switch {
	case err != nil:
		fmt.Fprintf(messages, "sallyport-vet: %v\n", err)
		return 2
	case report.Findings() > 0:
		return 1
	default:
		return 0
	}
}

func accept(report *vet.Report, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := report.Accept(string(text)); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
