package house_test

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/config"
)

// maxPageLines is the number of lines that a reader can read in one sitting.
// Reference pages are exempt: they are generated, and readers look single
// entries up.
const maxPageLines = 400

var (
	link    = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	code    = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	scheme  = regexp.MustCompile(`^[a-z]+:`)
)

// TestLinksLeadSomewhere follows each relative link of each page to a file, and
// its fragment to a heading.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, from := range pages(t) {
		for _, target := range links(page(t, from)) {
			if why := broken(t, from, target); why != "" {
				t.Errorf("%s links to %s: %s", from, target, why)
			}
		}
	}
}

// links returns the targets of the links of a page that lead to other pages of
// the repository or to the page itself. It ignores code.
func links(text string) []string {
	var out []string
	for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, "`code`"), -1) {
		if !scheme.MatchString(m[1]) {
			out = append(out, m[1])
		}
	}
	return out
}

// broken returns the reason why a link leads nowhere, or an empty text when the
// link is good.
func broken(t *testing.T, from, target string) string {
	t.Helper()
	file, fragment, _ := strings.Cut(target, "#")
	to := from
	if file != "" {
		to = path.Join(path.Dir(from), file)
	}
	if strings.HasPrefix(to, "../") || path.IsAbs(file) {
		return "it leaves the repository"
	}
	if _, err := os.Stat(filepath.Join(repository, to)); err != nil {
		return "there is no such file"
	}
	if fragment == "" {
		return ""
	}
	if !strings.HasSuffix(to, ".md") {
		return "only pages have headings"
	}
	if !slices.Contains(anchors(page(t, to)), fragment) {
		return "there is no such heading"
	}
	return ""
}

// anchors returns the fragments of a page's headings as GitHub builds them:
// lower case, without punctuation, with hyphens for blanks, numbered when
// repeated.
func anchors(text string) []string {
	fences := regexp.MustCompile("(?s)```.*?```")
	var out []string
	count := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ' || r == '-':
				return '-'
			case r == '_', 'a' <= r && r <= 'z', '0' <= r && r <= '9', r >= 0x80:
				return r
			default:
				return -1
			}
		}, strings.ToLower(m[1]))
		if n := count[slug]; n > 0 {
			out = append(out, slug+"-"+string(rune('0'+n)))
		} else {
			out = append(out, slug)
		}
		count[slug]++
	}
	return out
}

// TestPagesAreReachable follows the links from README.md to every page.
func TestPagesAreReachable(t *testing.T) {
	seen := map[string]bool{}
	for next := []string{"README.md"}; len(next) > 0; {
		from := next[0]
		next = next[1:]
		if seen[from] {
			continue
		}
		seen[from] = true
		for _, target := range links(page(t, from)) {
			file, _, _ := strings.Cut(target, "#")
			to := path.Join(path.Dir(from), file)
			if strings.HasSuffix(file, ".md") && broken(t, from, target) == "" {
				next = append(next, to)
			}
		}
	}
	for _, p := range pages(t) {
		if strings.HasPrefix(p, "docs/") && !seen[p] {
			t.Errorf("%s cannot be reached from README.md: reached are %q", p, slices.Sorted(maps.Keys(seen)))
		}
	}
}

func TestPagesAreShort(t *testing.T) {
	for _, p := range pages(t) {
		// Readers look single entries up in these pages and do not read them
		// from start to end.
		if strings.HasPrefix(p, "docs/reference/") || p == "docs/guarantees.md" || p == "docs/attacks.md" {
			continue
		}
		if n := strings.Count(page(t, p), "\n"); n > maxPageLines {
			t.Errorf("%s has %d lines, want at most %d: split it", p, n, maxPageLines)
		}
	}
}

// TestPagesShowCodeThatCompiles checks the Go blocks of the pages below docs.
// Each must stand, line for line, in the example at the root, in the files of the
// example of a program, in the tests of the guide on testing, or in the receiver of notices. These are compiled and run.
func TestPagesShowCodeThatCompiles(t *testing.T) {
	fence := regexp.MustCompile("(?s)```go\n(.*?)```")
	squeeze := func(text string) string {
		var lines []string
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "\n")
	}
	example := squeeze(page(t, "example_test.go") + page(t, "examples/custom-tool/main.go") + page(t, "examples/custom-tool/main_test.go") + page(t, "examples/plugin-go/main.go") + page(t, "scoped/scopedtest/guide_test.go") + page(t, "internal/notices/receiver_example_test.go"))
	for _, p := range pages(t) {
		if !strings.HasPrefix(p, "docs/") {
			continue
		}
		for _, m := range fence.FindAllStringSubmatch(page(t, p), -1) {
			if !strings.Contains(example, squeeze(m[1])) {
				t.Errorf("%s shows Go code that is in no example:\n%s", p, m[1])
			}
		}
	}
}

// TestPagesShowConfigurationThatLoads parses each YAML block of a page below
// docs as a configuration.
func TestPagesShowConfigurationThatLoads(t *testing.T) {
	fence := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	shown := 0
	for _, p := range pages(t) {
		if !strings.HasPrefix(p, "docs/") {
			continue
		}
		for _, m := range fence.FindAllStringSubmatch(page(t, p), -1) {
			shown++
			dir := t.TempDir()
			if _, err := config.Parse(filepath.Join(dir, "sallyport.yaml"), []byte(m[1]), &config.Options{Home: dir, Dir: dir}); err != nil {
				t.Errorf("%s shows a configuration that does not load:\n%v", p, err)
			}
		}
	}
	if shown == 0 {
		t.Error("no page shows a configuration")
	}
}

// TestExamplesOfServersGrantNoToolBesides reads each role of an example that lists MCP
// servers: without tools it would have every built-in tool as well.
func TestExamplesOfServersGrantNoToolBesides(t *testing.T) {
	fence := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	seen := 0
	for _, p := range pages(t) {
		for _, m := range fence.FindAllStringSubmatch(page(t, p), -1) {
			dir := t.TempDir()
			c, err := config.Parse(filepath.Join(dir, "sallyport.yaml"), []byte(m[1]), &config.Options{Home: dir, Dir: dir})
			if err != nil {
				continue // another test names it
			}
			for _, name := range c.Names() {
				role, _ := c.Personality(name)
				if len(role.MCPServers) == 0 {
					continue
				}
				seen++
				if role.Toolset == nil {
					t.Errorf("%s: the role %s lists servers and no tools, which grants every built-in tool:\n%s", p, name, m[1])
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no page shows a role with servers")
	}
	for _, p := range []string{"docs/guides/mcp-servers.md", "docs/guides/arguments.md", "docs/guides/configuration.md"} {
		if !strings.Contains(page(t, p), "`terminal` included") {
			t.Errorf("%s does not say what a role without tools has", p)
		}
	}
}

// TestPagesFenceWhatIsTyped finds commands and headings that do not render as such.
func TestPagesFenceWhatIsTyped(t *testing.T) {
	fences := regexp.MustCompile("(?ms)^```.*?^```$")
	bare := regexp.MustCompile("(?m)^(\\$ .*|#+[^# \n].*)$")
	for _, p := range pages(t) {
		if m := bare.FindString(fences.ReplaceAllString(page(t, p), "")); m != "" {
			t.Errorf("%s: %q stands outside of code and is no heading", p, m)
		}
	}
}

func TestBrokenSeesBrokenLinks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		from   string
		target string
		want   bool
	}{
		{"a page", "README.md", "docs/start/concepts.md", false},
		{"a sibling", "docs/guides/security.md", "../guarantees.md", false},
		{"up and down", "docs/guides/security.md", "../../SECURITY.md", false},
		{"a heading", "docs/guides/security.md", "../guarantees.md#g-net-bytes-leave-to-granted-hosts-only", false},
		{"a folder", "README.md", "docs", false},
		{"its own heading", "docs/guarantees.md", "#guarantees", false},
		{"no page", "README.md", "docs/nothing.md", true},
		{"no heading", "README.md", "docs/guarantees.md#nothing", true},
		{"outside", "README.md", "../x.md", true},
		{"absolute", "README.md", "/docs/start/concepts.md", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := broken(t, tt.from, tt.target); (got != "") != tt.want {
				t.Errorf("broken(%s, %s) = %q, want one = %v", tt.from, tt.target, got, tt.want)
			}
		})
	}
	got := links("[a](b.md) [x](https://e.x) `[c](d.md)` [m](mailto:a@b.c)\n```\n[e](f.md)\n```\n[g](#h)")
	if !slices.Equal(got, []string{"b.md", "#h"}) {
		t.Errorf("links() = %q, want b.md and #h", got)
	}
	if got := anchors("# A `B`: c-d\n\n## A\n## A\n```\n# no\n```\n"); !slices.Equal(got, []string{"a-b-c-d", "a", "a-1"}) {
		t.Errorf("anchors() = %q", got)
	}
}
