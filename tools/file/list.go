package file

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// listChars is the length of a list_files result in code points.
	listChars = 20_000
	// defaultListed and maxListed bound the names of one list.
	defaultListed, maxListed = 200, 1000
	// defaultListDepth is how deep a list goes without a glob: enough for
	// the shape of a project.
	defaultListDepth = 2
	// listHeadChars is room for the first lines of a result.
	listHeadChars = 600
)

type listInput struct {
	Path           string `json:"path,omitempty" jsonschema:"Folder to list: absolute, or relative to the workspace. Leave out for the workspace."`
	Glob           string `json:"glob,omitempty" jsonschema:"Only files whose name or path matches, such as *.go or src/**/*.{ts,tsx}; a leading ! selects the others."`
	Depth          int    `json:"depth,omitempty" jsonschema:"Levels to go down. Unless given, 2 without a glob and all levels with one."`
	MaxResults     int    `json:"max_results,omitempty" jsonschema:"Most names to return: 200 unless given, at most 1000."`
	IncludeHidden  bool   `json:"include_hidden,omitempty" jsonschema:"Also list names that begin with a dot."`
	IncludeIgnored bool   `json:"include_ignored,omitempty" jsonschema:"Also list what .gitignore lists and folders such as node_modules and dist."`
}

// validateInput refuses impossible arguments and fills in the defaults.
func (in *listInput) validateInput() error {
	switch {
	case in.Depth < 0 || in.Depth > maxDepth:
		return sallyport.InputInvalid(fmt.Sprintf("depth is at most %d", maxDepth))
	case in.MaxResults < 0 || in.MaxResults > maxListed:
		return sallyport.InputInvalid(fmt.Sprintf("max_results is at most %d", maxListed))
	}
	in.Path = cmp.Or(in.Path, ".")
	in.MaxResults = cmp.Or(in.MaxResults, defaultListed)
	if in.Depth == 0 && in.Glob == "" {
		in.Depth = defaultListDepth
	}
	return nil
}

func listBelow(ctx context.Context, c *sallyport.Call, in listInput) (sallyport.Result, error) {
	if err := in.validateInput(); err != nil {
		return sallyport.Result{}, err
	}
	g, err := newGlob(in.Glob)
	if err != nil {
		return sallyport.Result{}, sallyport.InputInvalid("glob: " + err.Error())
	}
	root := c.FS.Abs(in.Path)
	st, err := c.FS.Stat(in.Path)
	switch {
	case err != nil:
		return sallyport.Result{}, accessError("list", root, err)
	case !st.IsDir():
		return sallyport.Result{}, sallyport.InputInvalid(root + " is a file, not a directory; read_file reads it")
	}
	l := fileListing{max: in.MaxResults, chars: resultBudget(c, listChars) - listHeadChars, glob: g, names: []any{}}
	w := walk{fs: c.FS, hidden: in.IncludeHidden, all: in.IncludeIgnored, maxDepth: in.Depth}
	if err := w.run(ctx, root, c.Workspace, l.addEntry); err != nil {
		return sallyport.Result{}, accessError("list", root, err)
	}
	return l.newResult(root, &w), nil
}

type fileListing struct {
	max, chars int
	glob       glob
	names      []any
	out        strings.Builder
	stopped    bool
}

// addEntry adds one name. With a glob only files are listed.
func (l *fileListing) addEntry(e walkEntry) error {
	if len(l.glob.paths) > 0 && (e.dir || !l.glob.match(e.below)) {
		return nil
	}
	if len(l.names) == l.max || l.chars <= 0 {
		l.stopped = true
		return errStopWalk
	}
	name := e.shown
	switch {
	case e.dir:
		name += "/"
	case e.link:
		name += "@"
	}
	l.names = append(l.names, name)
	l.out.WriteString("\n" + name)
	l.chars -= utf8.RuneCountInString(name) + 1
	return nil
}

func (l *fileListing) newResult(root string, w *walk) sallyport.Result {
	var b strings.Builder
	fmt.Fprintf(&b, "%s below %s", text.CountOf(len(l.names), "name"), root)
	notes := w.boundNotes()
	if l.stopped {
		notes = append(notes, fmt.Sprintf("stopped after %s; there are more: give a narrower path or glob, or a larger max_results", text.CountOf(len(l.names), "name")))
	}
	for _, n := range notes {
		b.WriteString("\nNote: " + n)
	}
	if len(l.names) > 0 {
		b.WriteString("\n" + l.out.String())
	}
	r := sallyport.OK(b.String())
	r.Source = "file:" + root
	r.Structured = map[string]any{"path": root, "names": l.names, "complete": len(notes) == 0}
	return r
}
