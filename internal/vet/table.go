package vet

import (
	"bufio"
	_ "embed"
	"fmt"
	"go/types"
	"strings"
	"sync"
)

//go:embed std.txt
var stdText string

// A line of std.txt is one of
//
//	pure PACKAGE: reason             every name of the package works on what it is given
//	pure PACKAGE NAME…: reason       these names do
//	KIND PACKAGE: NAME…              these functions and variables are effects
//	holds KIND PACKAGE: TYPE…        a value of these types stands for a resource
//	calls PACKAGE: NAME…             these call what only the run knows
//
// A NAME is that of a function, a variable, or TYPE.METHOD; "TYPE.*" is every
// method of a type, "*" every name. A name of a listed package that no line has is
// not known.

// verdict is what the table says of a name.
type verdict int

const (
	unknownName verdict = iota
	pureName
	effectName
	holderName // a method of a type whose values stand for a resource
	callsName
)

// tableEntry is what the table says of a name, and of which kind the effect is.
type tableEntry struct {
	verdict verdict
	kind    Kind
}

// tableOfStd maps the names of each package. The name "" stands for the package.
var tableOfStd = sync.OnceValue(func() map[string]map[string]tableEntry {
	table, err := parseTable(stdText)
	if err != nil {
		panic(err)
	}
	return table
})

// kindWords spells the kinds as one word.
var kindWords = map[string]Kind{
	"file": KindFile, "network": KindNetwork, "process": KindProcess, "environment": KindEnv,
	"system-call": KindSyscall, "unsafe-memory": KindUnsafe, "plugin": KindPlugin,
}

func parseTable(text string) (map[string]map[string]tableEntry, error) {
	table := map[string]map[string]tableEntry{}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		head, tail, ok := strings.Cut(line, ":")
		words := strings.Fields(head)
		if !ok || len(words) < 2 || strings.TrimSpace(tail) == "" {
			return nil, fmt.Errorf("line %d: %q is no line of the table", n, line)
		}
		var e tableEntry
		names := strings.Fields(tail)
		switch first := words[0]; {
		case first == "pure":
			e.verdict, names = pureName, words[2:]
			if len(names) == 0 {
				names = []string{""}
			}
			words = words[:2]
		case first == "calls":
			e.verdict = callsName
		case first == "holds" && len(words) == 3 && kindWords[words[1]] != "":
			e = tableEntry{holderName, kindWords[words[1]]}
			words = words[1:]
			for i := range names {
				names[i] += ".*"
			}
		case kindWords[first] != "":
			e = tableEntry{effectName, kindWords[first]}
		default:
			return nil, fmt.Errorf("line %d: %q is no kind", n, first)
		}
		if len(words) != 2 {
			return nil, fmt.Errorf("line %d: one package is expected", n)
		}
		of := table[words[1]]
		if of == nil {
			of = map[string]tableEntry{}
			table[words[1]] = of
		}
		for _, name := range names {
			if _, twice := of[name]; twice {
				return nil, fmt.Errorf("line %d: %s.%s stands twice", n, words[1], name)
			}
			of[name] = e
		}
	}
	return table, nil
}

// inTable reports whether functions of the package are judged by their names and
// never entered.
func inTable(pkg string) bool {
	return tableOfStd()[pkg] != nil || isStandard(pkg)
}

// firstsOfStd holds the first elements of the paths of the standard library.
var firstsOfStd = sync.OnceValue(func() map[string]bool {
	firsts := map[string]bool{"internal": true, "vendor": true, "debug": true, "expvar": true, "testing": true}
	for path := range tableOfStd() {
		if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
			firsts[first] = true
		}
	}
	return firsts
})

// isStandard reports whether a path is one of the standard library.
func isStandard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return firstsOfStd()[first]
}

// judgeName looks up a function or a variable.
func judgeName(pkg, receiver, name string) tableEntry {
	of := tableOfStd()[pkg]
	full := name
	if receiver != "" {
		full = receiver + "." + name
	}
	for _, key := range []string{full, receiver + ".*", "", "*"} {
		if e, ok := of[key]; ok && key != ".*" {
			return e
		}
	}
	return tableEntry{}
}

// holderOf returns what a value of the type stands for, when it is a resource.
func holderOf(t types.Type) (tableEntry, string) {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return tableEntry{}, ""
	}
	path, name := named.Obj().Pkg().Path(), named.Obj().Name()
	if e, ok := tableOfStd()[path][name+".*"]; ok && e.verdict == holderName {
		return e, path + "." + name
	}
	return tableEntry{}, ""
}
