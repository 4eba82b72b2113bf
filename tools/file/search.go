package file

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/sallyport/sallyport"
)

const (
	// searchChars is the length of a search_files result in code points.
	searchChars = 20_000
	// defaultMatches and maxMatches bound the matching lines of one search.
	defaultMatches, maxMatches = 50, 200
	// maxContext bounds the lines around a match.
	maxContext = 10
	// maxSearchedBytes bounds what is read of one file; a larger one is
	// searched up to there and counted.
	maxSearchedBytes = 2 << 20
	// maxTotalBytes bounds what one search reads in all, a few seconds of
	// work.
	maxTotalBytes = 512 << 20
)

type searchInput struct {
	Pattern        string `json:"pattern" jsonschema:"Text to look for. It is taken literally unless regex is true."`
	Path           string `json:"path,omitempty" jsonschema:"Folder or file to search: absolute, or relative to the workspace. Leave out for the whole workspace."`
	Regex          bool   `json:"regex,omitempty" jsonschema:"Take pattern as a regular expression in RE2 syntax, matched within lines."`
	Glob           string `json:"glob,omitempty" jsonschema:"Only files whose name or path matches, such as *.go or src/**/*.{ts,tsx}; a leading ! selects the others."`
	CaseSensitive  *bool  `json:"case_sensitive,omitempty" jsonschema:"true: only the exact case. false: any case. Leave out for the exact case first and, when a literal pattern is nowhere, any case."`
	MaxResults     int    `json:"max_results,omitempty" jsonschema:"Most matching lines to return: 50 unless given, at most 200."`
	Context        int    `json:"context,omitempty" jsonschema:"Lines to show before and after each match, at most 10."`
	IncludeHidden  bool   `json:"include_hidden,omitempty" jsonschema:"Also look into files and folders whose names begin with a dot."`
	IncludeIgnored bool   `json:"include_ignored,omitempty" jsonschema:"Also look into what .gitignore lists and into folders such as node_modules and dist."`
}

// validateInput refuses impossible arguments and fills in the defaults.
func (in *searchInput) validateInput() error {
	switch {
	case in.Pattern == "":
		return sallyport.InputInvalid("pattern is empty")
	case in.MaxResults < 0 || in.MaxResults > maxMatches:
		return sallyport.InputInvalid(fmt.Sprintf("max_results is at most %d", maxMatches))
	case in.Context < 0 || in.Context > maxContext:
		return sallyport.InputInvalid(fmt.Sprintf("context is at most %d", maxContext))
	}
	in.MaxResults = cmp.Or(in.MaxResults, defaultMatches)
	in.Path = cmp.Or(in.Path, ".")
	return nil
}

// modesToTry lists the ways in which the pattern is tried, in order, until one
// finds something.
func (in *searchInput) modesToTry() []searchMode {
	switch {
	case in.Regex:
		return []searchMode{modeRegular}
	case in.CaseSensitive != nil && *in.CaseSensitive:
		return []searchMode{modeExact}
	case len(strings.Fields(in.Pattern)) == 0:
		return []searchMode{modeExact}
	case in.CaseSensitive != nil:
		return []searchMode{modeFolded, modeSpaced}
	default:
		return []searchMode{modeExact, modeFolded, modeSpaced}
	}
}

func searchFiles(ctx context.Context, c *sallyport.Call, in searchInput) (sallyport.Result, error) {
	if err := in.validateInput(); err != nil {
		return sallyport.Result{}, err
	}
	g, err := newGlob(in.Glob)
	if err != nil {
		return sallyport.Result{}, sallyport.InputInvalid("glob: " + err.Error())
	}
	root := c.FS.Abs(in.Path)
	st, err := c.FS.Stat(in.Path)
	if err != nil {
		return sallyport.Result{}, accessError("read", root, err)
	}
	s := &fileSearch{in: &in, fs: c.FS, glob: g, found: []any{}, chars: resultBudget(c, searchChars) - searchHeadChars}
	if err := s.tryModes(ctx, root, c.Workspace, st.IsDir()); err != nil {
		return sallyport.Result{}, err
	}
	return s.newResult(root), nil
}

// fileSearch looks for one pattern in the files below a root.
type fileSearch struct {
	in   *searchInput
	fs   sallyport.FS
	glob glob
	walk walk
	// tried lists the modes so far; matcher serves the last of them.
	tried   []searchMode
	matcher *textMatcher
	// loose is the matcher of the last mode. The first pass notes in later
	// the files in which it may find something, as long as there is no match,
	// so that another pass reads those files only. It is nil when there is
	// one mode.
	loose *textMatcher
	later []walkEntry

	// chars is the room that is left in the result.
	chars   int
	out     strings.Builder
	found   []any
	matches int
	// files counts files with a match.
	files   int
	buf     bytes.Buffer
	stopped string
	passCounts
}

type passCounts struct {
	// total is the number of bytes read.
	total int64
	// searched counts the files that were searched, cut those that were read
	// in part, unreadable those that were not opened.
	searched, cut, unreadable int
}

// tryModes searches in one mode after the other until one finds something. The
// counts are those of the first pass, the only one that sees every file.
func (s *fileSearch) tryModes(ctx context.Context, root, workspace string, isDir bool) error {
	modes := s.in.modesToTry()
	matchers := make([]*textMatcher, len(modes))
	for i, mode := range modes {
		m, err := newTextMatcher(s.in.Pattern, mode, s.in.CaseSensitive != nil && !*s.in.CaseSensitive)
		if err != nil {
			return sallyport.InputInvalid("pattern: " + err.Error())
		}
		matchers[i] = m
	}
	if len(modes) > 1 {
		s.loose = matchers[len(modes)-1]
	}
	s.tried, s.matcher = modes[:1], matchers[0]
	if err := s.searchPath(ctx, root, workspace, isDir); err != nil {
		return accessError("read", root, err)
	}
	seen := s.passCounts
	s.loose = nil
	for i := 1; i < len(modes) && s.matches == 0; i++ {
		s.tried, s.matcher, s.passCounts = modes[:i+1], matchers[i], passCounts{}
		for _, e := range s.later {
			if err := s.searchFile(ctx, e); err != nil {
				if ignoreStop(err) != nil {
					return accessError("read", root, err)
				}
				break
			}
		}
	}
	s.passCounts = seen
	return nil
}

func (s *fileSearch) searchPath(ctx context.Context, root, workspace string, isDir bool) error {
	if !isDir {
		shown := shownPath(root, workspace)
		return ignoreStop(s.searchFile(ctx, walkEntry{name: root, shown: shown, below: path.Base(shown)}))
	}
	s.walk = walk{fs: s.fs, hidden: s.in.IncludeHidden, all: s.in.IncludeIgnored}
	return s.walk.run(ctx, root, workspace, func(e walkEntry) error {
		if e.dir || e.link || !s.glob.match(e.below) {
			return nil
		}
		return s.searchFile(ctx, e)
	})
}

// searchFile searches one file. One that cannot be read is counted, unless it is
// the only one, the path that the caller gave.
func (s *fileSearch) searchFile(ctx context.Context, e walkEntry) error {
	if s.total >= maxTotalBytes {
		s.stopped = fmt.Sprintf("stopped after reading %d MiB; give a narrower path or glob", maxTotalBytes>>20)
		return errStopWalk
	}
	data, err := s.loadFile(e.name)
	switch {
	case err != nil && e.depth == 0:
		return err
	case err != nil:
		s.unreadable++
		return ctx.Err()
	}
	s.total += int64(len(data))
	if len(data) > maxSearchedBytes {
		s.cut++
		data = data[:maxSearchedBytes]
	}
	text, ok := searchableText(data)
	if !ok {
		return nil
	}
	s.searched++
	if s.loose != nil && s.matches == 0 && s.loose.prepareText(text) {
		s.later = append(s.later, e)
	}
	if !s.matcher.prepareText(text) {
		return nil
	}
	return s.reportMatches(ctx, e, text)
}

// loadFile reads at most one byte more than is searched into the buffer of the
// search. It does not ask for the size, which would cost another call.
func (s *fileSearch) loadFile(name string) ([]byte, error) {
	s.buf.Reset()
	s.buf.Grow(64 << 10)
	err := readHead(&s.buf, s.fs, name, maxSearchedBytes+1)
	return s.buf.Bytes(), err
}
